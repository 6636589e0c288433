/**
 * The watches of a controller that come and go while it runs.
 *
 * Each has an informer like those that are there from the start: shared with whoever follows the same selection, listed
 * and watched by a reflector, seen in health, metrics and the report. A selection that stays wanted keeps its informer,
 * whatever else changes; one that nobody wants any more ends at once.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { idOf, Informers, type Options, type Subscriber } from "../Informers.ts"
import type { Watch } from "../Watch.ts"

/** A selection that is followed, and whom its changes are told. */
interface Followed {
  subscribers: ReadonlyArray<Subscriber>
  readonly scope: Scope.Closeable
}

/** What a selection is followed for. */
interface Wanted {
  readonly options: Options
  readonly watches: Array<Watch>
}

/** Follows what is wanted, until the scope closes: what the effect is given replaces what it was given before. */
export const make = Effect.fnUntraced(function*(subscriberOf: (watch: Watch) => Subscriber) {
  const informers = yield* Informers
  const all = yield* Effect.scope
  const followed = new Map<string, Followed>()

  const begin = Effect.fnUntraced(function*(id: string, { options, watches }: Wanted) {
    const one: Followed = { subscribers: watches.map(subscriberOf), scope: yield* Scope.fork(all) }
    followed.set(id, one)
    const informer = yield* Scope.provide(informers.get(options), one.scope)
    yield* Scope.provide(
      informer.subscribe((deltas, initial) => {
        for (const subscriber of one.subscribers) subscriber(deltas, initial)
      }),
      one.scope
    )
  })

  const end = (id: string, { scope }: Followed) =>
    Effect.andThen(Effect.sync(() => followed.delete(id)), Scope.close(scope, Exit.void))

  return (watches: ReadonlyArray<Watch>): Effect.Effect<void> =>
    Effect.uninterruptible(Effect.gen(function*() {
      const wanted = selections(watches)
      for (const [id, one] of followed) if (!wanted.has(id)) yield* end(id, one)
      for (const [id, one] of wanted) {
        const existing = followed.get(id)
        if (existing === undefined) yield* begin(id, one)
        else existing.subscribers = one.watches.map(subscriberOf)
      }
    }))
})

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
