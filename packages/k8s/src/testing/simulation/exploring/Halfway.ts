/**
 * `Halfway`: rests in the middle of a story that are other than if people had wanted at once what they want there.
 *
 * What is left of an earlier spec may go with a later step, and the end says nothing of it. That something is other is no
 * complaint (a history is); but the story that ends there is worth telling, which costs more than one look.
 */
import type { Reference } from "../running/Reference.ts"
import * as Rests from "../state/Rests.ts"
import type { State } from "../state/Canonical.ts"
import { deletingSteps } from "../story/Variants.ts"

const textOf = (state: State): string => JSON.stringify([...state].toSorted(([a], [b]) => a < b ? -1 : 1))

/** After how many steps: two or more, none of which deletes what people work with, and not the last. */
export const unlike = ({ hasty, recording, rests }: Reference): ReadonlyArray<number> => {
  if (recording.failure !== undefined || recording.begun.step > 0) return []
  const deletes = deletingSteps(recording)
  return rests.flatMap((rest, index) => {
    if (index === 0 || rest === undefined || deletes.slice(0, index + 1).includes(true)) return []
    const { recording: other } = hasty(Array.from({ length: index }, (_, step) => step + 1))
    const [moment] = [...other.rests, other]
    if (moment === undefined || other.failure !== undefined) return []
    const atOnce = Rests.everything({ entries: other.entries, ...moment }, rest.mask)
    return textOf(atOnce) === textOf(rest.state) ? [] : [index + 1]
  })
}
