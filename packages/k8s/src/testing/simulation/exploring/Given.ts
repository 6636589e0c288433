/** `Given`: what is given to an exploration, and cannot be meant. What types rule out is looked for, too: tests run unchecked. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Scenario } from "../Scenario.ts"
import type { Options } from "../Simulation.ts"
import { allFaults } from "../recording/Fault.ts"

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
  value === undefined || Option.isSome(Duration.fromInput(value)) ? undefined : "a duration, such as \"20 seconds\""
]

const known = (name: string, faults: ReadonlyArray<string> = []): Looked => {
  const strange = faults.find((fault) => !allFaults.has(fault))
  return [name, strange, strange === undefined ? undefined : `the name of a fault: ${[...allFaults].join(", ")}`]
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
      Layer.isLayer(operator) || typeof operator === "function" ? undefined : "a layer, or a function that gives one"
    ],
    ...steps.map(({ act, name }): Looked => [
      `step ${JSON.stringify(name)}: act`,
      act,
      Effect.isEffect(act) ? undefined : "an effect"
    ]),
    numbered("replicas", replicas, whole(1), "a number of processes from 1"),
    lasting("rest", rest),
    known("without", without),
    known("faults", faults),
    numbered("depth", depth, (value) => whole(1)(value) && depth! <= 3, "1, 2 or 3 faults in a run"),
    numbered("window", window, whole(1), "a number of steps from 1, or left out for the whole story"),
    [
      "pooled: true with window",
      window,
      pooled === true && window !== undefined ? "faults share runs of the whole story; leave one out" : undefined
    ],
    numbered("seed", seed, Number.isSafeInteger, "a whole number"),
    numbered("runs", runs, whole(0), "a number from 0"),
    numbered("interleavings", interleavings, whole(0), "a number from 0"),
    numbered("deeper", deeper, (value) => value === Infinity || whole(0)(value), "a number from 0"),
    numbered("stories", stories, whole(1), "a number from 1"),
    lasting("budget", budget),
    lasting("shrinking", shrinking)
  ]
  const found = looked.find(([, , wanted]) => wanted !== undefined)
  return found && `${found[0]}: ${shown(found[1])}: ${found[2]}`
}
