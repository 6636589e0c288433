/**
 * `Variants`: other stories to run besides the given one. People are not always patient, and what they wait for may
 * hide a bug. So there is a story without its end, after which nothing is left to check, and there are stories in which
 * a deletion comes sooner. And there are windows of a story, for when running all of it for each fault takes too long.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { firstChanges, type Recording, subjects } from "../recording/Recording.ts"
import { keyOf } from "../recording/Writes.ts"
import { beginning, lengthOf, type Story } from "./Story.ts"

/** For each step, whether it deletes what people work with. */
export const deletingSteps = (run: Recording): ReadonlyArray<boolean> => {
  const kinds = subjects(run)
  return firstChanges(run).map((first) =>
    first !== undefined && kinds.has(first.object.kind) && (first.type === "DELETED" || isTerminating(first.object))
  )
}

/**
 * For each step, whether it can come at any time: it changes a custom resource, and not something that the operator
 * created and that may not exist yet.
 */
export const urgentSteps = (run: Recording): ReadonlyArray<boolean> => {
  const kinds = subjects(run)
  return firstChanges(run).map((first) => first !== undefined && kinds.has(first.object.kind))
}

/** The number of steps before the story's end, in which everything is deleted; undefined if it has no such end. */
export const endOf = (run: Recording): number | undefined => {
  const deleting = deletingSteps(run)
  const lives = deleting.lastIndexOf(false) + 1
  return lives > 1 && lives < deleting.length ? lives : undefined
}

/**
 * Stories in which an object is deleted sooner: the steps between the one that changes it and the one that deletes it
 * are left out. Each comes with the number of the first of these two steps, for whose requests the deletion does not
 * wait.
 */
export const sooner = (
  run: Recording,
  story: Story
): ReadonlyArray<{ readonly step: number; readonly story: Story }> => {
  if (story.changes.length > 0) return []
  const deleting = deletingSteps(run)
  const objects = firstChanges(run).map((first) => first && keyOf(first.object))
  return deleting.flatMap((deletes, step) => {
    // The next deletion may be that of another object, which the steps in between create.
    const own = objects.findIndex((key, later) => later > step && deleting[later] === true && key === objects[step])
    const nexts = new Set([deleting.indexOf(true, step + 1), own])
    return [...nexts].filter((next) => !deletes && next > step + 1).map((next) => ({
      step,
      story: { ...story, steps: [...story.steps.slice(0, step + 1), ...story.steps.slice(next)] }
    }))
  })
}

/** For each step, the story that begins there, on what the previous steps left, and ends `length` steps later. */
export const windows = (story: Story, length: number): ReadonlyArray<Story> =>
  Array.from({ length: lengthOf(story) }, (_, step) => ({ ...beginning(story, step + length), given: step }))
