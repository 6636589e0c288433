/**
 * Leader election as data: what a candidate knows of the lease, and what it does next.
 *
 * Clocks are not compared, and the wall clock, which can be set, is not used. A candidate measures for itself how long
 * it has seen the lease unchanged. Only after the whole lease duration does it take the lease over, by a write that the
 * server accepts only if the lease is still the one it saw. A leader counts from the moment it *sent* its last accepted
 * renewal, and stops before anybody can have waited long enough: at `renewDeadline`, which is shorter than the lease
 * duration. Between the two lies the time in which a write of the old leader may still be in flight.
 *
 * Source: the protocol of k8s.io/client-go/tools/leaderelection, except that standbys watch the lease instead of
 * polling it, so that they see a renewal or a release at once and know exactly when it expires.
 */
import { compareResourceVersions, type KubeObject, type NamespacedObjectMeta } from "../KubeObject.ts"

/** The object that stands for leadership: coordination.k8s.io/v1. */
export interface Lease extends KubeObject {
  readonly apiVersion: "coordination.k8s.io/v1"
  readonly kind: "Lease"
  readonly metadata: NamespacedObjectMeta
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/** In milliseconds. */
export interface Timing {
  readonly leaseDuration: number
  readonly renewDeadline: number
  readonly retryPeriod: number
}

export type State =
  | {
    readonly _tag: "Standby"
    /** The lease (`null` if there is none), and since when it was seen so; undefined before the first look. */
    readonly sight: { readonly lease: Lease | null; readonly since: number } | undefined
    /** After a failure, or to let others go first: nothing is sent before this time. */
    readonly notBefore: number
  }
  | {
    readonly _tag: "Leading"
    readonly lease: Lease
    /** When the last accepted renewal was sent. */
    readonly renewedAt: number
    readonly triedAt: number
    /** The lease may be another one by now: it must be read before the next renewal. */
    readonly doubt: boolean
  }

/** What a candidate does next. */
export type Step =
  | { readonly _tag: "Look" }
  /** Write the lease: the one seen, or (`null`) a new one. */
  | { readonly _tag: "Acquire"; readonly lease: Lease | null }
  | { readonly _tag: "Renew"; readonly lease: Lease }
  /** Stop leading, now. */
  | { readonly _tag: "Resign" }
  /** Nothing until then, unless the lease is seen. */
  | { readonly _tag: "Wait"; readonly until: number }

export const initial: State = { _tag: "Standby", sight: undefined, notBefore: -Infinity }

/** Whether the process may act as the leader. */
export const leads = (state: State, timing: Timing, now: number): boolean =>
  state._tag === "Leading" && now < state.renewedAt + timing.renewDeadline

const holder = (lease: Lease): string => lease.spec?.holderIdentity ?? ""

/** How long the holder may take for its next renewal, according to the lease. */
const durationOf = (lease: Lease, timing: Timing): number =>
  (lease.spec?.leaseDurationSeconds ?? 0) > 0 ? lease.spec!.leaseDurationSeconds! * 1000 : timing.leaseDuration

export const next = (state: State, identity: string, timing: Timing, now: number): Step => {
  if (state._tag === "Leading") {
    const deadline = state.renewedAt + timing.renewDeadline
    if (now >= deadline) return { _tag: "Resign" }
    const due = state.triedAt + timing.retryPeriod
    if (now < due) return { _tag: "Wait", until: Math.min(due, deadline) }
    return state.doubt ? { _tag: "Look" } : { _tag: "Renew", lease: state.lease }
  }
  const { notBefore, sight } = state
  if (sight === undefined) return now < notBefore ? { _tag: "Wait", until: notBefore } : { _tag: "Look" }
  const { lease, since } = sight
  const free = lease === null || holder(lease) === "" || holder(lease) === identity
  const due = Math.max(notBefore, free ? since : since + durationOf(lease, timing))
  return now < due ? { _tag: "Wait", until: due } : { _tag: "Acquire", lease }
}

/**
 * The lease was read, or reported by a watch. If there is none, `version` is the resourceVersion as of which that
 * holds, if known. A report older than what is known changes nothing. If the lease is free, `courtesy` milliseconds
 * pass before it is taken: of several candidates one is first.
 */
export const seen = (
  state: State,
  identity: string,
  lease: Lease | null,
  now: number,
  courtesy: number,
  version?: string
): State => {
  const known = state._tag === "Leading" ? state.lease : state.sight?.lease
  if (known !== null && known !== undefined && isOlder(lease, version, known)) return state
  if (state._tag === "Leading") {
    return lease !== null && holder(lease) === identity
      ? { ...state, lease, doubt: false }
      : standby(lease, now, courtesy)
  }
  const same = state.sight !== undefined &&
    state.sight.lease?.metadata.resourceVersion === lease?.metadata.resourceVersion &&
    state.sight.lease?.metadata.uid === lease?.metadata.uid
  return same ? state : { ...standby(lease, now, courtesy), notBefore: Math.max(state.notBefore, now + courtesy) }
}

const isOlder = (lease: Lease | null, version: string | undefined, known: Lease): boolean => {
  if (lease !== null && lease.metadata.uid !== known.metadata.uid) return false
  const at = lease?.metadata.resourceVersion ?? version
  return at !== undefined && compareResourceVersions(at, known.metadata.resourceVersion) < 0
}

const standby = (lease: Lease | null, now: number, courtesy: number) =>
  ({ _tag: "Standby", sight: { lease, since: now }, notBefore: now + courtesy }) as const

/** The server accepted our write of the lease, sent at `sentAt`. */
export const wrote = (lease: Lease, sentAt: number): State => ({
  _tag: "Leading",
  lease,
  renewedAt: sentAt,
  triedAt: sentAt,
  doubt: false
})

/** The state with the next renewal due at once. */
export const hurried = (state: State): State => state._tag === "Leading" ? { ...state, triedAt: -Infinity } : state

/** The server refused our write: the lease is not what we thought. */
export const refused = (state: State, now: number): State =>
  state._tag === "Leading"
    ? { ...state, triedAt: -Infinity, doubt: true }
    : { _tag: "Standby", sight: undefined, notBefore: now }

/**
 * A request failed: it is unknown whether it was carried out. The next one of a leader is due as long after this one
 * was sent as after any other; a standby sends nothing before `notBefore`.
 */
export const failed = (state: State, sentAt: number, notBefore: number): State =>
  state._tag === "Leading"
    ? { ...state, triedAt: sentAt, doubt: true }
    : { _tag: "Standby", sight: state.sight, notBefore }

/** Stops leading by its own decision; a candidate again once it has looked. */
export const resigned = (state: State, now: number): State =>
  state._tag === "Leading" ? { _tag: "Standby", sight: undefined, notBefore: now } : state

/** A time with microseconds, as in a Lease. */
export const microTime = (millis: number): string => new Date(millis).toISOString().replace("Z", "000Z")

/** The lease as its holder writes it at `now`. */
export const claimed = (
  lease: Lease | null,
  identity: string,
  timing: Timing,
  now: number
): NonNullable<Lease["spec"]> => {
  const old = lease?.spec
  const same = lease !== null && holder(lease) === identity
  return {
    ...old,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(timing.leaseDuration / 1000),
    acquireTime: same ? old?.acquireTime ?? microTime(now) : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: lease === null ? 0 : same ? old?.leaseTransitions ?? 0 : (old?.leaseTransitions ?? 0) + 1
  }
}

/** The lease as its holder releases it, so that others can take it at once. */
export const released = (lease: Lease, now: number): NonNullable<Lease["spec"]> => ({
  ...lease.spec,
  holderIdentity: "",
  leaseDurationSeconds: 1,
  acquireTime: microTime(now),
  renewTime: microTime(now)
})
