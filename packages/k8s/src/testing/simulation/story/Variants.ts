/**
 * `Variants`: stories beside the one that is told. People wait for nobody, and what they wait for may hide what is wrong:
 * a story without its end, in which nothing is left to look at, and stories in which a deletion comes sooner. And
 * stretches of it, where living through all of it again for each fault takes too long.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { firstChanges, type Recording, subjects } from "../recording/Recording.ts"
import { beginning, lengthOf, type Story } from "./Story.ts"

/** For each step whether it deletes what people work with. */
export const deletingSteps = (run: Recording): ReadonlyArray<boolean> => {
  const kinds = subjects(run)
  return firstChanges(run).map((first) =>
    first !== undefined && kinds.has(first.object.kind) && (first.type === "DELETED" || isTerminating(first.object))
  )
}

/**
 * For each step whether it can come at any time: it changes a custom resource, and not what the operator has made of
 * it, which may not be there yet.
 */
export const urgentSteps = (run: Recording): ReadonlyArray<boolean> => {
  const kinds = subjects(run)
  return firstChanges(run).map((first) => first !== undefined && kinds.has(first.object.kind))
}

/** After how many steps the story's end has begun, in which what there was is deleted; undefined if it has no such end. */
export const endOf = (run: Recording): number | undefined => {
  const deleting = deletingSteps(run)
  const lives = deleting.lastIndexOf(false) + 1
  return lives > 1 && lives < deleting.length ? lives : undefined
}

/**
 * Stories in which an object is deleted sooner than people think: those between the step it is changed in and the one it
 * is deleted in are left out. Each with the number of that first step, whose requests do not wait for.
 */
export const sooner = (
  run: Recording,
  story: Story
): ReadonlyArray<{ readonly step: number; readonly story: Story }> => {
  if (story.changes.length > 0) return []
  const deleting = deletingSteps(run)
  return deleting.flatMap((deletes, step) => {
    const next = deleting.indexOf(true, step + 1)
    if (deletes || next <= step + 1) return []
    return [{ step, story: { ...story, steps: [...story.steps.slice(0, step + 1), ...story.steps.slice(next)] } }]
  })
}

/** For each step the story that begins there, on what the steps before have left, and ends `length` steps later. */
export const windows = (story: Story, length: number): ReadonlyArray<Story> =>
  Array.from({ length: lengthOf(story) }, (_, step) => ({ ...beginning(story, step + length), given: step }))
