/**
 * The rollout as a pure function: from the sets that exist to the sets that should exist next.
 *
 * The promise: once `replicas - maxUnavailable` Pods are ready, no decision made here makes them fewer. It holds
 * because a set counts for no more Pods than its spec asks for, and no old set shrinks before every set has observed
 * its latest spec: a status from before a change says nothing about the Pods after it.
 */

/** A revision and its set. */
export interface Revision {
  readonly name: string
  readonly image: string
  readonly revision: number
  /** The number of Pods in its spec. */
  readonly replicas: number
  /** The number of ready Pods in its status. */
  readonly active: number
  /** Whether its status reflects its latest spec. */
  readonly answered: boolean
}

export interface Wish {
  readonly name: string
  readonly image: string
  readonly replicas: number
  readonly maxSurge?: number
  readonly maxUnavailable?: number
  readonly revisionHistoryLimit?: number
}

/** Defaults, unless the spec overrides them. */
export const defaults = { maxSurge: 1, maxUnavailable: 0, revisionHistoryLimit: 10 } as const

/** The number of Pods that stay ready: of each set at most as many as its spec asks for. */
export const available = (sets: ReadonlyArray<Revision>): number =>
  sets.reduce((sum, { active, replicas }) => sum + Math.min(active, replicas), 0)

export const total = (sets: ReadonlyArray<Revision>): number => sets.reduce((sum, { replicas }) => sum + replicas, 0)

/** The sets that should exist: first the one of the wanted image, then the others from oldest to newest. */
export const next = (wish: Wish, sets: ReadonlyArray<Revision>): readonly [Revision, ...ReadonlyArray<Revision>] => {
  const maxSurge = wish.maxSurge ?? defaults.maxSurge
  // If both were 0, the rollout could not make progress.
  const maxUnavailable = Math.max(wish.maxUnavailable ?? defaults.maxUnavailable, maxSurge === 0 ? 1 : 0)
  const byAge = sets.toSorted((a, b) => a.revision - b.revision)
  const found = byAge.findLast(({ image }) => image === wish.image)
  const old = byAge.filter((set) => set !== found)
  const newest = byAge.at(-1)?.revision ?? 0

  // An image that already has a set reuses it, as the newest revision.
  const before = found ?? { name: `${wish.name}-${newest + 1}`, image: wish.image, replicas: 0, active: 0 }
  const room = Math.max(0, wish.replicas + maxSurge - total(byAge))
  const current: Revision = {
    answered: false,
    ...before,
    revision: found !== undefined && found.revision === newest ? newest : newest + 1,
    replicas: Math.min(wish.replicas, before.replicas + room)
  }
  const shrunk = sets.every(({ answered }) => answered)
    ? shrink(old, wish.replicas - maxUnavailable - available([current]))
    : old

  const limit = wish.revisionHistoryLimit ?? defaults.revisionHistoryLimit
  const history = shrunk.filter(({ answered, replicas }) => replicas === 0 && answered)
  const forgotten = history.slice(0, Math.max(0, history.length - limit))
  return [current, ...shrunk.filter((set) => !forgotten.includes(set))]
}

/**
 * Scales down old sets while `needed` of their ready Pods remain: first the unready Pods, then those of the oldest set.
 */
const shrink = (old: ReadonlyArray<Revision>, needed: number): ReadonlyArray<Revision> => {
  const ready = old.map((set) => ({ ...set, replicas: Math.min(set.replicas, set.active) }))
  let spare = Math.max(0, available(ready) - Math.max(0, needed))
  return ready.map((set) => {
    const less = Math.min(spare, set.replicas)
    spare -= less
    return { ...set, replicas: set.replicas - less }
  })
}
