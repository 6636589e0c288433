/**
 * `Cache`: what a reconciler reads. Reads are local, and never older than the program's own writes.
 *
 * A controller's cache contains exactly what the controller declared with `for`, `owns` and `watches`. Reading a kind
 * that it did not declare does not compile: `Cache.list(Secret)` needs `Cached<"Secret.v1">`, which only a declaration
 * of Secret satisfies. Reading a namespace outside the declaration is a defect that says so, rather than an empty
 * answer.
 *
 * A read is as old as the watch lags, usually milliseconds. A write of this program is visible as soon as the server
 * has accepted it. If the answer did not show the new state (`scale`, an eviction, the deletion of a collection), a
 * read of the objects concerned waits until the watch has shown it. No other read waits. A read that would wait longer
 * than `defaults.patience` is a defect, and the reconcile is retried later.
 *
 * Objects are shared and deeply frozen when they are first read.
 *
 * Outside controllers, in a webhook or a program of its own, read the kinds of a `layer`.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { CacheIndex } from "./CacheIndex.ts"
import * as Informers from "./Informers.ts"
import * as Changes from "./internal/changes.ts"
import { freeze } from "./internal/freeze.ts"
import { makeReader, newest, onChange, type Reader, type Where } from "./internal/reader.ts"
import type { IndexOptions, ListOptions, ListOptionsOf, ReadOptions, View } from "./internal/reads.ts"
import { KubeClient } from "./KubeClient.ts"
import {
  compareResourceVersions,
  controllerOf,
  key as keyOf,
  keyString,
  type KubeObject,
  type ObjectRef
} from "./KubeObject.ts"
import { makeReadThrough, Remembered } from "./ReadThrough.ts"
import type * as Resource from "./Resource.ts"
import type { LabelsInput } from "./Selector.ts"
import * as Supervisor from "./Supervisor.ts"
import * as Watch from "./Watch.ts"

type Informer = Informers.Informer

export type { Change } from "./internal/changes.ts"
export { makeReader, type Reader } from "./internal/reader.ts"
export type { IndexOptions, ListOptions, ListOptionsOf, ReadOptions, View } from "./internal/reads.ts"
export * from "./ReadThrough.ts"

/** Default values. */
export const defaults = {
  /** How long a read waits for the watch to show an own write, and `awaitObserved` for its observation. */
  patience: "30 seconds"
} as const

/** The requirement that a kind is cached. It has no value at run time: `Controller.make` or `layer` discharges it. */
export interface Cached<out Id extends string> {
  readonly Cached: Id
}

/** The reader of one controller, or of a layer. */
export class CacheReader extends Context.Service<CacheReader, Reader>()("@effect-operator/core/Cache/CacheReader") {}

/** Whether objects are frozen when read. Freezing costs about as much as parsing, once per object. True by default. */
export const Frozen = Context.Reference<boolean>("@effect-operator/core/Cache/Frozen", { defaultValue: () => true })

/** The watch did not show the awaited state in time. */
export class NotObserved extends Schema.TaggedError<NotObserved>()("NotObserved", { message: Schema.String }) {}

/** The object with that key, or undefined. */
export const get = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  ref: ObjectRef,
  options: ReadOptions = {}
): Effect.Effect<A | undefined, never, Cached<Id>> =>
  reading(resource, { key: keyString(ref) }, options, (reader, frozen) => {
    const object = reader.get(resource, ref, options)
    return (object === undefined || !frozen ? object : freeze(object)) as A | undefined
  })

/** The matching objects, in no particular order. Uses the indexes of namespace, owner and labels where possible. */
export const list = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: ListOptionsOf<A> = {}
): Effect.Effect<ReadonlyArray<A>, never, Cached<Id>> =>
  reading(
    resource,
    { namespace: options.namespace },
    options,
    (reader, frozen) => all<A>(reader.list(resource, options as ListOptions), frozen)
  )

/** The objects an index files under a value, in no particular order. */
export const byIndex = <A extends KubeObject, Id extends string>(
  index: CacheIndex<A, Id>,
  value: string,
  options: IndexOptions = {}
): Effect.Effect<ReadonlyArray<A>, never, Cached<Id>> =>
  reading(
    index.resource,
    { namespace: options.namespace },
    options,
    (reader, frozen) => all<A>(reader.byIndex(index, value, options), frozen)
  )

/**
 * The objects that an owner controls and that do not decode, as JSON, as the watch showed them. `list` leaves them out.
 */
export const undecodable = <Id extends string>(
  resource: Resource.Resource<KubeObject, Id>,
  owner: KubeObject
): Effect.Effect<ReadonlyArray<KubeObject>, never, Cached<Id>> =>
  declared(
    CacheReader.use((reader) =>
      Effect.sync(() =>
        reader.covering(resource, undefined).flatMap(({ store }) =>
          [...store.invalid.values()].filter((object) => controllerOf(object)?.uid === owner.metadata.uid)
        )
      )
    )
  )

/**
 * What to wait for: the watch has passed a resourceVersion; the watch has reported an object at the version that a
 * write returned, or a later one; or the watched state of an object meets a condition.
 */
export type Observation<A> =
  | { readonly resourceVersion: string; readonly namespace?: string | undefined }
  | KubeObject
  | { readonly object: ObjectRef; readonly where: (object: A | undefined) => boolean }

/**
 * Waits until the watch itself has shown something, regardless of own writes in the overlay. If nothing of a kind
 * changes, only bookmarks make progress, about once a minute.
 */
export const awaitObserved = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  observation: Observation<A>,
  within: Duration.Input = defaults.patience
): Effect.Effect<void, NotObserved, Cached<Id>> =>
  declared(CacheReader.use((reader) => {
    const { namespace, seen, what } = condition(observation)
    const covers = reader.covering(resource, namespace)
    return until(covers, () => seen(covers), within, `Cache: ${resource.id}: ${what} was not seen`)
  }))

export interface ChangesOptions<A> {
  readonly namespace?: string | undefined
  readonly labels?: LabelsInput | undefined
  readonly filter?: ((object: A) => boolean) | undefined
}

/**
 * The current objects and then every change, without a gap: first one `Snapshot`, then additions, updates and deletions
 * as the watch reports them. Several selections of a kind make one stream, in which each object appears once.
 *
 * A reader that is slower than the changes gets fewer of them: for each object, the difference between the state it
 * received last and the current one. It neither delays the watch nor fills the memory.
 */
export const changes = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: ChangesOptions<A> = {}
): Stream.Stream<Changes.Change<A>, never, Cached<Id>> =>
  // The cast is sound for the reason given at `declared`.
  Stream.unwrap(
    CacheReader.use((reader) =>
      Effect.map(
        reader.filling(resource, options) ?? Effect.void,
        () => Changes.stream(reader.covering(resource, options.namespace), options as ChangesOptions<KubeObject>)
      )
    )
  ) as Stream.Stream<Changes.Change<any>, never, any>

/** A kind, or a selection of its objects. */
export type Selected = Resource.Any | Watch.Watch

/** The watch of a kind, or of a selection. */
export const watchOf = (kind: Selected): Watch.Watch => "resource" in kind ? kind : Watch.cached(kind)

type ResourceOf<S> = S extends Watch.Watch<infer R> ? R : S extends Resource.Any ? S : never

/** Distributes over a union of ids: one service for each that is known. */
export type CachedEach<Id> = Id extends string ? string extends Id ? never : Cached<Id> : never

/**
 * Caches kinds for code that is not a controller: webhook hooks, handlers of an API service, a program of its own.
 *
 * The layer does not wait for its lists. Each read waits for the lists it needs, so a webhook can start before kinds
 * that only its conversion makes readable. Reads see own writes as in a controller, and `live` remembers what it read.
 * A manager that is given the layer too shares its watches and includes them in its report, health and metrics; its
 * controllers may read these kinds, but changes of them wake no controller.
 *
 * Layers nest: code inside two of them reads the kinds of both. Of two layers that are merged side by side, the last
 * hides the other, so pass all kinds to one.
 *
 * ```ts
 * const operator = Manager.layer([websites]).pipe(
 *   Layer.provide(Webhook.layer({ hooks, … })),
 *   Layer.provide(Cache.layer([Namespace, Watch.cached(Secret, { namespaces: ["shop"] })])),
 *   Layer.provide(LiveClient.layer)
 * )
 * ```
 */
export const layer = <const S extends ReadonlyArray<Selected>>(
  kinds: S
): Layer.Layer<CachedEach<Resource.KnownIdOf<ResourceOf<S[number]>>> | Informers.Informers, never, KubeClient> =>
  Layer.effectContext(Effect.gen(function*() {
    const outer = yield* Effect.serviceOption(CacheReader)
    const around = yield* Effect.serviceOption(Informers.Informers)
    const client = yield* KubeClient
    const all = Option.isSome(around) && around.value.client === client
      ? around.value
      : Context.get(yield* Layer.build(Informers.layer(yield* Supervisor.make)), Informers.Informers)
    const informers: Array<Informer> = []
    for (const kind of kinds as ReadonlyArray<Selected>) {
      const { namespaces = [undefined], ...selection } = watchOf(kind)
      for (const namespace of namespaces) informers.push(yield* all.get({ ...selection, namespace }))
    }
    const remembered = makeReadThrough()
    yield* client.observe(remembered.wrote)
    const inner = makeReader(informers)
    return Context.make(Informers.Informers, all).pipe(
      Context.add(CacheReader, Option.isNone(outer) ? inner : layered(inner, outer.value)),
      Context.add(Remembered, remembered)
    ) as Context.Context<any>
  }))

/** Reads kinds from `inner`, and those that only `outer` has from `outer`. */
export const layered = (inner: Reader, outer: Reader): Reader => {
  const of = (resource: Resource.Any) => inner.has(resource) || !outer.has(resource) ? inner : outer
  return {
    has: (resource) => inner.has(resource) || outer.has(resource),
    filling: (resource, where) => of(resource).filling(resource, where),
    get: (resource, ref, options) => of(resource).get(resource, ref, options),
    list: (resource, options) => of(resource).list(resource, options),
    byIndex: (index, value, options) => of(index.resource).byIndex(index, value, options),
    stale: (resource, where) => of(resource).stale(resource, where),
    covering: (resource, namespace) => of(resource).covering(resource, namespace)
  }
}

/** A view of a reader. */
export const view = (reader: Reader): View<string> => ({
  get: <A extends KubeObject>(resource: Resource.Resource<A>, ref: ObjectRef) => {
    const object = reader.get(resource, ref, {})
    return (object === undefined ? undefined : freeze(object)) as A | undefined
  },
  list: <A extends KubeObject>(resource: Resource.Resource<A>, options: ListOptionsOf<A> = {}) =>
    all<A>(reader.list(resource, options as ListOptions), true),
  byIndex: <A extends KubeObject>(index: CacheIndex<A>, value: string, options: IndexOptions = {}) =>
    all<A>(reader.byIndex(index, value, options), true)
})

/**
 * The object of a key in these informers, once it is no older than own writes; for the worker that reconciles it. It is
 * looked up immediately, and again only if it has to wait.
 */
export const settled = (
  informers: ReadonlyArray<Informer>,
  key: string
): Effect.Effect<KubeObject | undefined, NotObserved> => {
  const found = () => {
    const object = newest(informers, key)
    return object === undefined ? undefined : freeze(object)
  }
  const isFresh = () => !informers.some(({ store }) => store.isStale(key))
  return isFresh() ? Effect.succeed(found()) : Effect.map(fresh(informers, isFresh, key, key), found)
}

/** Reads, once none of the requested objects is older than an own write. */
const reading = <B, Id extends string>(
  resource: Resource.Resource<KubeObject, Id>,
  where: Where,
  { consistency }: ReadOptions,
  read: (reader: Reader, frozen: boolean) => B
): Effect.Effect<B, never, Cached<Id>> =>
  declared(
    CacheReader.use((reader) =>
      Effect.flatMap(Frozen, (frozen) => {
        const now = Effect.suspend(() =>
          consistency === "watched" || !reader.stale(resource, where)
            ? Effect.succeed(read(reader, frozen))
            : fresh(
              reader.covering(resource, where.namespace),
              () => !reader.stale(resource, where),
              where.key,
              `${resource.id} ${where.key ?? ""}`
            ).pipe(Effect.orDie, Effect.map(() => read(reader, frozen)))
        )
        const filling = reader.filling(resource, where)
        return filling === undefined ? now : Effect.andThen(filling, now)
      })
    )
  )

const all = <A extends KubeObject>(objects: ReadonlyArray<KubeObject>, frozen: boolean): ReadonlyArray<A> => {
  if (frozen) { for (const object of objects) freeze(object) }
  return objects as ReadonlyArray<A>
}

/** Waits for the watch to show own writes. After the timeout, marks that were only guessed are given up. */
const fresh = (
  informers: ReadonlyArray<Informer>,
  isFresh: () => boolean,
  key: string | undefined,
  what: string
): Effect.Effect<void, NotObserved> =>
  Effect.catch(
    until(informers, isFresh, defaults.patience, `Cache: ${what}: a write of this process was not seen`),
    (error) => {
      for (const { store } of informers) store.giveUpGuesses(key)
      return isFresh() ? Effect.void : Effect.fail(error)
    }
  )

/** Waits until a condition on the informers' stores holds. If the condition throws, the waiting fiber dies. */
const until = (
  informers: ReadonlyArray<Informer>,
  holds: () => boolean,
  within: Duration.Input,
  message: string
): Effect.Effect<void, NotObserved> =>
  Effect.callback<void>((resume) => {
    // The writer of the stores calls this on behalf of all readers: an exception must not reach it.
    const ended = (): Effect.Effect<void> | undefined => {
      try {
        return holds() ? Effect.void : undefined
      } catch (defect) {
        return Effect.die(defect)
      }
    }
    const atOnce = ended()
    if (atOnce !== undefined) return resume(atOnce)
    const off = onChange(informers.map(({ store }) => store), () => {
      const end = ended()
      if (end === undefined) return
      off()
      resume(end)
    })
    return Effect.sync(off)
  }).pipe(
    Effect.timeoutOrElse({
      duration: within,
      orElse: () =>
        new NotObserved({ message: `${message} within ${Duration.format(Duration.fromInputUnsafe(within))}` })
    })
  )

const condition = <A extends KubeObject>(observation: Observation<A>): {
  readonly namespace: string | undefined
  readonly what: string
  readonly seen: (informers: ReadonlyArray<Informer>) => boolean
} => {
  if ("where" in observation) {
    const key = keyString(observation.object)
    return {
      namespace: keyOf(observation.object).namespace,
      what: `the awaited state of ${key}`,
      seen: (informers) => observation.where(newest(informers, key, true) as A | undefined)
    }
  }
  const passed = (resourceVersion: string, by: string): boolean => compareResourceVersions(by, resourceVersion) >= 0
  if ("metadata" in observation) {
    const key = keyString(observation)
    const { namespace, resourceVersion } = observation.metadata
    return {
      namespace,
      what: `${key} at resourceVersion ${resourceVersion}`,
      // The selection that is furthest ahead need not be the one that contains the object.
      seen: (informers) =>
        informers.every(({ store }) => passed(resourceVersion, store.resourceVersion)) ||
        informers.some(({ store }) => passed(resourceVersion, store.watched(key)?.metadata.resourceVersion ?? "0"))
    }
  }
  const { namespace, resourceVersion } = observation
  return {
    namespace,
    what: `resourceVersion ${resourceVersion}`,
    seen: (informers) => informers.every(({ store }) => passed(resourceVersion, store.resourceVersion))
  }
}

/**
 * Trades the reader, which the controller provides at run time, for the phantom requirement that names the kind. The
 * trade is sound because `Controller.make` removes exactly the requirements whose informers it builds the reader from.
 */
const declared = <A, E, Id extends string>(
  read: Effect.Effect<A, E, CacheReader>
): Effect.Effect<A, E, Cached<Id>> => read as Effect.Effect<A, E, any>
