/**
 * `Temporal`: what must hold in the course of a run, in four words: always, never, eventually, until.
 *
 * Each makes an `Oracle` of predicates over the store as it was after every single change, from the first step to the
 * end: nothing in between is left out, as it would be by looking now and then.
 *
 * ```ts
 * const atMost = Temporal.always("at most five Pods", ({ of }) => of("Pod").length <= 5)
 * const orderly = Temporal.until("no Service before its Secret", ({ of }) => of("Service").length === 0, ({ of }) => of("Secret").length > 0)
 * ```
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Change } from "../ApiServer.ts"
import type { Oracle } from "./Oracle.ts"
import type { Recording } from "./Recording.ts"

/** The store after a change. */
export interface Moment {
  /** Milliseconds since 1970, on the server's clock. */
  readonly at: number
  readonly change: Change
  /** Every object that came or changed since the start, unless it is gone. */
  readonly objects: () => Iterable<KubeObject>
  /** The objects of a kind. */
  readonly of: (kind: string) => ReadonlyArray<KubeObject>
}

export type Predicate = (moment: Moment) => boolean

/** The moments of a run, in order. A moment is good until the next is taken. */
export function* moments(run: Recording): Generator<Moment> {
  const kinds = new Map<string, Map<string, KubeObject>>()
  const of = (kind: string) => [...(kinds.get(kind)?.values() ?? [])]
  const objects = () => [...kinds.values()].flatMap((held) => [...held.values()])
  for (const entry of run.entries) {
    if (entry._tag !== "Change") continue
    const { change } = entry
    const { kind } = change.object
    let held = kinds.get(kind)
    if (held === undefined) kinds.set(kind, held = new Map())
    if (change.type === "DELETED") held.delete(change.key)
    else held.set(change.key, change.object)
    yield { at: entry.at, change, objects, of }
  }
}

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

/** Holds at some time. */
export const eventually = (name: string, holds: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) if (holds(moment)) return undefined
    return "never comes to hold"
  }
})

/** Holds until `then` does, which it must some time. */
export const until = (name: string, holds: Predicate, then: Predicate): Oracle => ({
  name,
  judge: (run) => {
    for (const moment of moments(run)) {
      if (then(moment)) return undefined
      if (!holds(moment)) return `does not hold ${told(moment)}, before it may end`
    }
    return "what it holds until never comes"
  }
})
