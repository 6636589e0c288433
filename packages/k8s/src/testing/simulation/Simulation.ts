/**
 * `Simulation`: finds the bug in an operator before the cluster does.
 *
 * `checkConvergence` runs a scenario without faults, and then again and again with them: the process dies at every
 * request, requests and answers are lost, watches break, lag and expire, Pods die, reads after a restart are old,
 * leaders are cut off, outside calls fail. Every run must reach the same end state as the one without faults, stay
 * there, and do nothing more. A run that does not is reduced to the smallest one that fails, printed as a story, and
 * named by a token that replays it anywhere.
 *
 * Everything is virtual, including the server, its validation and its garbage collector. The same token gives exactly
 * the same run on any machine. If a program uses the real world (its time, randomness or network), the simulation
 * detects it and says where.
 *
 * Not explored: what other clients write between two requests of the operator (except Pods that die, conflicts, labels
 * and owner references that are lost, annotations and finalizers of others); time zones; responses that a server would
 * never give.
 *
 * Its parts are folders, each of which uses only the previous ones: the `world` that a run lives in, the `recording` of
 * what happened, the `state` by which two runs are compared, the `story` of steps, `running` it with faults, the
 * `oracles` that judge it, `exploring` the runs there are, and `telling` the result.
 */
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import type { Scenario } from "./Scenario.ts"
import * as Coverage from "./exploring/Coverage.ts"
import * as Explore from "./exploring/Explore.ts"
import * as Given from "./exploring/Given.ts"
import type { Options } from "./exploring/Given.ts"
import { withHindsight } from "./exploring/Hindsight.ts"
import * as Shares from "./exploring/Shares.ts"
import { shrink } from "./exploring/Shrink.ts"
import * as Turns from "./exploring/Turns.ts"
import { judge } from "./oracles/Judge.ts"
import type { Oracle } from "./oracles/Oracle.ts"
import * as Oracles from "./oracles/Oracles.ts"
import { isNone, none } from "./recording/Fault.ts"
import type { Recording } from "./recording/Recording.ts"
import * as Patience from "./running/Patience.ts"
import * as Reference from "./running/Reference.ts"
import * as Run from "./running/Run.ts"
import * as Draw from "./story/Draw.ts"
import * as Methods from "./story/Methods.ts"
import { key, type Story, tell, whole } from "./story/Story.ts"
import * as Token from "./story/Token.ts"
import * as Html from "./telling/Html.ts"
import * as Report from "./telling/Report.ts"

export type { Coverage } from "./exploring/Coverage.ts"
export type { Part } from "./exploring/Explore.ts"
export type { Options } from "./exploring/Given.ts"
export type { Oracle } from "./oracles/Oracle.ts"
export { all as oracles } from "./oracles/Oracles.ts"
export type { Kind as FaultKind } from "./recording/Fault.ts"
export type { Entry, Recording } from "./recording/Recording.ts"
export type { Reference } from "./running/Reference.ts"
export type { Change, Desired, Draws, Operator, Replica, Scenario, Step } from "./Scenario.ts"
export { draws } from "./story/Draw.ts"

export const defaults = {
  seed: 1,
  /** Maximum number of runs. */
  runs: 2_000,
  /** Maximum real time, without shrinking. */
  budget: "1 minute",
  depth: 2,
  /** Runs in another order of tasks, without faults. */
  interleavings: 10,
  /** Stories that are drawn, if the scenario draws them. */
  stories: 8,
  /** Maximum real time for shrinking a failure. */
  shrinking: "5 seconds"
} as const

/** What was explored and found to converge. */
export interface ConvergenceReport extends Coverage.Coverage {
  readonly runs: number
  /** Number of different stories that were run: one, unless the scenario draws them. */
  readonly stories: number
  /** Number of different stories that were drawn; if time is short, not all of them are run. */
  readonly drawn: number
}

interface Failed {
  readonly message: string
  readonly oracle: string
  readonly complaint: string
  readonly replay: string
  /** Number of faults in the run. */
  readonly faults: number
  readonly runs: number
  readonly coverage: Coverage.Coverage | undefined
  readonly recording: Recording
  /** The story as an HTML page. */
  readonly html: () => string
}

/** A run that did not converge. The message is its story, and ends with the token that replays it. */
export class ConvergenceFailure extends Data.TaggedError("ConvergenceFailure")<Failed> {
  constructor(failed: Failed) {
    super(failed)
    // Whatever prints it prints the story only: the other fields are for programs, and would bury the token.
    for (const field of Object.keys(this)) Object.defineProperty(this, field, { enumerable: false })
  }

  override [Inspectable.NodeInspectSymbol](): unknown {
    return this.stack
  }
}

/** The machine's real clock, in milliseconds, for budgets. */
const realNow = (): number => Number(process.hrtime.bigint() / 1_000_000n)

const failure = (
  scenario: Scenario,
  found: Explore.Divergence,
  runs: number,
  coverage: Coverage.Coverage | undefined
): ConvergenceFailure => {
  const divergence = withHindsight(scenario, found)
  return new ConvergenceFailure({
    message: Report.report(scenario, divergence),
    oracle: divergence.oracle,
    complaint: divergence.complaint,
    replay: Report.token(scenario, divergence),
    faults: divergence.plan.points.length,
    runs,
    coverage,
    recording: divergence.recording,
    html: () => Html.page(scenario, divergence)
  })
}

/** The scenario with the patience that the longest of the stories needs. */
const patient = (
  scenario: Scenario,
  seed: number,
  [story = whole(scenario)]: ReadonlyArray<Story> = storiesOf(scenario, seed, defaults.stories)
): Scenario => Patience.patient(scenario, story, seed)

/** The run of a token. */
const replayed = (given: Scenario, oracles: ReadonlyArray<Oracle>, text: string) => {
  const { plan, seed, story } = Token.parseFor(given, text)
  const scenario = patient(given, seed)
  const chosen = tell(scenario, story)
  const reference = Reference.of(scenario, story, seed)
  const recording = isNone(plan) ? reference.recording : Run.run(chosen, plan, { seed, from: reference.from })
  const found = judge(oracles, recording, reference)
  return found === undefined ? undefined : { plan, seed, story, recording, reference, ...found }
}

/**
 * The stories to explore: the scenario's own, or up to the wanted number of different drawn ones, the most eventful
 * first.
 */
const storiesOf = (scenario: Scenario, seed: number, wanted: number): ReadonlyArray<Story> => {
  const { draws } = scenario
  if (draws === undefined) return [whole(scenario)]
  const found = new Map<string, Story>()
  const drawn = Draw.defaults.choice * Math.max(wanted, defaults.stories)
  for (let turn = 0; turn < 4 * drawn && found.size < drawn; turn++) {
    const story = whole(scenario, Draw.changes(scenario, draws, seed, turn))
    found.set(key(story), story)
  }
  return Draw.telling([...found.values()]).slice(0, wanted)
}

const nothing: ConvergenceReport = {
  points: 0,
  run: 0,
  window: undefined,
  exhaustive: false,
  complete: false,
  byFault: {},
  interleavings: 0,
  pools: 0,
  deeper: 0,
  unmet: 0,
  histories: 0,
  unchanged: [],
  runs: 1,
  stories: 1,
  drawn: 1
}

/**
 * Explores a scenario; fails with the smallest story that goes wrong. A replay token that does not fit the scenario is
 * a defect. Between any two runs it can be interrupted, and other fibers, timers and signals get their turn.
 */
export const checkConvergence = (
  given: Scenario,
  options: Options = {}
): Effect.Effect<ConvergenceReport, ConvergenceFailure> =>
  Effect.gen(function*() {
    const wrong = Given.fault(given, options)
    if (wrong !== undefined) return yield* Effect.die(new Error(wrong))
    const oracles = Oracles.among(options.oracles ?? [])
    if (options.replay !== undefined) {
      const divergence = replayed(given, oracles, options.replay)
      if (divergence === undefined) return nothing
      return yield* failure(patient(given, divergence.seed), divergence, 1, undefined)
    }
    const after = (input: Duration.Input) => realNow() + Duration.toMillis(Duration.fromInputUnsafe(input))
    const seed = options.seed ?? defaults.seed
    const wanted = options.stories ?? defaults.stories
    // If time is short, the first stories get most of it.
    const stories = storiesOf(given, seed, wanted)
    const scenario = wanted > defaults.stories ? patient(given, seed) : patient(given, seed, stories)
    const until = after(options.budget ?? defaults.budget)
    const shares = Shares.make(realNow, until, stories.length)
    const parts: Array<Coverage.Coverage> = []
    let runs = 0
    for (const [index, story] of stories.entries()) {
      const more = shares.next()
      if (more === undefined) break
      const explored: Explore.Options = {
        seed,
        runs: Math.ceil(((options.runs ?? defaults.runs) - runs) / (stories.length - index)),
        depth: options.depth ?? defaults.depth,
        interleavings: options.interleavings ?? defaults.interleavings,
        deeper: options.deeper,
        window: options.window,
        pooled: options.pooled,
        faults: options.faults,
        part: options.part,
        oracles,
        earlier: parts,
        more
      }
      const outcome = yield* Turns.effect(() => Explore.explore(scenario, explored, story))
      runs += outcome.runs
      parts.push(outcome.coverage)
      if (outcome.divergence === undefined) continue
      const patience = after(options.shrinking ?? defaults.shrinking)
      const { divergence } = outcome
      const smallest = yield* Turns.effect(() => shrink(scenario, oracles, divergence, () => realNow() < patience))
      return yield* failure(scenario, smallest, runs, Coverage.joined(parts))
    }
    const coverage = Coverage.joined(parts)
    const all = parts.length === stories.length
    return {
      ...coverage,
      exhaustive: all && coverage.exhaustive,
      complete: all && coverage.complete,
      runs,
      stories: parts.length,
      drawn: stories.length
    }
  })

/** The recording of one run: without faults and drawn changes, or that of a token. */
export const record = (scenario: Scenario, replay?: string): Recording => {
  if (replay === undefined) return Run.run(patient(scenario, defaults.seed), none, { seed: defaults.seed })
  const { plan, seed, story } = Token.parseFor(scenario, replay)
  const chosen = tell(patient(scenario, seed), story)
  return Run.run(chosen, plan, { seed, from: Run.upTo(chosen, story.given, seed) })
}

/** The story of one run, line by line: without faults, or that of a token. */
export const story = (scenario: Scenario, replay?: string): ReadonlyArray<string> =>
  Report.timeline(record(scenario, replay))

/** The combined result of all parts of an exploration; `runs` is their sum. */
export const together = (parts: ReadonlyArray<ConvergenceReport>): ConvergenceReport => ({
  ...Coverage.together(parts),
  runs: parts.reduce((sum, { runs }) => sum + runs, 0),
  stories: Math.min(...parts.map(({ stories }) => stories)),
  drawn: parts[0]?.drawn ?? 0
})

/** The coverage in words; never claims more than was explored. */
export const summary = (
  {
    byFault,
    deeper,
    drawn,
    exhaustive,
    histories,
    interleavings,
    points,
    pools,
    run,
    runs,
    stories,
    unchanged,
    unmet,
    window
  }: ConvergenceReport
) =>
  [
    `${runs} runs, ${histories} different histories, no divergence`,
    ...(drawn > 1 ? [`${stories < drawn ? `${stories} of ` : ""}${drawn} drawn stories`] : []),
    exhaustive ? `all ${points} single faults` : `${run} of ${points} single faults: NOT exhaustive`,
    ...(window === undefined
      ? []
      : [`faults at requests, events and outside calls in ${window} steps of the story each`]),
    ...(pools === 0 ? [] : [`${pools} runs that faults of different steps shared`]),
    ...Object.entries(byFault).sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, { found, run }]) =>
      `  ${kind.padEnd(18)} ${String(run).padStart(5)} of ${found}`
    ),
    `${interleavings} other orders of tasks`,
    `${deeper} runs with several faults${deeper > 0 ? `, in ${unmet} of them not all were met` : ""}`,
    ...(unchanged.length === 0 ? [] : [`no step changes ${unchanged.join(", ")}`])
  ].join("\n")

/**
 * A test that a scenario converges, made with `it.live` of a test framework: `converges(it.live)(scenario)`. Its
 * timeout is three times the budget plus one minute, because shrinking takes time too. It prints what it had no time
 * for.
 */
export const converges =
  (test: Methods.Test<ConvergenceFailure>) => (scenario: Scenario, options: Options = {}): void =>
    test(
      `${scenario.name} converges`,
      () =>
        Effect.tap(
          checkConvergence(scenario, options),
          (report) =>
            report.exhaustive || options.replay !== undefined
              ? Effect.void
              : Console.log(`${scenario.name}: ${summary(report)}`)
        ),
      3 * Duration.toMillis(Duration.fromInputUnsafe(options.budget ?? defaults.budget)) + 60_000
    )

/**
 * The same `it` of `@effect/vitest` with an additional `it.effect.converges(name, scenario, options)`. Instead of a
 * scenario it also takes an operator of one kind, `{ resource, operator, desired }`, whose stories are drawn.
 */
export const extend = <It extends { readonly live: Methods.Test<ConvergenceFailure>; readonly effect: object }>(
  it: It
): It & { readonly effect: { readonly converges: Methods.Converges<Options> } } => Methods.extended(it, converges)
