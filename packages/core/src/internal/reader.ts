/**
 * Reads over the informers of one controller, or of a layer. Several selections of a kind are read as one, with each
 * object once, in its newest state.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { CacheIndex } from "../CacheIndex.ts"
import type { Informer } from "../Informers.ts"
import {
  compareResourceVersions,
  key as keyOf,
  keyString,
  type KubeObject,
  type ObjectRef,
  parseKey
} from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import { parsed } from "../Unparsed.ts"
import { type LabelSelector, matchesLabels, toLabels } from "../Selector.ts"
import type { IndexOptions, ListOptions, ReadOptions } from "./reads.ts"

type Store = Informer["store"]

/** What is read: an object, a namespace, or everything. */
export interface Where {
  readonly key?: string | undefined
  readonly namespace?: string | undefined
}

/** The stored objects, as they are now. */
export interface Reader {
  readonly has: (resource: Resource.Any) => boolean
  /**
   * Completes when all that may hold objects of that key or namespace have their first list; undefined if they have.
   */
  readonly filling: (resource: Resource.Any, where: Where) => Effect.Effect<void> | undefined
  readonly get: (resource: Resource.Any, ref: ObjectRef, options?: ReadOptions) => KubeObject | undefined
  readonly list: (resource: Resource.Any, options: ListOptions) => ReadonlyArray<KubeObject>
  readonly byIndex: (index: CacheIndex, value: string, options: IndexOptions) => ReadonlyArray<KubeObject>
  /** Whether anything of a key, or of a namespace, is older than an own write. */
  readonly stale: (resource: Resource.Any, where: Where) => boolean
  /** The informers that may hold objects of a namespace; a defect if the declaration leaves it out. */
  readonly covering: (resource: Resource.Any, namespace: string | undefined) => ReadonlyArray<Informer>
}

/** A reader over informers. */
export const makeReader = (informers: ReadonlyArray<Informer>): Reader => {
  const byKind = new Map<string, Array<Informer>>()
  let full = false
  for (const informer of informers) {
    const existing = byKind.get(informer.resource.id)
    if (existing === undefined) byKind.set(informer.resource.id, [informer])
    else if (!existing.includes(informer)) existing.push(informer)
  }

  const covering = (resource: Resource.Any, namespace: string | undefined): ReadonlyArray<Informer> => {
    const all = byKind.get(resource.id) ?? []
    if (all.length === 1 && all[0]!.selection.namespace === undefined) return all
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

  /** The matching objects of the informers, each once, in its newest state. */
  const collect = (
    covers: ReadonlyArray<Informer>,
    watched: boolean,
    candidates: (informer: Informer) => Iterable<KubeObject>,
    matches: (object: KubeObject) => boolean
  ): ReadonlyArray<KubeObject> => {
    const found: Array<KubeObject> = []
    const seen = new Set<string>()
    for (const informer of covers) {
      for (const object of watched ? informer.store.watchedValues() : candidates(informer)) {
        if (!matches(object)) continue
        if (covers.length > 1) {
          const key = keyString(object)
          if (seen.has(key) || newest(covers, key, watched) !== object) continue
          seen.add(key)
        }
        found.push(object)
      }
    }
    return found
  }

  return {
    covering,
    has: ({ id }) => byKind.has(id),
    filling: ({ id }, where) => {
      // Once a store has a list, it keeps one.
      full ||= informers.every(hasList)
      if (full) return undefined
      const namespace = where.key === undefined ? where.namespace : parseKey(where.key).namespace
      const empty = (byKind.get(id) ?? []).filter((informer) =>
        !hasList(informer) && (informer.selection.namespace === undefined || namespace === undefined ||
          informer.selection.namespace === namespace)
      )
      return empty.length === 0 ? undefined : Effect.forEach(empty, ({ synced }) => synced, { discard: true })
    },
    get: (resource, ref, options) => {
      const key = keyOf(ref)
      return newest(covering(resource, key.namespace), keyString(key), isWatched(options))
    },
    list: (resource, options) => {
      const selector = toSelector(options.labels)
      const { filter, namespace } = options
      const owner = typeof options.owner === "object" ? options.owner.metadata.uid : options.owner
      return collect(
        covering(resource, namespace),
        isWatched(options),
        (informer) => narrowest(informer, namespace, owner, selector),
        (object) =>
          (namespace === undefined || object.metadata.namespace === namespace) &&
          (owner === undefined || object.metadata.ownerReferences?.some(({ uid }) => uid === owner) === true) &&
          matchesLabels(selector, object.metadata.labels) && (filter === undefined || filter(object))
      )
    },
    byIndex: (index, value, options) => {
      const { namespace } = options
      const watched = isWatched(options)
      return collect(
        covering(index.resource, namespace),
        watched,
        ({ store }) => store.lookup(index, value)!,
        (object) =>
          (namespace === undefined || object.metadata.namespace === namespace) &&
          (!watched || index.valuesOf(object).includes(value))
      )
    },
    stale: (resource, { key, namespace }) => {
      const covers = covering(resource, key === undefined ? namespace : parseKey(key).namespace)
      if (key !== undefined) return covers.some(({ store }) => store.isStale(key))
      return covers.some(({ store }) =>
        store.staleKeys().some((key) => namespace === undefined || parseKey(key).namespace === namespace)
      )
    }
  }
}

const hasList = ({ store }: Informer): boolean => store.resourceVersion !== "0"

const isWatched = (options: ReadOptions | undefined): boolean => options?.consistency === "watched"

/** The newest state of an object: selections may overlap, and each lags on its own. */
export const newest = (
  informers: ReadonlyArray<Informer>,
  key: string,
  watched = false
): KubeObject | undefined => {
  let best: KubeObject | undefined
  for (const { store } of informers) {
    const object = watched ? store.watched(key) : store.get(key)
    if (object === undefined) continue
    const newer = best === undefined ||
      compareResourceVersions(object.metadata.resourceVersion, best.metadata.resourceVersion) > 0
    if (newer) best = object
  }
  return best
}

/** The requirements of `labels`; a defect if they do not parse. */
export const toSelector = (labels: ListOptions["labels"]): LabelSelector =>
  Result.getOrThrowWith(toLabels(labels), (why) => new Error(`Cache: labels: ${JSON.stringify(labels)}: ${why}`))

/** The fewest candidates that an index offers; all objects if there is none. */
const narrowest = (
  { selection, store }: Informer,
  namespace: string | undefined,
  owner: string | undefined,
  selector: LabelSelector
): Iterable<KubeObject> => {
  let best: { readonly size: number; readonly values: () => Iterable<KubeObject> } = {
    size: store.size,
    values: () => store.values()
  }
  const offer = (index: string, values: ReadonlyArray<string>): void => {
    const buckets: Array<ReadonlyMap<string, KubeObject>> = []
    for (const value of values) {
      const bucket = store.bucket(index, value)
      if (bucket === undefined) return
      buckets.push(bucket)
    }
    const size = buckets.reduce((sum, bucket) => sum + bucket.size, 0)
    if (size < best.size) {
      best = {
        size,
        values: () => buckets.flatMap((bucket) => Array.from(bucket.values(), parsed))
      }
    }
  }
  if (owner !== undefined) offer("owner", [owner])
  for (const requirement of selector) {
    if (requirement.operator === "=") offer(`label:${requirement.key}`, [requirement.value])
    else if (requirement.operator === "in") offer(`label:${requirement.key}`, requirement.values)
  }
  if (namespace !== undefined && selection.namespace === undefined) offer("namespace", [namespace])
  return best.values()
}

/** Calls the listener on every change of one of the stores, until the returned function is called. */
export const onChange = (stores: ReadonlyArray<Store>, listener: () => void): () => void => {
  const stop = stores.map((store) => store.onChange(listener))
  return () => {
    for (const off of stop) off()
  }
}
