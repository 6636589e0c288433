/**
 * The watches of a controller that come and go while it runs.
 *
 * Each has an informer like the watches that are there from the start: shared by all who follow the same selection,
 * listed and watched by a reflector, shown in health, metrics and the report. A selection that stays wanted keeps its
 * informer, whatever else changes; one that is not wanted any more ends at once.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Delta } from "../Delta.ts"
import { idOf, type Informer, Informers, type Options, type Subscriber } from "../Informers.ts"
import { keyString } from "../KubeObject.ts"
import type { Watch } from "../Watch.ts"
import type { View } from "./reads.ts"

/** A selection that is followed, and the subscribers of its changes. */
interface Followed {
  watches: ReadonlyArray<Watch>
  subscribers: ReadonlyArray<Subscriber>
  readonly informer: Informer
  readonly scope: Scope.Closeable
}

/** A selection to follow, and the watches that need it. */
interface Wanted {
  readonly options: Options
  readonly watches: Array<Watch>
}

/** Makes an effect that follows the given watches, instead of those it was given before, until the scope closes. */
export const make = Effect.fnUntraced(function*(subscriberOf: (watch: Watch) => Subscriber, cache: View<string>) {
  const informers = yield* Informers
  const all = yield* Effect.scope
  const followed = new Map<string, Followed>()

  const begin = Effect.fnUntraced(function*(id: string, { options, watches }: Wanted) {
    const scope = yield* Scope.fork(all)
    const informer = yield* Scope.provide(informers.get(options), scope).pipe(
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    const one: Followed = { watches, subscribers: watches.map(subscriberOf), informer, scope }
    followed.set(id, one)
    yield* Scope.provide(
      informer.subscribe((deltas, initial) => {
        for (const subscriber of one.subscribers) subscriber(deltas, initial)
      }),
      scope
    )
  })

  /** Continues with other watches: existing objects wake those keys that they did not wake before. */
  const goOn = (one: Followed, watches: ReadonlyArray<Watch>): void => {
    const before = one.watches
    one.watches = watches
    one.subscribers = watches.map(subscriberOf)
    for (const [i, watch] of watches.entries()) {
      if (before.includes(watch)) continue
      const news = one.informer.store.snapshot().filter((delta) => concernsMore(watch, before, delta, cache))
      if (news.length > 0) one.subscribers[i]!(news, true)
    }
  }

  const end = (id: string, { scope }: Followed) =>
    Effect.andThen(Effect.sync(() => followed.delete(id)), Scope.close(scope, Exit.void))

  return (watches: ReadonlyArray<Watch>): Effect.Effect<void> =>
    Effect.uninterruptible(Effect.gen(function*() {
      const wanted = selections(watches)
      for (const [id, one] of followed) if (!wanted.has(id)) yield* end(id, one)
      for (const [id, one] of wanted) {
        const existing = followed.get(id)
        if (existing === undefined) yield* begin(id, one)
        else goOn(existing, one.watches)
      }
    }))
})

/** Whether an object concerns a key by one watch that it does not concern by any of the others. */
const concernsMore = (
  watch: Watch,
  others: ReadonlyArray<Watch>,
  delta: Delta,
  cache: View<string>
): boolean => {
  if (delta._tag === "Invalid") return false
  const concerned = ({ map, predicate }: Watch) =>
    predicate?.(delta) === false ? [] : map(delta.object, cache).map(keyString)
  try {
    const known = new Set(others.flatMap(concerned))
    return concerned(watch).some((key) => !known.has(key))
  } catch {
    // The subscriber reports what is wrong with the object.
    return true
  }
}

const selections = (watches: ReadonlyArray<Watch>): Map<string, Wanted> => {
  const wanted = new Map<string, Wanted>()
  for (const watch of watches) {
    const { fields, indexedLabels, labels, namespaces = [undefined], resource } = watch
    for (const namespace of namespaces) {
      const options = { resource, namespace, labels, fields, indexedLabels }
      const id = idOf(options)
      const existing = wanted.get(id)
      if (existing === undefined) wanted.set(id, { options, watches: [watch] })
      else existing.watches.push(watch)
    }
  }
  return wanted
}
