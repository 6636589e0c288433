/**
 * `Informers`: the reflectors and stores of a manager, one per kind and selection, shared by all users.
 *
 * An informer starts with its first user and stops after its last: both are scopes. Accepted writes of the client in
 * context, whoever makes them, are laid over every store that they concern, which is why reads see own writes. That
 * includes writes through another version of the kind, or of the kind that a projection is made of.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { Delta } from "./Delta.ts"
import { type Client, KubeClient, type Selection, type Write } from "./KubeClient.ts"
import { compareResourceVersions, type KubeObject } from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import * as Reflector from "./Reflector.ts"
import type * as Resource from "./Resource.ts"
import { fieldsText, labelsText, matchesFields, matchesLabels, parseFields, toLabels } from "./Selector.ts"
import { Store } from "./Store.ts"
import type { Supervisor } from "./Supervisor.ts"

export const defaults = {
  /** Maximum number of informers whose last own write is recorded; the most recent ones are kept. */
  written: 200
} as const

/**
 * Receives the deltas of one informer, in order, synchronously. `initial` if they describe what existed from the start.
 */
export type Subscriber = (deltas: ReadonlyArray<Delta>, initial: boolean) => void

export interface Informer {
  readonly resource: Resource.Any
  readonly selection: Selection
  readonly store: Store<KubeObject>
  readonly status: SubscriptionRef.SubscriptionRef<Reflector.Status>
  /** When the server last sent something, in milliseconds since the epoch; undefined before that. */
  readonly lastEventAt: () => number | undefined
  /** How long ago that was, in milliseconds, by a monotonic clock. */
  readonly quietFor: () => number | undefined
  /** Completes when the first list is in the store. */
  readonly synced: Effect.Effect<void>
  /** Subscribes: first the existing objects as additions, then every delta. None is lost or repeated in between. */
  readonly subscribe: (subscriber: Subscriber) => Effect.Effect<void, never, Scope.Scope>
  /** Counts of its lists, watches and failures so far. */
  readonly traffic: () => Metrics.Traffic
  /** Number of subscribers. */
  readonly subscribers: () => number
}

/** Identifies the informer to get. */
export interface Options extends Selection {
  readonly resource: Resource.Any
  /** Label keys by whose values objects are found without a scan. Not part of the informer's identity. */
  readonly indexedLabels?: ReadonlyArray<string> | undefined
}

export class Informers extends Context.Service<Informers, {
  /** The client that lists and watches, and whose writes are visible at once. */
  readonly client: Client
  /** The informer of a selection, started for its first user and kept until the scope closes. */
  readonly get: (options: Options) => Effect.Effect<Informer, never, Scope.Scope>
  /** The informers in use. */
  readonly active: () => ReadonlyArray<Informer>
  /** By `idOf`: the resourceVersion of this client's last write that the watch of the informer is sure to show. */
  readonly written: () => ReadonlyMap<string, string>
}>()("@effect-operator/core/Informers") {}

/** Informers over the client in context; the supervisor runs their reflectors. */
export const layer = (supervisor: Supervisor): Layer.Layer<Informers, never, KubeClient> =>
  Layer.effect(
    Informers,
    Effect.gen(function*() {
      const client = yield* KubeClient
      const active = new Map<
        string,
        { readonly informer: Informer; readonly matches: (object: KubeObject) => boolean }
      >()

      const start = Effect.fnUntraced(function*({ id, resource, selection }: Wanted) {
        const matches = matcher(selection)
        const store = new Store<KubeObject>({
          resource,
          matches,
          covers: ({ namespace }) => selection.namespace === undefined || selection.namespace === namespace,
          filtered: (labelsText(selection.labels) ?? "") !== "" || (fieldsText(selection.fields) ?? "") !== ""
        })
        const subscribers = new Set<Subscriber>()
        const publish = (deltas: ReadonlyArray<Delta>, initial: boolean): void => {
          if (deltas.length === 0) return
          for (const subscriber of subscribers) subscriber(deltas, initial)
        }
        const traffic = Metrics.traffic(client)
        const reflector = yield* Reflector.make(traffic.client, resource, selection, {
          replace: (items, resourceVersion) => {
            const initial = store.resourceVersion === "0"
            // The server was restored, and may never come to what was written before.
            if (isOlder(resourceVersion, store.resourceVersion)) written.delete(id)
            publish(store.replace(items, resourceVersion), initial)
          },
          apply: (events) => publish(store.apply(events), false)
        })
        const informer: Informer = {
          resource,
          selection,
          store,
          status: reflector.status,
          lastEventAt: reflector.lastEventAt,
          quietFor: reflector.quietFor,
          synced: reflector.synced,
          traffic: traffic.now,
          subscribers: () => subscribers.size,
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
        const entry = { informer, matches }
        // Before anything is read: otherwise a write could be missing from both the list and the overlay.
        yield* Effect.acquireRelease(
          Effect.sync(() => active.set(id, entry)),
          // A successor that started while this one ends has already taken its place.
          () => Effect.sync(() => active.get(id) === entry && active.delete(id))
        )
        yield* Metrics.forWatch(informer, traffic.now)
        yield* supervisor.run(`reflector ${id}`, reflector.run)
        return informer
      })

      const informers = yield* RcMap.make({ lookup: start })
      const written = new Map<string, string>()
      yield* client.observe((write) => {
        for (const [id, { informer: { resource, store }, matches }] of active) {
          const seen = as(resource, write)
          if (seen === undefined) continue
          store.overlay(seen)
          // Only what the watch is sure to show.
          if (seen._tag !== "Written" || !matches(seen.object)) continue
          const { resourceVersion } = seen.object.metadata
          const last = written.get(id)
          // The most recent write is last. Answers may come in any order.
          written.delete(id)
          written.set(id, last !== undefined && isOlder(resourceVersion, last) ? last : resourceVersion)
        }
        for (const id of written.keys()) {
          if (written.size <= defaults.written) break
          written.delete(id)
        }
      })

      return Informers.of({
        client,
        get: (options) =>
          Effect.map(RcMap.get(informers, new Wanted(options)), (informer) => {
            if (isAnother(informer.resource, options.resource)) {
              throw new Error(
                `Informers: two different projections are named ${options.resource.id}: give each its own name`
              )
            }
            for (const label of options.indexedLabels ?? []) informer.store.indexLabel(label)
            return informer
          }),
        active: () => Array.from(active.values(), ({ informer }) => informer),
        written: () => written
      })
    })
  )

const isOlder = (a: string, b: string): boolean => compareResourceVersions(a, b) < 0

/** The identity of an informer: requests with the same text share one. */
export const idOf = ({ fields, labels, namespace, resource }: Options): string =>
  [resource.id, namespace ?? "", labelsText(labels) ?? "", fieldsText(fields) ?? ""].join("|")

class Wanted implements Equal.Equal {
  readonly id: string
  readonly resource: Resource.Any
  readonly selection: Selection

  constructor(options: Options) {
    const { fields, labels, namespace, resource } = options
    this.id = idOf(options)
    this.resource = resource
    this.selection = { fields, labels, namespace }
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof Wanted && that.id === this.id
  }

  [Hash.symbol](): number {
    return Hash.string(this.id)
  }
}

/** Whether two projections of a kind share a name: the objects of one would be read as those of the other. */
const isAnother = (a: Resource.Any, b: Resource.Any): boolean =>
  a.id.includes("/") && a.metadataOnly !== true && a.decode !== b.decode

/**
 * The write as it concerns objects of a resource. A write through another version shows only that the object changed.
 */
const as = (resource: Resource.Any, write: Write): Write | undefined => {
  const other = write.resource
  if (other.group !== resource.group || other.plural !== resource.plural || other.cluster !== resource.cluster) {
    return undefined
  }
  if (other.version === resource.version || write._tag !== "Written") return write
  const { name, namespace, resourceVersion, uid } = write.object.metadata
  const { subresource } = write
  return { _tag: "Changed", resource, key: { namespace, name }, uid, resourceVersion, subresource, answer: undefined }
}

/** Whether an object belongs to a selection, evaluated here rather than by the server. */
export const matcher = (selection: Selection): (object: KubeObject) => boolean => {
  const labels = Result.getOrElse(toLabels(selection.labels), () => [])
  const fields = Result.getOrElse(parseFields(fieldsText(selection.fields) ?? ""), () => [])
  return (object) =>
    (selection.namespace === undefined || object.metadata.namespace === selection.namespace) &&
    matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object)
}
