/**
 * `Halfway`: rests in the middle of a story at which the cluster differs from one where the spec of that rest was
 * applied at once.
 *
 * A later step may remove what is left of an earlier spec, so that the end does not show it. A difference alone is no
 * complaint (it may be a history), but the story that ends at that rest is worth judging, which takes further runs.
 */
import type { Reference } from "../running/Reference.ts"
import * as Rests from "../state/Rests.ts"
import type { State } from "../state/Canonical.ts"
import { deletingSteps } from "../story/Variants.ts"

const textOf = (state: State): string => JSON.stringify([...state].toSorted(([a], [b]) => a < b ? -1 : 1))

/**
 * For each such rest the number of steps before it: at least two, none of which deletes the users' object. Undefined for
 * a rest that does not differ, as looking at each takes a run.
 */
export function* unlike({ hasty, recording, rests }: Reference): Generator<number | undefined, void> {
  if (recording.failure !== undefined || recording.begun.step > 0) return
  const deletes = deletingSteps(recording)
  for (const [index, rest] of rests.entries()) {
    if (index === 0 || rest === undefined || deletes.slice(0, index + 1).includes(true)) continue
    const { recording: other } = hasty(Array.from({ length: index }, (_, step) => step + 1))
    const [moment] = [...other.rests, other]
    if (moment === undefined || other.failure !== undefined) continue
    const atOnce = Rests.everything({ entries: other.entries, ...moment }, rest.mask)
    yield textOf(atOnce) === textOf(rest.state) ? undefined : index + 1
  }
}
