/**
 * `Patience`: how long people wait, while nothing happens, for a cluster to come to rest.
 *
 * A minute is enough for what follows from what has happened, and too short for who waits on purpose: until something has
 * cooled down, is old enough, has been watched for a while. What he does then would be taken for what follows from the next
 * step, or from a fault. So a story is first told by people who wait for longer, and who works late is waited for.
 */
import * as Run from "./Run.ts"
import type { Scenario } from "./Scenario.ts"
import { type Story, tell } from "./Story.ts"

/** Milliseconds. */
export const defaults = {
  /** Work may be due by itself so long after all that came before. */
  late: 5 * 60_000,
  /** So much later all has come to rest. */
  rest: 60_000
} as const

/** The scenario with as much patience as a story of it asks for. */
export const patient = (scenario: Scenario, story: Story, seed: number): Scenario => {
  if (scenario.rest !== undefined) return scenario
  const lull = Run.lull({ ...tell(scenario, story), rest: defaults.late + defaults.rest }, seed) ?? 0
  return lull <= defaults.rest ? scenario : { ...scenario, rest: lull + defaults.rest }
}
