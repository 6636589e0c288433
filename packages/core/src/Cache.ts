/**
 * `Cache`: what a reconciler reads. Local, synchronous, never older than the reconciler's own writes.
 *
 * A controller's cache is exactly what the controller declared with `for`, `owns` and `watches`. Reading a kind it did
 * not declare does not compile: `Cache.list(Secret)` needs `Cached<"Secret.v1">`, which only a declaration of Secret
 * discharges. Reading a namespace the declaration leaves out is a defect that says so, rather than an empty answer.
 *
 * Objects are shared and immutable. How old a read may be: as old as the watch lags, milliseconds as a rule; a write of
 * this program is visible as soon as the server accepted it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Informer } from "./Informers.ts"
import { compareResourceVersions, key as keyOf, keyString, type KubeObject, type ObjectRef } from "./KubeObject.ts"
import type * as Resource from "./Resource.ts"
import { type LabelSelector, type LabelsInput, matchesLabels, toLabels } from "./Selector.ts"

/** The need for a cached kind, as a requirement of an Effect. Has no value: `Controller.make` discharges it. */
export interface Cached<out Id extends string> {
  readonly Cached: Id
}

export interface ListOptions {
  /** One namespace; everything cached if absent. */
  readonly namespace?: string | undefined
  readonly labels?: LabelsInput | undefined
  /** Only objects with an owner reference to this object, or to the object of this uid. */
  readonly owner?: KubeObject | string | undefined
  readonly filter?: ((object: KubeObject) => boolean) | undefined
}

/** Reads of one controller. */
export class CacheReader extends Context.Service<CacheReader, {
  readonly get: (resource: Resource.Any, ref: ObjectRef) => KubeObject | undefined
  readonly list: (resource: Resource.Any, options: ListOptions) => ReadonlyArray<KubeObject>
}>()("@effect-operator/core/Cache/CacheReader") {}

/** The object of that key, or undefined. */
export const get = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  ref: ObjectRef
): Effect.Effect<A | undefined, never, Cached<Id>> =>
  declared(CacheReader.use((reader) => Effect.sync(() => reader.get(resource, ref) as A | undefined)))

/** The objects that match, in no particular order. */
export const list = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  options: Omit<ListOptions, "filter"> & { readonly filter?: ((object: A) => boolean) | undefined } = {}
): Effect.Effect<ReadonlyArray<A>, never, Cached<Id>> =>
  declared(
    CacheReader.use((reader) =>
      Effect.sync(() => reader.list(resource, options as ListOptions) as ReadonlyArray<KubeObject> as ReadonlyArray<A>)
    )
  )

/**
 * Trades the reader, which the controller provides at run time, for the phantom requirement that names the kind. The
 * trade is sound because `Controller.make` removes exactly the requirements whose informers it builds the reader from.
 */
const declared = <A, Id extends string>(
  read: Effect.Effect<A, never, CacheReader>
): Effect.Effect<A, never, Cached<Id>> => read as Effect.Effect<A, never, any>

/** A reader over the informers of one controller. */
export const makeReader = (informers: ReadonlyArray<Informer>): CacheReader["Service"] => {
  const byKind = new Map<string, Array<Informer>>()
  for (const informer of informers) {
    const existing = byKind.get(informer.resource.id)
    if (existing === undefined) byKind.set(informer.resource.id, [informer])
    else existing.push(informer)
  }

  /** The informers that may hold objects of a namespace; a defect if the declaration leaves it out. */
  const covering = (resource: Resource.Any, namespace: string | undefined): ReadonlyArray<Informer> => {
    const all = byKind.get(resource.id) ?? []
    const covers = all.filter(({ selection }) =>
      selection.namespace === undefined || namespace === undefined || selection.namespace === namespace
    )
    if (covers.length > 0) return covers
    const have = all.map(({ selection }) => selection.namespace ?? "all namespaces").join(", ")
    throw new Error(
      all.length === 0
        ? `Cache: ${resource.id} is not cached: add it to the controller's owns or watches`
        : `Cache: ${resource.id} is cached in ${have}, not in namespace ${namespace}: add it to the watch's namespaces`
    )
  }

  return {
    get: (resource, ref) => {
      const key = keyOf(ref)
      return newest(covering(resource, key.namespace), keyString(key))
    },
    list: (resource, options) => {
      const selector = toSelector(options.labels)
      const owner = typeof options.owner === "object" ? options.owner.metadata.uid : options.owner
      const found = new Map<string, KubeObject>()
      const covers = covering(resource, options.namespace)
      for (const { store } of covers) {
        for (const object of candidates(store, options.namespace, owner, selector)) {
          if (options.namespace !== undefined && object.metadata.namespace !== options.namespace) continue
          if (owner !== undefined && !object.metadata.ownerReferences?.some(({ uid }) => uid === owner)) continue
          if (!matchesLabels(selector, object.metadata.labels)) continue
          if (options.filter !== undefined && !options.filter(object)) continue
          const key = keyString(object)
          if (covers.length === 1 || newest(covers, key) === object) found.set(key, object)
        }
      }
      return [...found.values()]
    }
  }
}

/** The object as the informer knows it that is furthest: selections may overlap, and each lags on its own. */
const newest = (informers: ReadonlyArray<Informer>, key: string): KubeObject | undefined => {
  let best: KubeObject | undefined
  for (const { store } of informers) {
    const object = store.get(key)
    if (object === undefined) continue
    const newer = best === undefined ||
      compareResourceVersions(object.metadata.resourceVersion, best.metadata.resourceVersion) > 0
    if (newer) best = object
  }
  return best
}

const toSelector = (labels: ListOptions["labels"]): LabelSelector =>
  Result.getOrThrowWith(toLabels(labels), (why) => new Error(`Cache: labels: ${JSON.stringify(labels)}: ${why}`))

/** The smallest bucket an index offers for the question; everything if there is none. */
const candidates = (
  store: Informer["store"],
  namespace: string | undefined,
  owner: string | undefined,
  selector: LabelSelector
): Iterable<KubeObject> => {
  if (owner !== undefined) return store.lookup("owner", owner)!
  for (const requirement of selector) {
    if (requirement.operator !== "=") continue
    const bucket = store.lookup(`label:${requirement.key}`, requirement.value)
    if (bucket !== undefined) return bucket
  }
  return namespace === undefined ? store.values() : store.lookup("namespace", namespace)!
}
