/**
 * `Judge`: how a run is judged: by every oracle in turn. If a state in its middle went wrong, also whether the story
 * that ends there must be judged.
 */
import { blindings, met, taken } from "../recording/Excuses.ts"
import type { Recording } from "../recording/Recording.ts"
import type { Reference } from "../running/Reference.ts"
import * as Rests from "../state/Rests.ts"
import { deletingSteps, endOf, urgentSteps } from "../story/Variants.ts"
import type { Oracle } from "./Oracle.ts"

/**
 * The number of steps before the story's end, which removes what exists, if the rest before it had neither the state
 * without faults nor the state that results when a step that did not wait went unseen. More than that (work that was
 * begun for a former desired state) is not wrong.
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
 * The number of steps after which a rest had another state than without faults, even if it is cleaned up later: if the
 * story had ended there, nothing would have cleaned it up, except a periodic resync.
 */
export const strays = (run: Recording, reference: Reference): number | undefined => {
  const { recording, rests } = reference
  if (taken(run) || run.failure !== undefined || met(run, "guarded")) return undefined
  // If a step does not wait, the result may be neither of the two: for example one backup more than are kept at rest.
  if (run.steps.length !== recording.steps.length || isVoid(run, reference)) return undefined
  if (run.hurried.length > 0) return blindings(run) > 0 ? undefined : half(run, reference)
  // An operator that was shown an old cluster may have done something twice; if no name prevents that, it must notice
  // later.
  return blindings(run) > 0 ? Rests.doubled(run, recording) : Rests.astray(run, rests)
}

/**
 * Whether a step did not wait that cannot come at any time. Faults are placed only where it can, but in another order
 * of tasks, or after another fault, the same request may belong to another step.
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
 * The first complaint about a run. If a step did not wait, the result may be that at rest, or the one when nobody saw
 * the step before. Each oracle accepts one of them: an object that is deleted before everything exists loses what
 * exists (as at rest), and leaves nothing behind (as if nobody had seen it).
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
  // A step that deletes nothing must reach the desired state even if the operator sees it together with the previous
  // one; but not if it may never have seen that one, because the desired state may depend on it.
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
