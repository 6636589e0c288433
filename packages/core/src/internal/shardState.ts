/**
 * Sharding as data: which replica works on which objects, and how objects are handed over.
 *
 * Each replica has a Lease of its own, which it renews as a leader does, and in which it says under which replicas it
 * works: its claim. To whom an object belongs follows from its key and such a list, by rendezvous hashing (Thaler and
 * Ravishankar, 1998): where a replica comes or goes, only its objects move.
 *
 * No two work on one object at a time. Who is to work under another list first stops what that takes from it, then writes
 * the list into its lease, and then waits until a watch of all leases has shown it that write. From then on it works on
 * what its list gives it, but for what the claim of another replica, that is not dead, still gives to that one. Of two
 * that write their claims at the same moment the second sees that of the first before its own, as in Dekker's algorithm.
 * A replica that cannot renew stops before the others may take it for dead, as the leader of an election does; what it
 * claimed then counts no more, also for itself. It is dead where its lease has not changed for its whole duration, as
 * the watch shows it and the server says when it is asked then: the watch alone may be late.
 */
import type { Lease } from "./electionState.ts"
import * as Fingerprint from "./fingerprint.ts"

/** On every lease of those that share: the name they share under. */
export const label = "effect-operator.dev/shares"
/** Under whom the holder of a lease works, and which of its claims this is. */
export const annotations = { members: "effect-operator.dev/members", claim: "effect-operator.dev/claim" } as const

export interface Claim {
  readonly id: string
  /** In order. */
  readonly members: ReadonlyArray<string>
}

/** Another replica, as its lease was seen last. */
export interface Sight {
  readonly identity: string
  readonly lease: Lease
  /** Nothing before it works. */
  readonly claim: Claim | undefined
  /** Unless its lease changes, it may be dead then; the time of who sees it, in milliseconds. */
  readonly until: number
  /** It is: the server was asked. */
  readonly dead: boolean
}

export interface State {
  readonly me: string
  /** The other replicas by the names of their leases. */
  readonly others: ReadonlyMap<string, Sight>
  /** Whether all leases have been listed. */
  readonly listed: boolean
  /** Whether there is work to share. */
  readonly joined: boolean
  /** Which time it is that this replica holds its lease; nothing while it does not. */
  readonly term: number | undefined
  /** What it said that it works under, or is to say with the next write of its lease. */
  readonly claim: Claim | undefined
  /** The claim that the watch has shown last. */
  readonly confirmed: Claim | undefined
  /** What it is to work under as soon as it has stopped what that takes from it. */
  readonly next: ReadonlyArray<string> | undefined
  /** Claims so far. */
  readonly count: number
}

/** The lease that a request is about, as it was seen when that began. What comes of it says nothing of a later one. */
export interface Subject {
  readonly name: string
  readonly lease: Lease
}

/** What is to be done next. */
export type Step =
  /** Stop what the list takes away, then say so: `released`. */
  | { readonly _tag: "Release"; readonly members: ReadonlyArray<string> }
  /** Ask the server for the lease of a replica that may be dead: `asked`. */
  | { readonly _tag: "Ask" } & Subject
  /** Delete the lease of a replica that is long dead: `swept`. */
  | { readonly _tag: "Sweep" } & Subject
  /** Nothing until then, unless something is seen. */
  | { readonly _tag: "Wait"; readonly until: number }

/** A lease is swept away so many of its durations after its replica is taken for dead. */
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

/** Who is there, and works. */
const living = ({ others }: State): ReadonlyArray<Sight & { readonly claim: Claim }> =>
  [...others.values()].filter((sight): sight is Sight & { readonly claim: Claim } =>
    sight.claim !== undefined && !sight.dead
  )

/** Under whom this replica is to work. */
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

/** It does not any more: what it claimed is void. */
export const lost = (state: State): State => ({
  ...state,
  term: undefined,
  claim: undefined,
  confirmed: undefined,
  next: undefined
})

export const joined = (state: State): State => ({ ...state, joined: true })

/** A lease was reported. */
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
  // Who goes in good order says so, and has stopped.
  if (identity === "") others.delete(name)
  else others.set(name, { identity, lease, claim, until: now + durationOf(lease), dead: false })
  return { ...state, others }
}

/** Whose lease it is, unless that has changed meanwhile. */
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

/** It has not answered, or refused: who may be dead may be so then, and who is dead is swept away so long after. */
export const unanswered = (state: State, subject: Subject, until: number): State => {
  const before = still(state, subject)
  return before === undefined
    ? state
    : { ...state, others: new Map(state.others).set(subject.name, { ...before, until }) }
}

/** All leases were listed: what is missing was deleted, which does not say that its replica has stopped. */
export const listed = (state: State, leases: ReadonlyArray<Lease>, now: number): State =>
  leases.reduce<State>((state, lease) => saw(state, lease, now), { ...state, listed: true })

/** A lease was swept away. */
export const swept = (state: State, subject: Subject): State => {
  if (still(state, subject) === undefined) return state
  const others = new Map(state.others)
  others.delete(subject.name)
  return { ...state, others }
}

/** From now on nothing is begun that the list takes away. */
export const releasing = (state: State, members: ReadonlyArray<string>): State => ({ ...state, next: members })

/** What the list takes away has stopped: it is the claim. */
export const released = (state: State, members: ReadonlyArray<string>): State => {
  if (state.next === undefined || !same(state.next, members)) return state
  const count = state.count + 1
  return { ...state, next: undefined, count, claim: { id: `${state.term}.${count}`, members } }
}

/** What a lease says of the claim, in the given term. */
export const said = ({ claim, term }: State, writing: number): Readonly<Record<string, string | undefined>> =>
  claim === undefined || term !== writing
    ? { [annotations.members]: undefined, [annotations.claim]: undefined }
    : { [annotations.members]: claim.members.join(","), [annotations.claim]: claim.id }

/** What decides about an object: the lists that have to give it to this replica, and what others claim. */
export interface Ground {
  readonly me: string
  readonly lists: ReadonlyArray<ReadonlyArray<string>>
  readonly others: ReadonlyArray<{ readonly identity: string; readonly members: ReadonlyArray<string> }>
}

/** Nothing belongs to who stands on it. */
export const nowhere: Ground = { me: "", lists: [], others: [] }

export const ground = (state: State): Ground => {
  const { claim, confirmed, me, next } = state
  if (confirmed === undefined) return nowhere
  // What is not yet said has to hold as well: nothing is begun that would have to be stopped.
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

/** How the hashes of members begin, which are the same for all keys. */
const begun = new WeakMap<ReadonlyArray<string>, ReadonlyArray<Fingerprint.Begun>>()

const begunOf = (members: ReadonlyArray<string>): ReadonlyArray<Fingerprint.Begun> => {
  const known = begun.get(members) ?? members.map((member) => Fingerprint.begin(`${member} `))
  begun.set(members, known)
  return known
}

/** To whom of them an object belongs: whose name and the key have the greatest hash. */
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

/** Whether this replica may begin to work on the object of a key. */
export const owns = ({ lists, me, others }: Ground, key: string): boolean =>
  lists.length > 0 &&
  lists.every((members) => ownerOf(members, key) === me) &&
  others.every(({ identity, members }) => ownerOf(members, key) !== identity)
