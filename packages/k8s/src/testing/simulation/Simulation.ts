/**
 * `Simulation`: finds the bug in an operator before the cluster does.
 *
 * `checkConvergence` lives through a scenario without faults, and then again and again with them: the process dies at
 * every request, requests and answers are lost, watches break, lag and expire, Pods die, what is read after a restart
 * is old. Every run must come to the same end as the one without faults, stay there, and do nothing more. A run that
 * does not is made as small as possible, told as a story, and named by a token that replays it anywhere.
 *
 * All of it is virtual: thousands of runs take seconds, and the same token gives the same run.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Explore from "./Explore.ts"
import { none } from "./Fault.ts"
import * as Oracle from "./Oracle.ts"
import * as Report from "./Report.ts"
import * as Run from "./Run.ts"
import type { Scenario } from "./Scenario.ts"
import { shrink, withSteps } from "./Shrink.ts"
import * as Token from "./Token.ts"

export type { Oracle } from "./Oracle.ts"
export { all as oracles } from "./Oracle.ts"
export type { Scenario, Step } from "./Scenario.ts"

export const defaults = {
  seed: 1,
  /** Runs at most. */
  runs: 2_000,
  /** Real time at most, shrinking aside. */
  budget: "1 minute",
  depth: 2
} as const

export interface Options {
  readonly seed?: number
  readonly runs?: number
  readonly budget?: Duration.Input
  /** Faults in one run at most. */
  readonly depth?: 1 | 2 | 3
  /** Further oracles, beside the ones that are always asked. */
  readonly oracles?: ReadonlyArray<Oracle.Oracle>
  /** A token of an earlier failure: that run, and no other. */
  readonly replay?: string
}

/** What was explored, and found to converge. */
export interface ConvergenceReport extends Explore.Coverage {
  readonly runs: number
}

/** A run that did not converge. The message tells its story, and ends with the token that replays it. */
export class ConvergenceFailure extends Data.TaggedError("ConvergenceFailure")<{
  readonly message: string
  readonly oracle: string
  readonly complaint: string
  readonly replay: string
  /** Faults it takes. */
  readonly faults: number
  readonly runs: number
  readonly coverage: Explore.Coverage | undefined
}> {}

/** The real clock of the machine: what a budget is counted by. */
const realNow = (): number => Number(process.hrtime.bigint() / 1_000_000n)

const failure = (
  scenario: Scenario,
  divergence: Explore.Divergence,
  runs: number,
  coverage: Explore.Coverage | undefined
): ConvergenceFailure =>
  new ConvergenceFailure({
    message: Report.report(scenario.name, divergence),
    oracle: divergence.oracle,
    complaint: divergence.complaint,
    replay: Report.token(scenario.name, divergence),
    faults: divergence.plan.points.length,
    runs,
    coverage
  })

/** The run of a token. */
const replayed = (scenario: Scenario, oracles: ReadonlyArray<Oracle.Oracle>, text: string) => {
  const token = Token.parse(text)
  if (token.scenario !== scenario.name) {
    throw new Error(
      `replay: the token is of ${JSON.stringify(token.scenario)}, not of ${JSON.stringify(scenario.name)}`
    )
  }
  const chosen = withSteps(scenario, token.steps)
  const reference = Explore.reference(chosen, token.seed)
  const recording = Run.run(chosen, token.plan, { seed: token.seed })
  const found = Oracle.judge(oracles, recording, reference)
  return found === undefined
    ? undefined
    : { plan: token.plan, seed: token.seed, steps: token.steps, recording, reference, ...found }
}

/** Explores a scenario; fails with the smallest story that goes wrong. */
export const checkConvergence = (
  scenario: Scenario,
  options: Options = {}
): Effect.Effect<ConvergenceReport, ConvergenceFailure> =>
  Effect.suspend(() => {
    const oracles = [...Oracle.all, ...(options.oracles ?? [])]
    if (options.replay !== undefined) {
      const divergence = replayed(scenario, oracles, options.replay)
      return divergence === undefined
        ? Effect.succeed({ points: 0, run: 0, exhaustive: false, byFault: {}, deeper: 0, unmet: 0, runs: 1 })
        : Effect.fail(failure(scenario, divergence, 1, undefined))
    }
    const until = realNow() + Duration.toMillis(Duration.fromInputUnsafe(options.budget ?? defaults.budget))
    const { coverage, divergence, runs } = Explore.explore(scenario, {
      seed: options.seed ?? defaults.seed,
      runs: options.runs ?? defaults.runs,
      depth: options.depth ?? defaults.depth,
      oracles,
      more: () => realNow() < until
    })
    if (divergence === undefined) return Effect.succeed({ ...coverage, runs })
    const patience = realNow() + 5_000
    const smallest = shrink(scenario, oracles, divergence, () => realNow() < patience)
    return Effect.fail(failure(scenario, smallest, runs, coverage))
  })

/** The story of one run, line by line: without faults, or of a token. */
export const story = (scenario: Scenario, replay?: string): ReadonlyArray<string> => {
  const token = replay === undefined
    ? { seed: defaults.seed, plan: none, steps: scenario.steps.map((_, index) => index) }
    : Token.parse(replay)
  return Report.timeline(Run.run(withSteps(scenario, token.steps), token.plan, { seed: token.seed }))
}
