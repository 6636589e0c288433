/**
 * `Singles`: every single fault there is, each with the story it comes in: the one that is told, a stretch of it, or one
 * in which a deletion comes sooner.
 */
import type { Kind, Point } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import { key, lengthOf, type Story } from "../story/Story.ts"
import * as Variants from "../story/Variants.ts"
import * as Points from "./Points.ts"

/** A single fault, and the story it comes in. */
export interface Single {
  readonly point: Point
  readonly lived: Story
}

export interface Options {
  readonly story: Story
  /** Steps that a run with a fault lives through, from the one it is at; all by default. */
  readonly window: number | undefined
  readonly replicas: number
  readonly allowed: (fault: Kind) => boolean
  /** The run of a story without faults. */
  readonly recordingOf: (story: Story) => Recording
  /** Whether nobody complains about that run. */
  readonly isHealthy: (story: Story) => boolean
}

/** Faults after which the next step does not wait: what comes of that may be neither in mid-story, only its end tells. */
const impatient: ReadonlySet<Kind> = new Set<Kind>(["hurried", "forestalled", "externalHurried"])

const isImpatient = ({ fault }: Point): boolean => impatient.has(fault)

/** At the time around a step, or all the time: no stretch of a story tells what comes of it. */
const isAround = ({ _tag }: Point): boolean => _tag === "Step" || _tag === "Clock"

/** A stretch of a story for each step, and which faults at what happens in that step it is lived through for. */
interface Stretch {
  readonly lived: Story
  readonly isFor: (point: Point) => boolean
}

const stretchesOf = ({ allowed, story, window }: Options): ReadonlyArray<Stretch> => {
  if (window === undefined) return []
  const short = Variants.windows(story, window).map((lived) => ({
    lived,
    isFor: (point: Point) => !isAround(point) && !isImpatient(point)
  }))
  const long = Variants.windows(story, lengthOf(story)).map((lived) => ({ lived, isFor: isImpatient }))
  return [...short, ...[...impatient].some(allowed) ? long : []]
}

/** The stories that faults are run in, each once: the one that is told first. */
export const stories = (options: Options): ReadonlyArray<Story> => [
  ...new Map([options.story, ...stretchesOf(options).map(({ lived }) => lived)].map((lived) => [key(lived), lived]))
    .values()
]

/** Whether a further fault may follow others in a story. */
export const isFurther = (point: Point, lived: Story, story: Story): boolean =>
  !isImpatient(point) || lengthOf(lived) === lengthOf(story)

const allDone = ({ entries }: Recording): boolean =>
  !entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)

/** All of them: those of stories that are cut short first. */
export const of = (options: Options): ReadonlyArray<Single> => {
  const { allowed, isHealthy, recordingOf, replicas, story, window } = options
  const at = (lived: Story, isFor: (point: Point) => boolean): ReadonlyArray<Single> =>
    Points.of(recordingOf(lived), replicas).filter((point) => allowed(point.fault) && isFor(point))
      .map((point) => ({ point, lived }))
  const sooner = [...impatient].some(allowed) ? Variants.sooner(recordingOf(story), story) : []
  return [
    ...sooner.toReversed().flatMap(({ step, story: shorter }) => {
      const lived = window === undefined ? shorter : { ...shorter, given: step }
      const recording = recordingOf(lived)
      // Where steps rest upon those that are left out, nobody can tell what is right.
      if (!allDone(recording) || !isHealthy(lived)) return []
      const isThen = Points.isBetween(recording, step, step + 1)
      return at(lived, (point) => isImpatient(point) && isThen(point))
    }),
    ...stretchesOf(options).flatMap(({ isFor, lived }) => {
      // What the process does where it is taken up belongs to the step that follows.
      const isThen = Points.isBetween(recordingOf(lived), lived.given - 1, lived.given + 1)
      return at(lived, (point) => isFor(point) && isThen(point))
    }),
    ...at(story, (point) => window === undefined || isAround(point))
  ]
}
