/**
 * The rollout as a function: from the sets there are to the sets there should be next.
 *
 * The promise: once `replicas - maxUnavailable` Pods are ready, no decision of ours makes them fewer. It holds because a
 * set counts for no more than it was told to have, and nothing old shrinks before every set has answered what it was
 * told last: a number from before a change says nothing about what is there after it.
 */

/** One revision and its set. */
export interface Revision {
  readonly name: string
  readonly image: string
  readonly revision: number
  /** How many Pods it is told to have. */
  readonly replicas: number
  /** How many it said are ready. */
  readonly active: number
  /** Whether it has answered what it was told last. */
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

/** Figures that hold unless the spec says otherwise. */
export const defaults = { maxSurge: 1, maxUnavailable: 0, revisionHistoryLimit: 10 } as const

/** How many Pods are ready at least: no more of each set than it is to keep. */
export const available = (sets: ReadonlyArray<Revision>): number =>
  sets.reduce((sum, { active, replicas }) => sum + Math.min(active, replicas), 0)

export const total = (sets: ReadonlyArray<Revision>): number => sets.reduce((sum, { replicas }) => sum + replicas, 0)

/** The sets there should be: that of the image wanted first, the others from the oldest to the youngest. */
export const next = (wish: Wish, sets: ReadonlyArray<Revision>): readonly [Revision, ...ReadonlyArray<Revision>] => {
  const maxSurge = wish.maxSurge ?? defaults.maxSurge
  // With neither more nor fewer Pods than wanted nothing could move.
  const maxUnavailable = Math.max(wish.maxUnavailable ?? defaults.maxUnavailable, maxSurge === 0 ? 1 : 0)
  const byAge = sets.toSorted((a, b) => a.revision - b.revision)
  const found = byAge.findLast(({ image }) => image === wish.image)
  const old = byAge.filter((set) => set !== found)
  const newest = byAge.at(-1)?.revision ?? 0

  // An image that had a set gets that one back, as the newest revision.
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

/** Old sets, made smaller as far as `needed` of their ready Pods stay: first what is not ready, then the oldest. */
const shrink = (old: ReadonlyArray<Revision>, needed: number): ReadonlyArray<Revision> => {
  const ready = old.map((set) => ({ ...set, replicas: Math.min(set.replicas, set.active) }))
  let spare = Math.max(0, available(ready) - Math.max(0, needed))
  return ready.map((set) => {
    const less = Math.min(spare, set.replicas)
    spare -= less
    return { ...set, replicas: set.replicas - less }
  })
}
