/**
 * What one watch of a kind has seen go, and another that overlaps it has not.
 *
 * Several selections of a kind are read as one, and each lags on its own: whoever is woken by the one that is ahead still
 * reads what the other knows, and the other may wake somebody else, or nobody. So what has left a selection, or is gone,
 * counts once more when it is read as it is then.
 */
import type { Reader } from "../Cache.ts"
import type { Informer, Subscriber } from "../Informers.ts"
import { compareResourceVersions, keyString, type KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import type { Watch } from "../Watch.ts"

type Store = Informer["store"]

interface Waiting {
  /** As which the object was read. */
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

  /** Takes the deltas of a watch, and those that counted too early once more. */
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

  /** Whether who knows an object has not come as far as another. */
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
