/**
 * `Judge`: how a run is judged: by every oracle in turn, and, where something was astray in its middle, whether the story
 * that ends there is to be judged.
 */
import { blindings, met, taken } from "../recording/Excuses.ts"
import type { Recording } from "../recording/Recording.ts"
import type { Reference } from "../running/Reference.ts"
import * as Rests from "../state/Rests.ts"
import { deletingSteps, endOf, urgentSteps } from "../story/Variants.ts"
import type { Oracle } from "./Oracle.ts"

/**
 * After how many steps the story's end begins, which takes away what there is, if before it there was not at rest what there
 * is without faults, nor what there is when nobody has seen what was not waited for. More than that (work that was begun
 * for what was wanted a moment before) is nothing wrong.
 */
const half = (run: Recording, { hasty, recording, rests }: Reference): number | undefined => {
  const end = endOf(recording)
  if (end === undefined || run.hurried.some((step) => step >= end)) return undefined
  const last = end - 1
  return Rests.isLess(run, last, rests[last]) &&
      Rests.isLess(run, last, hasty(run.hurried).rests[last - run.hurried.length])
    ? end
    : undefined
}

/**
 * After how many steps there was something else at rest than without faults, though it is cleared up later: had the story
 * ended there, nobody would have cleared it up, or somebody who looks every few minutes has.
 */
export const strays = (run: Recording, reference: Reference): number | undefined => {
  const { recording, rests } = reference
  if (taken(run) || run.failure !== undefined || met(run, "guarded")) return undefined
  // Whoever does not wait may get what is neither: one backup more than are kept at rest.
  if (run.steps.length !== recording.steps.length || isVoid(run, reference)) return undefined
  if (run.hurried.length > 0) return blindings(run) > 0 ? undefined : half(run, reference)
  // Whoever was shown an old cluster may have done something twice: where no name says so, it has to see that later.
  return blindings(run) > 0 ? Rests.doubled(run, recording) : Rests.astray(run, rests)
}

/**
 * Whether a step was not waited for that cannot come at any time. Faults are placed where it can; in another order of tasks,
 * or after another fault, the same request may be one of another step.
 */
const isVoid = (run: Recording, { recording }: Reference): boolean => {
  if (run.hurried.length === 0) return false
  const urgent = urgentSteps(recording)
  return run.hurried.some((step) => urgent[step] !== true)
}

interface Complaint {
  readonly oracle: string
  readonly complaint: string
}

/**
 * The first complaint about a run. Whoever does not wait with a step may get what comes of it at rest, or what comes
 * of it when nobody has seen the step before; in the eyes of each oracle one of them: who is deleted before all is there
 * loses what there is (as at rest), and leaves nothing behind (as if nobody had seen it).
 */
export const judge = (
  oracles: ReadonlyArray<Oracle>,
  run: Recording,
  reference: Reference
): Complaint | undefined => {
  if (isVoid(run, reference)) return undefined
  const ways = run.hurried.length === 0 ? [] : [...run.hurried.map((step) => [step]), run.hurried]
  const deletes = deletingSteps(reference.recording)
  const names = reference.recording.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
  // A step that deletes nothing is to come to what people want also where the operator sees it together with the one before;
  // not where it may never have seen that one: what people want may have to do with it.
  const unseen = met(run, "forestalled") || met(run, "absent")
  const excuses = (steps: ReadonlyArray<number>, { recording: { missed } }: Reference): boolean =>
    unseen || steps.every((step) => deletes[step] === true || !missed.includes(names[step]!))
  for (const { judge, name } of oracles) {
    const complaint = judge(run, reference)
    if (complaint === undefined) continue
    const isHaste = ways.some((steps) => {
      const hasty = reference.hasty(steps)
      return excuses(steps, hasty) && judge(run, hasty) === undefined
    })
    if (!isHaste) return { oracle: name, complaint }
  }
  return undefined
}
