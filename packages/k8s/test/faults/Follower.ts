/**
 * One reflector under test, with a store, and everything it did on record: what it handed to the store, the deltas that
 * made of it, and every status it showed.
 */
import { type Delta, type KubeClient, type KubeObject, type Resource } from "@effect-operator/core"
import * as Reflector from "@effect-operator/core/Reflector"
import { Store } from "@effect-operator/core/Store"
import { Clock, Effect, type Scope, Stream, SubscriptionRef } from "effect"
import * as Oracle from "./Oracle.ts"

export interface Follower {
  readonly resource: Resource.Any
  readonly store: Store<KubeObject.KubeObject>
  readonly entries: ReadonlyArray<Oracle.Entry>
  readonly deltas: ReadonlyArray<Delta.Delta>
  /** Every status, with the time by the clock in context. */
  readonly statuses: ReadonlyArray<{ readonly at: number; readonly status: Reflector.Status }>
  readonly status: () => Reflector.Status
  /** The objects of the store, as the watch reported them. */
  readonly versions: () => ReadonlyMap<string, number>
}

export const make = Effect.fnUntraced(function*(
  client: KubeClient.Client,
  resource: Resource.Any,
  selection: KubeClient.Selection
): Effect.fn.Return<Follower, never, Scope.Scope> {
  const store = new Store<KubeObject.KubeObject>({
    resource,
    matches: ({ metadata }) => selection.namespace === undefined || metadata.namespace === selection.namespace
  })
  const entries: Array<Oracle.Entry> = []
  const deltas: Array<Delta.Delta> = []
  const clock = yield* Clock.Clock
  const reflector = yield* Reflector.make(client, resource, selection, {
    replace: (items, resourceVersion) => {
      entries.push({ _tag: "Replaced", items, resourceVersion })
      deltas.push(...store.replace(items, resourceVersion))
    },
    apply: (events) => {
      entries.push({ _tag: "Applied", events })
      deltas.push(...store.apply(events))
    }
  })
  const statuses: Array<Follower["statuses"][number]> = []
  yield* Effect.forkScoped(
    Stream.runForEach(
      SubscriptionRef.changes(reflector.status),
      (status) => Effect.sync(() => statuses.push({ at: clock.currentTimeMillisUnsafe(), status }))
    ),
    { startImmediately: true }
  )
  yield* client.observe((write) => {
    if (write.resource.id === resource.id) store.overlay(write)
  })
  yield* Effect.forkScoped(reflector.run)
  return {
    resource,
    store,
    entries,
    deltas,
    statuses,
    status: () => statuses.at(-1)?.status ?? { _tag: "Listing" },
    versions: () => {
      const versions = new Map<string, number>()
      for (const delta of store.snapshot()) {
        if (delta._tag === "Added") {
          versions.set(Oracle.keyOf(delta.object), Number(delta.object.metadata.resourceVersion))
        }
      }
      return versions
    }
  }
})
