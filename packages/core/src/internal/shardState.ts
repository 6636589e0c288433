/**
 * Sharding as data: which replica works on which objects, and how objects are handed over.
 *
 * Each replica has a Lease of its own, which it renews as a leader does, and in which it publishes the list of replicas
 * under which it works: its claim. The owner of an object follows from its key and such a list, by rendezvous hashing
 * (Thaler and Ravishankar, 1998): when a replica comes or goes, only its objects move.
 *
 * No two work on one object at a time. A replica that is to work under another list first stops what that list takes
 * from it, then writes the list into its lease, and then waits until a watch of all leases has shown it that write.
 * From then on it works on what its list gives it, except for what the claim of another live replica still gives to
 * that one. If two write their claims at the same moment, the second sees the claim of the first before its own, as in
 * Dekker's algorithm.
 *
 * A replica that cannot renew stops before the others may take it for dead, as the leader of an election does; its
 * claim is void then, also for itself. A replica is dead if its lease has not changed for its whole duration, as the
 * watch shows and the server confirms when it is asked then: the watch alone may be late.
 */
import type { Lease } from "./electionState.ts"
import * as Fingerprint from "./fingerprint.ts"

/** Label of the leases of replicas that share work: the name under which they share it. */
export const label = "effect-operator.dev/shares"
/** Annotations of a lease: the list under which its holder works, and the id of this claim. */
export const annotations = { members: "effect-operator.dev/members", claim: "effect-operator.dev/claim" } as const

export interface Claim {
  readonly id: string
  /** Sorted. */
  readonly members: ReadonlyArray<string>
}

/** Another replica, as its lease was last seen. */
export interface Sight {
  readonly identity: string
  readonly lease: Lease
  /** Undefined before it works. */
  readonly claim: Claim | undefined
  /** When it may be dead, unless its lease changes: milliseconds, by the observer's clock. */
  readonly until: number
  /** Whether it is dead: the server was asked. */
  readonly dead: boolean
}

export interface State {
  readonly me: string
  /** The other replicas, by the names of their leases. */
  readonly others: ReadonlyMap<string, Sight>
  /** Whether all leases have been listed. */
  readonly listed: boolean
  /** Whether there is work to share. */
  readonly joined: boolean
  /** Counts the terms in which this replica holds its lease; undefined while it does not. */
  readonly term: number | undefined
  /** Its claim: published, or to be published by the next write of its lease. */
  readonly claim: Claim | undefined
  /** The last claim that the watch has shown. */
  readonly confirmed: Claim | undefined
  /** The list under which it will work as soon as it has stopped what that takes from it. */
  readonly next: ReadonlyArray<string> | undefined
  /** Number of claims so far. */
  readonly count: number
}

/** The lease that a request is about, as seen when the request began. The result does not apply to a later one. */
export interface Subject {
  readonly name: string
  readonly lease: Lease
}

/** What to do next. */
export type Step =
  /** Stop what the list takes away, then call `released`. */
  | { readonly _tag: "Release"; readonly members: ReadonlyArray<string> }
  /** Ask the server for the lease of a replica that may be dead, then call `asked`. */
  | { readonly _tag: "Ask" } & Subject
  /** Delete the lease of a replica that is long dead, then call `swept`. */
  | { readonly _tag: "Sweep" } & Subject
  /** Nothing until then, unless a lease is seen. */
  | { readonly _tag: "Wait"; readonly until: number }

/** After how many of its durations the lease of a dead replica is deleted. */
const sweptAfter = 10

export const initial = (me: string): State => ({
  me,
  others: new Map(),
  listed: false,
  joined: false,
  term: undefined,
  claim: undefined,
  confirmed: undefined,
  next: undefined,
  count: 0
})

const durationOf = ({ spec }: Lease): number => (spec?.leaseDurationSeconds ?? 1) * 1000

const claimOf = ({ metadata: { annotations: said } }: Lease): Claim | undefined => {
  const members = said?.[annotations.members]
  return members === undefined ? undefined : { id: said?.[annotations.claim] ?? "", members: members.split(",") }
}

/** The live replicas that work. */
const living = ({ others }: State): ReadonlyArray<Sight & { readonly claim: Claim }> =>
  [...others.values()].filter((sight): sight is Sight & { readonly claim: Claim } =>
    sight.claim !== undefined && !sight.dead
  )

/** The list under which this replica should work. */
const view = (state: State): ReadonlyArray<string> =>
  [...new Set([state.me, ...living(state).map(({ identity }) => identity)])].sort()

const same = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((member, index) => member === b[index])

export const next = (state: State, now: number): Step => {
  if (state.term !== undefined && state.joined && state.listed) {
    const members = view(state)
    if (!same(members, state.next ?? state.claim?.members ?? [])) return { _tag: "Release", members }
  }
  let until = Infinity
  for (const [name, sight] of state.others) {
    const due = sight.dead ? sight.until + sweptAfter * durationOf(sight.lease) : sight.until
    if (now >= due) return { _tag: sight.dead ? "Sweep" : "Ask", name, lease: sight.lease }
    until = Math.min(until, due)
  }
  return { _tag: "Wait", until }
}

/** This replica holds its lease. */
export const led = (state: State, term: number): State => ({ ...lost(state), term })

/** It does not any more: its claim is void. */
export const lost = (state: State): State => ({
  ...state,
  term: undefined,
  claim: undefined,
  confirmed: undefined,
  next: undefined
})

export const joined = (state: State): State => ({ ...state, joined: true })

/** A lease was seen. */
export const saw = (state: State, lease: Lease, now: number): State => {
  const { name, resourceVersion } = lease.metadata
  const identity = lease.spec?.holderIdentity ?? ""
  const claim = claimOf(lease)
  if (identity === state.me) {
    const isNews = state.confirmed !== state.claim && claim?.id === state.claim?.id
    return isNews ? { ...state, confirmed: state.claim } : state
  }
  const before = state.others.get(name)
  if (before?.lease.metadata.resourceVersion === resourceVersion) return state
  const others = new Map(state.others)
  // A replica that leaves in order releases its lease, and has stopped.
  if (identity === "") others.delete(name)
  else others.set(name, { identity, lease, claim, until: now + durationOf(lease), dead: false })
  return { ...state, others }
}

/** The replica of a lease, unless the lease has changed since. */
const still = ({ others }: State, { lease, name }: Subject): Sight | undefined => {
  const sight = others.get(name)
  return sight?.lease === lease ? sight : undefined
}

/** The server was asked for a lease: it has none, or this one. */
export const asked = (state: State, subject: Subject, lease: Lease | undefined, now: number): State => {
  const before = still(state, subject)
  if (before === undefined) return state
  const same = lease === undefined || lease.metadata.resourceVersion === before.lease.metadata.resourceVersion
  return same
    ? { ...state, others: new Map(state.others).set(subject.name, { ...before, dead: true }) }
    : saw(state, lease, now)
}

/**
 * The server did not answer, or refused. A replica that may be dead is asked about again then; for a dead one, the time
 * until its lease is deleted counts from then.
 */
export const unanswered = (state: State, subject: Subject, until: number): State => {
  const before = still(state, subject)
  return before === undefined
    ? state
    : { ...state, others: new Map(state.others).set(subject.name, { ...before, until }) }
}

/** All leases were listed. A missing one was deleted, which does not mean that its replica has stopped. */
export const listed = (state: State, leases: ReadonlyArray<Lease>, now: number): State =>
  leases.reduce<State>((state, lease) => saw(state, lease, now), { ...state, listed: true })

/** A lease was deleted. */
export const swept = (state: State, subject: Subject): State => {
  if (still(state, subject) === undefined) return state
  const others = new Map(state.others)
  others.delete(subject.name)
  return { ...state, others }
}

/** From now on, nothing is started that the list takes away. */
export const releasing = (state: State, members: ReadonlyArray<string>): State => ({ ...state, next: members })

/** What the list takes away has stopped: the list is the claim. */
export const released = (state: State, members: ReadonlyArray<string>): State => {
  if (state.next === undefined || !same(state.next, members)) return state
  const count = state.count + 1
  return { ...state, next: undefined, count, claim: { id: `${state.term}.${count}`, members } }
}

/** The annotations of a lease for the claim, in the given term. */
export const said = ({ claim, term }: State, writing: number): Readonly<Record<string, string | undefined>> =>
  claim === undefined || term !== writing
    ? { [annotations.members]: undefined, [annotations.claim]: undefined }
    : { [annotations.members]: claim.members.join(","), [annotations.claim]: claim.id }

/** What decides about an object: the lists that must all give it to this replica, and the claims of others. */
export interface Ground {
  readonly me: string
  readonly lists: ReadonlyArray<ReadonlyArray<string>>
  readonly others: ReadonlyArray<{ readonly identity: string; readonly members: ReadonlyArray<string> }>
}

/** A ground on which nothing belongs to this replica. */
export const nowhere: Ground = { me: "", lists: [], others: [] }

export const ground = (state: State): Ground => {
  const { claim, confirmed, me, next } = state
  if (confirmed === undefined) return nowhere
  // A list that is not published yet counts, too: nothing is started that would have to be stopped.
  const lists = [confirmed.members]
  for (const members of [claim?.members, next]) {
    if (members !== undefined && !lists.some((list) => same(list, members))) lists.push(members)
  }
  return {
    me,
    lists,
    others: living(state)
      .filter(({ claim }) => !lists.some((list) => same(list, claim.members)))
      .map(({ claim: { members }, identity }) => ({ identity, members }))
  }
}

export const sameGround = (a: Ground, b: Ground): boolean =>
  a === b || JSON.stringify([a.lists, a.others]) === JSON.stringify([b.lists, b.others])

/** The hash states of members, which are the same for all keys. */
const begun = new WeakMap<ReadonlyArray<string>, ReadonlyArray<Fingerprint.Begun>>()

const begunOf = (members: ReadonlyArray<string>): ReadonlyArray<Fingerprint.Begun> => {
  const known = begun.get(members) ?? members.map((member) => Fingerprint.begin(`${member} `))
  begun.set(members, known)
  return known
}

/** The member that an object belongs to: the one whose name gives the greatest hash with the key. */
export const ownerOf = (members: ReadonlyArray<string>, key: string): string | undefined => {
  if (members.length < 2) return members[0]
  let best: string | undefined
  let most = -1
  for (const [index, one] of begunOf(members).entries()) {
    const weight = Fingerprint.after(one, key)
    if (weight > most) {
      best = members[index]
      most = weight
    }
  }
  return best
}

/** Whether this replica may start to work on the object with this key. */
export const owns = ({ lists, me, others }: Ground, key: string): boolean =>
  lists.length > 0 &&
  lists.every((members) => ownerOf(members, key) === me) &&
  others.every(({ identity, members }) => ownerOf(members, key) !== identity)
