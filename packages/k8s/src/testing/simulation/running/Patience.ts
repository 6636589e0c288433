/**
 * `Patience`: how long people wait, while nothing happens, for a cluster to come to rest.
 *
 * One minute is enough for the consequences of what has happened, but too short for an operator that waits on purpose:
 * until something has cooled down, is old enough, or has been watched for a while. What it does then would be taken for
 * a consequence of the next step or of a fault. So a story is first run with more patience, and late work is waited
 * for.
 */
import type { Scenario } from "../Scenario.ts"
import { none } from "../recording/Fault.ts"
import { type Story, tell } from "../story/Story.ts"
import * as Run from "./Run.ts"

/** Milliseconds. */
export const defaults = {
  /** Work may become due by itself this long after everything before it. */
  late: 5 * 60_000,
  /** This much later, everything has come to rest. */
  rest: 60_000,
  /** How much later than without faults, or in another order of tasks, awaited work may begin. */
  slow: 5_000
} as const

/** The longest time after a story's end until something is written, if that ends soon and for good. */
const lateAtLast = (scenario: Scenario, seed: number): number => {
  const { quietAt = 0, restless } = Run.run(scenario, none, { seed, quiet: defaults.rest + 2 * defaults.late })
  const times = [quietAt - defaults.rest, ...restless.map(({ at }) => at)]
  const longest = Math.max(...times.map((at, index) => at - (times[index - 1] ?? at)))
  return longest > defaults.late || times.at(-1)! > quietAt + defaults.late ? 0 : longest
}

/** The scenario with the patience that its story needs, during the steps and at the end. */
export const patient = (scenario: Scenario, story: Story, seed: number): Scenario => {
  if (scenario.rest !== undefined) return scenario
  const told = tell(scenario, story)
  const lull = Math.max(
    Run.lull({ ...told, rest: defaults.late + defaults.rest }, seed) ?? 0,
    lateAtLast(told, seed)
  )
  return lull <= defaults.rest - defaults.slow ? scenario : { ...scenario, rest: lull + defaults.rest }
}
