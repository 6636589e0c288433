/** `Reference`: the runs without faults, with which all others are compared. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Scenario, Step } from "../Scenario.ts"
import { none, type Point } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import * as Canonical from "../state/Canonical.ts"
import * as Drawn from "../state/Drawn.ts"
import * as Rests from "../state/Rests.ts"
import { type Story, tell } from "../story/Story.ts"
import * as Another from "./Another.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import * as Run from "./Run.ts"

/** The runs without faults, and what chance decides in them. */
export interface Reference {
  readonly recording: Recording
  /** Where its runs begin, and those that are compared with them. */
  readonly from: Checkpoint | undefined
  readonly mask: Canonical.Mask
  readonly state: Canonical.State
  /** The state at rest after each step but the last. */
  readonly rests: ReadonlyArray<Rests.Known | undefined>
  /** Places that hold the same value of chance. */
  readonly tied: Drawn.Tied
  /** Where two runs of the same seed differ, if they do and were compared. */
  readonly unlike: string | undefined
  /** The reference of the story in which some steps are taken together with the previous ones. */
  readonly hasty: (steps: ReadonlyArray<number>) => Reference
  /** The reference of the story in which some steps are left out. */
  readonly without: (steps: ReadonlyArray<number>) => Reference
  /** The first steps of the story, and then a second custom resource like this one, which is deleted again. */
  readonly another: (object: KubeObject, steps: number) => Recording
  /** The story with one fault. */
  readonly faulty: (point: Point) => Recording
}

const trace = (run: Recording): ReadonlyArray<string> => run.entries.map((entry) => JSON.stringify(entry))

/** Where two runs of the same seed differ. */
const unlike = (a: Recording, b: Recording): string | undefined => {
  const [first, second] = [trace(a), trace(b)]
  const differs = first.findIndex((entry, index) => entry !== second[index])
  if (differs < 0 && first.length === second.length) return undefined
  const at = differs < 0 ? first.length : differs
  const shown = (entries: ReadonlyArray<string>) => (entries[at] ?? "nothing").slice(0, 300)
  return "two runs with the same seed differ: the program keeps state from one run to the next, or uses the real " +
    `clock, randomness or network. First difference: ${shown(first)}\ninstead of ${shown(second)}`
}

interface How {
  readonly seed: number
  /** Number of given steps. */
  readonly given: number
  /** Whether a second run must be the same. */
  readonly twice?: boolean
  /** How long the end is watched, in milliseconds; must match what is compared. One hour by default. */
  readonly quiet?: number
}

/** The run without faults, after this many given steps. What chance decides in it is determined on demand. */
const make = (scenario: Scenario, { given, quiet, seed, twice = false }: How): Reference => {
  const from = Run.upTo(scenario, given, seed)
  const lived = { seed, from, quiet }
  const recording = Run.run(scenario, none, lived)
  const failed = recording.failure !== undefined
  const differs = twice && !failed ? unlike(recording, Run.run(scenario, none, lived)) : undefined
  const short = { seed, given, quiet: Run.defaults.shortQuiet }
  const decided = once(() => failed ? undecided : chanceIn(scenario, recording, seed, given))
  return {
    recording,
    from,
    unlike: differs,
    get mask() {
      return decided().mask
    },
    get state() {
      return decided().state
    },
    get rests() {
      return decided().rests
    },
    get tied() {
      return decided().tied
    },
    hasty: remembering((steps) => make(hastened(scenario, steps), short)),
    without: remembering((steps) => make(shortened(scenario, steps), short)),
    another: (object, steps) => {
      const more = Another.steps(scenario.resources, object, recording)
      const told = { ...scenario, steps: [...scenario.steps.slice(0, steps), ...more] }
      return Run.run(told, none, { seed, from, quiet: 0 })
    },
    faulty: (point: Point) => Run.run(scenario, { points: [point], interleaving: 0 }, { seed, from })
  }
}

type Decided = Pick<Reference, "mask" | "state" | "rests" | "tied">

/** A story that fails leaves nothing to compare. */
const undecided: Decided = { mask: new Set(), state: new Map(), rests: [], tied: [] }

/** What differs if chance is different. */
const chanceIn = (scenario: Scenario, recording: Recording, seed: number, given: number): Decided => {
  const other = Run.run(scenario, none, {
    seed: seed + 1,
    quiet: Run.defaults.shortQuiet,
    from: Run.upTo(scenario, given, seed + 1)
  })
  const mask = Canonical.mask(recording, other)
  return {
    mask,
    state: Canonical.state(recording, mask),
    rests: Rests.known(recording, other, mask),
    tied: Drawn.tied(recording, other, mask)
  }
}

const once = <A>(made: () => A): () => A => {
  let known: { readonly value: A } | undefined
  return () => (known ??= { value: made() }).value
}

/**
 * The run of a story without faults, and what chance decides in it. `twice`: whether a second run must be the same; not
 * needed for parts of a story for which this was checked.
 */
export const of = (all: Scenario, story: Story, seed: number, twice = true): Reference =>
  make(tell(all, story), { seed, given: story.given, twice })

/** A pause of this length or more, in milliseconds, is to let time pass, and not to see whether something is done yet. */
const long = 60_000

/** What people do without the time that they let pass: the next step comes at once. */
const withoutPauses = (act: Step["act"]): Step["act"] =>
  Effect.clockWith((clock) =>
    Effect.provideService(act, Clock.Clock, {
      ...clock,
      sleep: (duration) => Duration.toMillis(duration) >= long ? Effect.void : clock.sleep(duration)
    })
  )

/** The story with some steps taken together with the previous ones, so that the operator sees their combined result. */
const hastened = ({ steps, ...scenario }: Scenario, taken: ReadonlyArray<number>): Scenario => {
  const out: Array<Step> = []
  for (const [index, step] of steps.entries()) {
    const earlier = taken.includes(index) ? out.pop() : undefined
    out.push(
      earlier === undefined
        ? step
        : { ...step, act: Effect.andThen(withoutPauses(earlier.act), Effect.ignore(step.act)) }
    )
  }
  return { ...scenario, steps: out }
}

const shortened = ({ steps, ...scenario }: Scenario, left: ReadonlyArray<number>): Scenario => ({
  ...scenario,
  steps: steps.filter((_, index) => !left.includes(index))
})

/** References of other stories, each made on first use. */
const remembering = (made: (steps: ReadonlyArray<number>) => Reference): Reference["hasty"] => {
  const known = new Map<string, Reference>()
  return (steps) => {
    const key = steps.join()
    const found = known.get(key) ?? made(steps)
    known.set(key, found)
    return found
  }
}
