/** `Given`: what is given to an exploration, and cannot be meant. What types rule out is looked for, too: tests run unchecked. */
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
  /** How long what goes wrong is made smaller, at most: 5 seconds by default. */
  readonly shrinking?: Duration.Input | undefined
  /** Faults in one run at most. */
  readonly depth?: 1 | 2 | 3 | undefined
  /** Runs in another order of tasks, without faults, of each story. */
  readonly interleavings?: number | undefined
  /** Runs with several faults at most, of each story: by default as many as `runs` and `budget` leave. */
  readonly deeper?: number | undefined
  /**
   * For long stories: so many steps that a run with a fault lives through, from the step the fault is at; 2 are that step
   * and the one that shows what is left of it. Such a run goes on from a cluster at rest, as the steps before have left
   * it, with a process that has just started. By default each run is the whole story, which finds more: also what a
   * process remembers that has gone wrong some steps ago. Faults of the time around a step (restarts, Pods that are lost)
   * and other orders of tasks are lived through in whole either way. What a scenario keeps outside (`External.state`) has
   * to be of Maps, Sets, lists and plain objects.
   */
  readonly window?: number | undefined
  /**
   * Single faults share runs of the whole story, some five to a run, where nobody complains: those of a run that anything
   * is said about are run alone. Each is counted as run. Not together with `window`; with several replicas nothing is
   * shared.
   */
  readonly pooled?: boolean | undefined
  /** Stories to draw, of a scenario that draws them; runs and time are shared out among them. */
  readonly stories?: number | undefined
  /** Kinds of faults; all by default. */
  readonly faults?: ReadonlyArray<Kind> | undefined
  /** Further oracles, beside the ones that are always asked. */
  readonly oracles?: ReadonlyArray<Oracle> | undefined
  /** One of several parts, for processes side by side; `together` tells what they came to. */
  readonly part?: Part | undefined
  /** A token of an earlier failure: that run, and no other. */
  readonly replay?: string | undefined
}

type Looked = readonly [name: string, value: unknown, wanted: string | undefined]

const whole = (from: number) => (value: unknown): boolean => Number.isInteger(value) && (value as number) >= from

/** What a number is to be, if it is given and is not. */
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

/** The first thing that cannot be meant, with its value, and what it is to be. */
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
