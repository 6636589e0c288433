/**
 * `Singles`: every single fault, each with the story in which it is run: the given one, a window of it, or one in which
 * a deletion comes sooner.
 */
import type { Kind, Point } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import { key, lengthOf, type Story } from "../story/Story.ts"
import * as Variants from "../story/Variants.ts"
import * as Points from "./Points.ts"

/** A single fault and the story in which it is run. */
export interface Single {
  readonly point: Point
  readonly lived: Story
}

export interface Options {
  readonly story: Story
  /** Number of steps that a run with a fault lives through, beginning with the step of the fault; all by default. */
  readonly window: number | undefined
  readonly replicas: number
  readonly allowed: (fault: Kind) => boolean
  /** The run of a story without faults. */
  readonly recordingOf: (story: Story) => Recording
  /** Whether no oracle complains about that run. */
  readonly isHealthy: (story: Story) => boolean
}

/**
 * Faults after which the next step does not wait. In the middle of the story the result may be neither of the two
 * expected ones; only the end counts.
 */
const impatient: ReadonlySet<Kind> = new Set<Kind>(["hurried", "forestalled", "externalHurried"])

const isImpatient = ({ fault }: Point): boolean => impatient.has(fault)

/** At the time around a step, or at all times: a window of a story does not show its effects. */
const isAround = ({ _tag }: Point): boolean => _tag === "Step" || _tag === "Clock"

/** A window of a story for each step, with the faults in that step for which it is run. */
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

/** The stories in which faults are run, each once, the given one first. */
export const stories = (options: Options): ReadonlyArray<Story> => [
  ...new Map([options.story, ...stretchesOf(options).map(({ lived }) => lived)].map((lived) => [key(lived), lived]))
    .values()
]

/** Whether a further fault may follow others in a story. */
export const isFurther = (point: Point, lived: Story, story: Story): boolean =>
  !isImpatient(point) || lengthOf(lived) === lengthOf(story)

const allDone = ({ entries }: Recording): boolean =>
  !entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)

/** All single faults; those of shortened stories first. */
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
      // If steps depend on those that are left out, there is no right result.
      if (!allDone(recording) || !isHealthy(lived)) return []
      const isThen = Points.isBetween(recording, step, step + 1)
      return at(lived, (point) => isImpatient(point) && isThen(point))
    }),
    ...stretchesOf(options).flatMap(({ isFor, lived }) => {
      // What the process does when the run resumes belongs to the next step.
      const isThen = Points.isBetween(recordingOf(lived), lived.given - 1, lived.given + 1)
      return at(lived, (point) => isFor(point) && isThen(point))
    }),
    ...at(story, (point) => window === undefined || isAround(point))
  ]
}
