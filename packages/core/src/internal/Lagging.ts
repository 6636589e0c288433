/**
 * Deletions that one watch of a kind has seen, and an overlapping one has not.
 *
 * Several selections of a kind are read as one, but each lags on its own: those woken by the watch that is ahead still
 * read what the other one has, and the other one may wake somebody else, or nobody. So the delta of an object that left
 * a selection, or is gone, is passed on once more when reads show that.
 */
import type { Reader } from "../Cache.ts"
import type { Informer, Subscriber } from "../Informers.ts"
import { compareResourceVersions, keyString, type KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import type { Watch } from "../Watch.ts"

type Store = Informer["store"]

interface Waiting {
  /** The version at which the object was read. */
  readonly resourceVersion: string
  readonly again: () => void
}

export class Lagging {
  readonly #reader: Reader
  readonly #informers = new Map<string, Set<Informer>>()
  readonly #waiting = new Map<string, ReadonlyArray<Waiting>>()

  constructor(reader: Reader, informers: ReadonlyArray<Informer>) {
    this.#reader = reader
    for (const informer of informers) {
      const { id } = informer.resource
      this.#informers.set(id, (this.#informers.get(id) ?? new Set()).add(informer))
    }
  }

  /** Passes on the deltas of a watch, and once more those that came too early. */
  subscriber({ resource }: Watch, take: Subscriber): Subscriber {
    if (this.#informers.get(resource.id)!.size === 1) return take
    return (deltas, initial) => {
      take(deltas, initial)
      for (const delta of deltas) {
        if (delta._tag === "Invalid") continue
        const { object } = delta
        const key = keyString(object)
        const id = `${resource.id} ${key}`
        const now = this.#reader.get(resource, object)
        this.#settle(id, now)
        if (delta._tag === "Deleted" && now !== undefined && this.#isBehind(resource, key)) {
          const { resourceVersion } = now.metadata
          const waiting = { resourceVersion, again: () => take([delta], false) }
          this.#waiting.set(id, [...this.#waiting.get(id) ?? [], waiting])
        }
      }
    }
  }

  /** Whether an informer that has the object is behind another. */
  #isBehind({ id }: Resource.Any, key: string): boolean {
    const all = [...this.#informers.get(id)!].map(({ store }) => store)
    const isAhead = (one: Store, other: Store) =>
      compareResourceVersions(one.resourceVersion, other.resourceVersion) > 0
    return all.some((store) => store.get(key) !== undefined && all.some((other) => isAhead(other, store)))
  }

  #settle(id: string, now: KubeObject | undefined): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    const isThen = ({ resourceVersion }: Waiting) => resourceVersion === now?.metadata.resourceVersion
    const left = waiting.filter(isThen)
    if (left.length === 0) this.#waiting.delete(id)
    else this.#waiting.set(id, left)
    for (const one of waiting) if (!isThen(one)) one.again()
  }
}
