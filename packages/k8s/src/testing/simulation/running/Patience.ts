/**
 * `Patience`: how long people wait, while nothing happens, for a cluster to come to rest.
 *
 * A minute is enough for what follows from what has happened, and too short for who waits on purpose: until something has
 * cooled down, is old enough, has been watched for a while. What he does then would be taken for what follows from the next
 * step, or from a fault. So a story is first told by people who wait for longer, and who works late is waited for.
 */
import type { Scenario } from "../Scenario.ts"
import { none } from "../recording/Fault.ts"
import { type Story, tell } from "../story/Story.ts"
import * as Run from "./Run.ts"

/** Milliseconds. */
export const defaults = {
  /** Work may be due by itself so long after all that came before. */
  late: 5 * 60_000,
  /** So much later all has come to rest. */
  rest: 60_000,
  /** So much later than without faults, or in another order of tasks, something may begin that is waited for. */
  slow: 5_000
} as const

/** The longest time that passes after a story's end before something is written, if that ends soon and for good. */
const lateAtLast = (scenario: Scenario, seed: number): number => {
  const { quietAt = 0, restless } = Run.run(scenario, none, { seed, quiet: defaults.rest + 2 * defaults.late })
  const times = [quietAt - defaults.rest, ...restless.map(({ at }) => at)]
  const longest = Math.max(...times.map((at, index) => at - (times[index - 1] ?? at)))
  return longest > defaults.late || times.at(-1)! > quietAt + defaults.late ? 0 : longest
}

/** The scenario with as much patience as a story of it asks for: of people who always wait for long, and at last. */
export const patient = (scenario: Scenario, story: Story, seed: number): Scenario => {
  if (scenario.rest !== undefined) return scenario
  const told = tell(scenario, story)
  const lull = Math.max(
    Run.lull({ ...told, rest: defaults.late + defaults.rest }, seed) ?? 0,
    lateAtLast(told, seed)
  )
  return lull <= defaults.rest - defaults.slow ? scenario : { ...scenario, rest: lull + defaults.rest }
}
