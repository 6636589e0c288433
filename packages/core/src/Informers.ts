/**
 * `Informers`: the reflectors and stores of a manager, one per kind and selection, shared by whoever asks for it.
 *
 * An informer starts with its first user and stops after its last: both are scopes. Accepted writes of the client in
 * context, whoever makes them, are laid over every store they concern, which is what makes reads see own writes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { Delta } from "./Delta.ts"
import { KubeClient, type Selection } from "./KubeClient.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Reflector from "./Reflector.ts"
import * as Resource from "./Resource.ts"
import { fieldsText, labelsText, matchesFields, matchesLabels, parseFields, toLabels } from "./Selector.ts"
import { Store } from "./Store.ts"
import type { Supervisor } from "./Supervisor.ts"

/** Takes deltas of one informer, in order, synchronously. `initial`: of what was there from the start. */
export type Subscriber = (deltas: ReadonlyArray<Delta>, initial: boolean) => void

export interface Informer {
  readonly resource: Resource.Any
  readonly selection: Selection
  readonly store: Store<KubeObject>
  readonly status: SubscriptionRef.SubscriptionRef<Reflector.Status>
  /** Completes when the first list is in the store. */
  readonly synced: Effect.Effect<void>
  /** From now on: first what is there, as additions, then every delta, with nothing lost or twice in between. */
  readonly subscribe: (subscriber: Subscriber) => Effect.Effect<void, never, Scope.Scope>
}

/** What an informer is asked for by. */
export interface Options extends Selection {
  readonly resource: Resource.Any
  readonly indexedLabels?: ReadonlyArray<string> | undefined
}

export class Informers extends Context.Service<Informers, {
  /** The informer of a selection, started if nobody has it, kept until the scope closes. */
  readonly get: (options: Options) => Effect.Effect<Informer, never, Scope.Scope>
  /** The informers in use. */
  readonly active: () => ReadonlyArray<Informer>
}>()("@effect-operator/core/Informers") {}

/** Informers over the client in context, their reflectors run by the supervisor. */
export const layer = (supervisor: Supervisor): Layer.Layer<Informers, never, KubeClient> =>
  Layer.effect(
    Informers,
    Effect.gen(function*() {
      const client = yield* KubeClient
      const wanted = new Map<string, Options>()
      const active = new Map<string, Informer>()

      const start = Effect.fnUntraced(function*(id: string) {
        const options = wanted.get(id)!
        const { indexedLabels = [], resource, ...selection } = options
        const store = new Store<KubeObject>({ resource, matches: matcher(selection), indexedLabels })
        const subscribers = new Set<Subscriber>()
        const publish = (deltas: ReadonlyArray<Delta>, initial: boolean): void => {
          if (deltas.length === 0) return
          for (const subscriber of subscribers) subscriber(deltas, initial)
        }
        const reflector = yield* Reflector.make(client, resource, selection, {
          replace: (items, resourceVersion) => {
            const initial = store.resourceVersion === "0"
            publish(store.replace(items, resourceVersion), initial)
          },
          apply: (events) => publish(store.apply(events), false)
        })
        yield* supervisor.run(`reflector ${id}`, reflector.run)
        const informer: Informer = {
          resource,
          selection,
          store,
          status: reflector.status,
          synced: reflector.synced,
          subscribe: (subscriber) =>
            Effect.asVoid(Effect.acquireRelease(
              Effect.sync(() => {
                const existing = store.snapshot()
                if (existing.length > 0) subscriber(existing, true)
                subscribers.add(subscriber)
              }),
              () => Effect.sync(() => subscribers.delete(subscriber))
            ))
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => active.set(id, informer)),
          () => Effect.sync(() => active.delete(id))
        )
        return informer
      })

      const informers = yield* RcMap.make({ lookup: start })
      yield* client.observe((write) => {
        for (const { resource, store } of active.values()) if (resource.id === write.resource.id) store.overlay(write)
      })

      return Informers.of({
        get: (options) =>
          Effect.suspend(() => {
            const id = identify(options)
            wanted.set(id, options)
            return RcMap.get(informers, id)
          }),
        active: () => [...active.values()]
      })
    })
  )

/** Two asks with the same text share one informer. */
const identify = ({ fields, indexedLabels = [], labels, namespace, resource }: Options): string =>
  [resource.id, namespace ?? "", labelsText(labels) ?? "", fieldsText(fields) ?? "", indexedLabels.join(",")].join("|")

/** Whether an object belongs to a selection, judged here rather than by the server. */
const matcher = (selection: Selection) => {
  const labels = Result.getOrElse(toLabels(selection.labels), () => [])
  const fields = Result.getOrElse(parseFields(fieldsText(selection.fields) ?? ""), () => [])
  return (object: KubeObject): boolean =>
    (selection.namespace === undefined || object.metadata.namespace === selection.namespace) &&
    matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object)
}
