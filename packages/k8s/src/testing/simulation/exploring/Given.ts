/**
 * `Given`: checks the options of an exploration. It also checks what the types rule out, because tests are run without
 * type checks.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Scenario } from "../Scenario.ts"
import type { Oracle } from "../oracles/Oracle.ts"
import { allFaults, type Kind } from "../recording/Fault.ts"
import type { Part } from "./Explore.ts"

/** How much is explored, and what. */
export interface Options {
  readonly seed?: number | undefined
  readonly runs?: number | undefined
  readonly budget?: Duration.Input | undefined
  /** Maximum time for shrinking a failure; 5 seconds by default. */
  readonly shrinking?: Duration.Input | undefined
  /** Maximum number of faults in one run. */
  readonly depth?: 1 | 2 | 3 | undefined
  /** Runs of each story in another order of tasks, without faults. */
  readonly interleavings?: number | undefined
  /** Maximum number of runs of each story with several faults; by default as many as `runs` and `budget` leave. */
  readonly deeper?: number | undefined
  /**
   * For long stories: the number of steps that a run with a fault lives through, beginning with the step of the fault;
   * 2 means that step and the next one, which shows what is left of it. Such a run starts from a cluster at rest, as
   * the steps before left it, with a process that has just started. By default each run is the whole story, which finds
   * more, such as what a process remembers wrongly from earlier steps. Faults of the time around a step (restarts, lost
   * Pods) and other orders of tasks always run the whole story. The state that a scenario keeps outside
   * (`External.state`) must consist of Maps, Sets, arrays and plain objects.
   */
  readonly window?: number | undefined
  /**
   * Single faults share runs of the whole story, about five per run. If an oracle complains about a shared run, its
   * faults are run alone. Each fault counts as run. Not together with `window`; with several replicas nothing is
   * shared.
   */
  readonly pooled?: boolean | undefined
  /** Number of stories to draw, if the scenario draws them; they share the runs and the time. */
  readonly stories?: number | undefined
  /** Kinds of faults; all by default. */
  readonly faults?: ReadonlyArray<Kind> | undefined
  /** Additional oracles, besides those that always judge. */
  readonly oracles?: ReadonlyArray<Oracle> | undefined
  /** One of several parts, for processes side by side; `together` combines their results. */
  readonly part?: Part | undefined
  /** The token of an earlier failure: only that run is made. */
  readonly replay?: string | undefined
}

type Looked = readonly [name: string, value: unknown, wanted: string | undefined]

const whole = (from: number) => (value: unknown): boolean => Number.isInteger(value) && (value as number) >= from

/** An entry for a number that, if given, must fulfil a condition. */
const numbered = (name: string, value: unknown, isRight: (value: unknown) => boolean, wanted: string): Looked => [
  name,
  value,
  value === undefined || isRight(value) ? undefined : wanted
]

const lasting = (name: string, value: Duration.Input | undefined): Looked => [
  name,
  value,
  value === undefined || Option.isSome(Duration.fromInput(value))
    ? undefined
    : "must be a duration, such as \"20 seconds\""
]

const known = (name: string, faults: ReadonlyArray<string> = []): Looked => {
  const strange = faults.find((fault) => !allFaults.has(fault))
  return [
    name,
    strange,
    strange === undefined ? undefined : `must be the name of a fault: ${[...allFaults].join(", ")}`
  ]
}

const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value) : typeof value === "function" ? "a function" : String(value)

/** The first invalid option, with its value and what it must be. */
export const fault = ({ operator, replicas, rest, steps, without }: Scenario, options: Options): string | undefined => {
  const { budget, deeper, depth, faults, interleavings, pooled, runs, seed, shrinking, stories, window } = options
  const looked: ReadonlyArray<Looked> = [
    [
      "operator",
      operator,
      Layer.isLayer(operator) || typeof operator === "function"
        ? undefined
        : "must be a layer, or a function that returns one"
    ],
    ...steps.map(({ act, name }): Looked => [
      `step ${JSON.stringify(name)}: act`,
      act,
      Effect.isEffect(act) ? undefined : "must be an effect"
    ]),
    numbered("replicas", replicas, whole(1), "must be a whole number from 1"),
    lasting("rest", rest),
    known("without", without),
    known("faults", faults),
    numbered("depth", depth, (value) => whole(1)(value) && depth! <= 3, "must be 1, 2 or 3"),
    numbered("window", window, whole(1), "must be a whole number from 1, or left out for the whole story"),
    [
      "pooled: true with window",
      window,
      pooled === true && window !== undefined ? "faults share runs of the whole story; leave one out" : undefined
    ],
    numbered("seed", seed, Number.isSafeInteger, "must be a whole number"),
    numbered("runs", runs, whole(0), "must be a whole number from 0"),
    numbered("interleavings", interleavings, whole(0), "must be a whole number from 0"),
    numbered(
      "deeper",
      deeper,
      (value) => value === Infinity || whole(0)(value),
      "must be a whole number from 0, or Infinity"
    ),
    numbered("stories", stories, whole(1), "must be a whole number from 1"),
    lasting("budget", budget),
    lasting("shrinking", shrinking)
  ]
  const found = looked.find(([, , wanted]) => wanted !== undefined)
  return found && `${found[0]}: ${shown(found[1])}: ${found[2]}`
}
