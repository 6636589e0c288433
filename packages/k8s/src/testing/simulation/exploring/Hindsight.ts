/**
 * `Hindsight`: whether it was the run without faults that missed something.
 *
 * A fault may make the process look at everything again. If a process that merely restarts at rest reaches the same
 * end, that end is the right one, and the difference has to be reported the other way round: without faults, a change
 * was not noticed. The same holds if that end is also reached by taking all steps at once: then the run without faults
 * kept something of a former desired state.
 */
import type { Scenario } from "../Scenario.ts"
import type { Recording } from "../recording/Recording.ts"
import * as Run from "../running/Run.ts"
import * as Canonical from "../state/Canonical.ts"
import { outside } from "../state/Outside.ts"
import { tell } from "../story/Story.ts"
import type { Divergence } from "./Explore.ts"

/** The end state of a run. */
const endOf = (run: Recording, mask: Canonical.Mask): string =>
  JSON.stringify([
    [...Canonical.state(run, mask)].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [...run.outside.keys()].toSorted().map((name) => [name, outside(run, name, mask)])
  ])

/** The same divergence, with what it means. */
export const withHindsight = (scenario: Scenario, divergence: Divergence): Divergence => {
  const { complaint, oracle, plan, recording, reference: { from, hasty, mask }, seed, story } = divergence
  if (oracle !== "same end state" || plan.points.length === 0 || complaint.includes(Canonical.shuffled)) {
    return divergence
  }
  const told = tell(scenario, story)
  const restarted = { points: [{ _tag: "Step", at: told.steps.length, fault: "restarted" }], interleaving: 0 } as const
  const again = Run.run(told, restarted, { seed, quiet: Run.defaults.shortQuiet, from })
  const end = endOf(recording, mask)
  const saying = (hint: string): Divergence => ({ ...divergence, complaint: `${complaint}; ${hint}` })
  if (endOf(again, mask) === end) {
    return saying(
      "a restart of the process at rest has the same result: without faults, it did not notice a change (of a kind that " +
        "it does not watch, one that triggers no reconcile, or one that is hidden by something it remembers)"
    )
  }
  const later = recording.steps.map((_, index) => index).slice(1)
  if (later.length === 0 || recording.begun.step > 0) return divergence
  const { recording: atOnce } = hasty(later)
  return atOnce.failure !== undefined || endOf(atOnce, mask) !== end ? divergence : saying(
    "taking all steps at once has the same result: it is the run without faults that is wrong, and keeps something of " +
      "what was wanted before (for example, an answer to that, which is taken for one to what is wanted now)"
  )
}
