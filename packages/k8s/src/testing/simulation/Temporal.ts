/**
 * `Temporal`: what must hold in the course of a run, in four words: always, never, eventually, until.
 *
 * Each makes an `Oracle` from predicates over the store. They are evaluated after every single change, from the first
 * step to the end, so no state in between is missed, as it would be by polling.
 *
 * ```ts
 * const atMost = Temporal.always("at most five Pods", ({ of }) => of("Pod").length <= 5)
 * const orderly = Temporal.until("no Service before its Secret", ({ of }) => of("Service").length === 0, ({ of }) => of("Secret").length > 0)
 * ```
 */
import type { Oracle } from "./oracles/Oracle.ts"
import { type Moment, moments } from "./recording/Moments.ts"

export type { Moment }

export type Predicate = (moment: Moment) => boolean

const told = ({ change: { object, type } }: Moment): string =>
  `after ${type.toLowerCase()} ${object.kind} ${object.metadata.name}`

/** Holds after every change. */
export const always = (name: string, holds: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) if (!holds(moment)) return `does not hold ${told(moment)}`
    return undefined
  }
})

/** Holds after no change. */
export const never = (name: string, holds: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) if (holds(moment)) return `holds ${told(moment)}`
    return undefined
  }
})

/** Holds after at least one change. */
export const eventually = (name: string, holds: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) if (holds(moment)) return undefined
    return "never holds"
  }
})

/** Holds until `then` does, which must happen. */
export const until = (name: string, holds: Predicate, then: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) {
      if (then(moment)) return undefined
      if (!holds(moment)) return `does not hold ${told(moment)}, before the second condition holds`
    }
    return "the second condition never holds"
  }
})
