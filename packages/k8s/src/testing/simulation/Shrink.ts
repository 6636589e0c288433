/**
 * The smallest story that still goes wrong: fewer faults, then fewer steps, then the plain order of tasks.
 *
 * A smaller run counts only if the same oracle complains, judged against the reference of the smaller story.
 */
import * as Explore from "./Explore.ts"
import { none, type Plan } from "./Fault.ts"
import * as Oracle from "./Oracle.ts"
import * as Run from "./Run.ts"
import type { Scenario } from "./Scenario.ts"

/** The scenario with some of its steps. */
export const withSteps = (scenario: Scenario, steps: ReadonlyArray<number>): Scenario => ({
  ...scenario,
  steps: steps.flatMap((index) => scenario.steps[index] ?? [])
})

export const shrink = (
  scenario: Scenario,
  oracles: ReadonlyArray<Oracle.Oracle>,
  divergence: Explore.Divergence,
  more: () => boolean
): Explore.Divergence => {
  let smallest = divergence
  const references = new Map<string, Oracle.Reference | undefined>([[divergence.steps.join(), divergence.reference]])

  const referenceOf = (steps: ReadonlyArray<number>): Oracle.Reference | undefined => {
    const key = steps.join()
    if (!references.has(key)) {
      const smaller = Explore.reference(withSteps(scenario, steps), divergence.seed)
      // A story that goes wrong without faults is another story.
      const healthy = Oracle.judge(oracles, smaller.recording, smaller) === undefined
      references.set(key, healthy || divergence.plan === none ? smaller : undefined)
    }
    return references.get(key)
  }

  /** Takes the smaller one if it goes wrong in the same way. */
  const attempt = (plan: Plan, steps: ReadonlyArray<number>): boolean => {
    if (!more()) return false
    const reference = referenceOf(steps)
    if (reference === undefined) return false
    const recording = Run.run(withSteps(scenario, steps), plan, { seed: divergence.seed })
    const found = Oracle.judge(oracles, recording, reference)
    if (found?.oracle !== divergence.oracle) return false
    smallest = { ...divergence, ...found, plan, steps, recording, reference }
    return true
  }

  for (let changed = true; changed;) {
    changed = false
    const { plan, steps } = smallest
    for (const point of plan.points) {
      const points = plan.points.filter((other) => other !== point)
      if (attempt({ ...plan, points }, steps)) {
        changed = true
        break
      }
    }
    if (changed) continue
    if (plan.interleaving !== 0 && attempt({ ...plan, interleaving: 0 }, steps)) {
      changed = true
      continue
    }
    for (const step of steps.length > 1 ? steps.toReversed() : []) {
      if (attempt(plan, steps.filter((other) => other !== step))) {
        changed = true
        break
      }
    }
  }
  return smallest
}
