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

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** How long a read waits for the watch to show an own write, and `awaitObserved` for what it is asked for. */
  patience: "30 seconds"
} as const

/** The need for a cached kind, as a requirement of an Effect. Has no value: `Controller.make` or `layer` discharges it. */
export interface Cached<out Id extends string> {
  readonly Cached: Id
}

/** Reads of one controller, or of a layer. */
export class CacheReader extends Context.Service<CacheReader, Reader>()("@effect-operator/core/Cache/CacheReader") {}

/** Whether reads are frozen, which costs about what parsing the object did, once. True by default. */
export const Frozen = Context.Reference<boolean>("@effect-operator/core/Cache/Frozen", { defaultValue: () => true })

/** The watch did not show what was waited for. */
export class NotObserved extends Schema.TaggedError<NotObserved>()("NotObserved", { message: Schema.String }) {}

/** The object of that key, or undefined. */
export const get = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  ref: ObjectRef,
  options: ReadOptions = {}
): Effect.Effect<A | undefined, never, Cached<Id>> =>
  reading(resource, { key: keyString(ref) }, options, (reader, frozen) => {
    const object = reader.get(resource, ref, options)
    return (object === undefined || !frozen ? object : freeze(object)) as A | undefined
  })

/** The objects that match, in no particular order. Indexes of namespace, owner and labels help where they can. */
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
 * The objects that an owner controls and that do not decode, as JSON: what `list` leaves out. As the watch has shown them.
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
 * What is to be seen of a kind: that the watch has passed a resourceVersion; that it has reported on an object as a
 * write answered it, or on a later state; that the watched state of an object meets a condition.
 */
export type Observation<A> =
  | { readonly resourceVersion: string; readonly namespace?: string | undefined }
  | KubeObject
  | { readonly object: ObjectRef; readonly where: (object: A | undefined) => boolean }

/**
 * Waits until the watch has shown something, whatever own writes are laid over it. A kind of which nothing changes
 * makes progress by bookmarks alone, about once a minute.
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
 * What is there, and from then on every change of it, without a gap: first one `Snapshot`, then additions, updates and
 * deletions as the watch reports them. Several selections of a kind make one stream, with each object once in it.
 *
 * A reader that is slower than the changes gets fewer of them: of each object the difference from what it was told
 * last to how it is now. It neither holds up the watch nor fills the memory.
 */
export const changes = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: ChangesOptions<A> = {}
): Stream.Stream<Changes.Change<A>, never, Cached<Id>> =>
  // As for `declared`.
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

/** What a kind, or a selection, is followed by. */
export const watchOf = (kind: Selected): Watch.Watch => "resource" in kind ? kind : Watch.cached(kind)

type ResourceOf<S> = S extends Watch.Watch<infer R> ? R : S extends Resource.Any ? S : never

type CachedEach<Id> = Id extends string ? Cached<Id> : never

/**
 * Caches kinds for what is no controller: hooks of webhooks, handlers of an API service, a program of its own.
 *
 * The layer does not wait for its lists: a read does, of what it reads, so that a webhook can be there before the kinds
 * that only its conversion makes readable. Own writes are seen as in a controller, and `live` remembers. A manager that
 * is given the layer, too, shares its watches, and has them in its report, health and metrics; a controller of it may read
 * these kinds, and is woken by none of them.
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
): Layer.Layer<CachedEach<Resource.IdOf<ResourceOf<S[number]>>> | Informers.Informers, never, KubeClient> =>
  Layer.effectContext(Effect.gen(function*() {
    const supervisor = yield* Supervisor.make
    const context = yield* Layer.build(Informers.layer(supervisor))
    const all = Context.get(context, Informers.Informers)
    const informers: Array<Informer> = []
    for (const kind of kinds as ReadonlyArray<Selected>) {
      const { namespaces = [undefined], ...selection } = watchOf(kind)
      for (const namespace of namespaces) informers.push(yield* all.get({ ...selection, namespace }))
    }
    const remembered = makeReadThrough()
    yield* (yield* KubeClient).observe(remembered.wrote)
    return context.pipe(
      Context.add(CacheReader, makeReader(informers)),
      Context.add(Remembered, remembered)
    ) as Context.Context<any>
  }))

/** Reads of a reader, and of another one what it has not. */
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

/** A view of what a reader reads. */
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
 * The object of a key in these informers, once it is no older than the own writes; for whoever reconciles it. It is
 * looked up when this is called, and again only where it has to be waited for.
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

/** Reads, once nothing that is asked for is older than an own write. */
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

/** Waits for the watch to show own writes. What was but guessed of them is given up when it takes too long. */
const fresh = (
  informers: ReadonlyArray<Informer>,
  isFresh: () => boolean,
  key: string | undefined,
  what: string
): Effect.Effect<void, NotObserved> =>
  Effect.catch(until(informers, isFresh, defaults.patience, `Cache: ${what}: an own write was not seen`), (error) => {
    for (const { store } of informers) store.giveUpGuesses(key)
    return isFresh() ? Effect.void : Effect.fail(error)
  })

/** Waits until something holds of the informers' stores. A condition that throws is a defect of whoever waits. */
const until = (
  informers: ReadonlyArray<Informer>,
  holds: () => boolean,
  within: Duration.Input,
  message: string
): Effect.Effect<void, NotObserved> =>
  Effect.callback<void>((resume) => {
    // Whoever writes the stores calls this, for all who read them: what is thrown here must not come to them.
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
      what: `the state of ${key}`,
      seen: (informers) => observation.where(newest(informers, key, true) as A | undefined)
    }
  }
  const passed = (resourceVersion: string, by: string): boolean => compareResourceVersions(by, resourceVersion) >= 0
  if ("metadata" in observation) {
    const key = keyString(observation)
    const { namespace, resourceVersion } = observation.metadata
    return {
      namespace,
      what: `${key} of resourceVersion ${resourceVersion}`,
      // Of several selections one that has gone further need not be where it is to be seen.
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
