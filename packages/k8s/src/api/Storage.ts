/**
 * `Storage`: the objects of an API server and their history, as etcd keeps them.
 *
 * One counter, the revision, increases by one with every change. It is the resourceVersion of the changed object. Every
 * change stays in an append-only log until it is compacted, so that earlier states can be read (for the pages of a
 * list) and a watch can start in the past.
 *
 * All operations are synchronous and atomic; `put` and `remove` take constant time, however much is stored. Stored
 * objects are deep-frozen and can be shared without copying. Listeners run inside the write, in order of registration.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WatchEvent } from "@effect-operator/core/WatchEvent"
import { freeze } from "./Plain.ts"

/** One committed change. */
export interface Change {
  /** The revision of the change; also the resourceVersion of `object`. */
  readonly revision: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** `pods`, `deployments.apps`. */
  readonly collection: string
  /** `namespace/name`, or `name`. */
  readonly key: string
  /** `""` in a cluster-scoped collection. */
  readonly namespace: string
  /** The new state; for a deletion the last state, with the deletion's resourceVersion. */
  readonly object: KubeObject
  /** The previous state; absent for a creation. */
  readonly previous?: KubeObject
  /** The watch event of the change, created once for all watches. */
  readonly event: WatchEvent
}

/** A sorted view of some objects. */
export interface Listing {
  readonly keys: ReadonlyArray<string>
  readonly get: (key: string) => KubeObject
}

/** The objects of a store at one moment; immutable, and shareable by any number of stores. */
export interface Image {
  readonly revision: number
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>
}

/** The order of a list: by bytes of the key. */
const byKey = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Objects by key; the keys are sorted when a list needs them. */
class Bucket {
  readonly objects = new Map<string, KubeObject>()
  private sorted: ReadonlyArray<string> | undefined

  set(key: string, object: KubeObject): void {
    if (!this.objects.has(key)) this.sorted = undefined
    this.objects.set(key, object)
  }

  delete(key: string): void {
    this.objects.delete(key)
    this.sorted = undefined
  }

  get keys(): ReadonlyArray<string> {
    return this.sorted ??= [...this.objects.keys()].sort(byKey)
  }
}

class Collection {
  /** Part of an image: must not change. */
  shared = false
  readonly all = new Bucket()
  readonly byNamespace = new Map<string, Bucket>()
  /** Changes in order of their revisions. */
  log: Array<Change> = []

  bucket(namespace: string): Bucket | undefined {
    return namespace === "" ? this.all : this.byNamespace.get(namespace)
  }

  set(key: string, namespace: string, object: KubeObject): void {
    this.all.set(key, object)
    if (namespace === "") return
    let bucket = this.byNamespace.get(namespace)
    if (bucket === undefined) this.byNamespace.set(namespace, bucket = new Bucket())
    bucket.set(key, object)
  }

  delete(key: string, namespace: string): void {
    this.all.delete(key)
    const bucket = this.byNamespace.get(namespace)
    if (bucket === undefined) return
    bucket.delete(key)
    if (bucket.objects.size === 0) this.byNamespace.delete(namespace)
  }
}

/** A collection of these objects, without history. */
const filled = (objects: ReadonlyMap<string, KubeObject>): Collection => {
  const collection = new Collection()
  for (const [key, object] of objects) collection.set(key, object.metadata.namespace ?? "", object)
  return collection
}

/** The collections of an image, created once for all stores that start from it. */
const shared = new WeakMap<Image, ReadonlyMap<string, Collection>>()

const collectionsOf = (image: Image): ReadonlyMap<string, Collection> => {
  let collections = shared.get(image)
  if (collections === undefined) {
    collections = new Map([...image.collections].map(([name, objects]) => [name, filled(objects)]))
    for (const collection of collections.values()) collection.shared = true
    shared.set(image, collections)
  }
  return collections
}

/** The index of the first change after a revision, in a log sorted by revision. */
const firstAfter = (log: ReadonlyArray<Change>, revision: number): number => {
  let low = 0
  let high = log.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (log[middle]!.revision <= revision) low = middle + 1
    else high = middle
  }
  return low
}

const emptyListing: Listing = {
  keys: [],
  get: () => {
    throw new RangeError("an empty listing has no objects")
  }
}

export class Storage {
  /** The newest revision. Starts at 1, as in etcd. */
  revision = 1
  /** History up to this revision is compacted. */
  compacted = 0
  private readonly collections = new Map<string, Collection>()
  private readonly listeners = new Set<(change: Change) => void>()
  private readonly pending: Array<Change> = []
  private log: Array<Change> = []
  private readonly historyLimit: number

  /** `historyLimit`: about how many changes are kept; when there are twice as many, the oldest are compacted. */
  constructor(historyLimit: number) {
    this.historyLimit = historyLimit
  }

  /** The collection, for a write: one that is shared with other stores is copied first. */
  private collection(name: string): Collection {
    let collection = this.collections.get(name)
    if (collection === undefined) this.collections.set(name, collection = new Collection())
    else if (collection.shared) this.collections.set(name, collection = filled(collection.all.objects))
    return collection
  }

  get(collection: string, key: string): KubeObject | undefined {
    return this.collections.get(collection)?.all.objects.get(key)
  }

  /** The number of objects in a collection, or in one namespace of it. */
  count(collection: string, namespace = ""): number {
    return this.collections.get(collection)?.bucket(namespace)?.objects.size ?? 0
  }

  /** Creates or replaces an object, which is frozen and gets the new resourceVersion. */
  put(collection: string, key: string, namespace: string, object: KubeObject): Change {
    const into = this.collection(collection)
    const previous = into.all.objects.get(key)
    const stored = this.stamp(object)
    into.set(key, namespace, stored)
    const type = previous === undefined ? "ADDED" : "MODIFIED"
    return this.commit(into, {
      revision: this.revision,
      type,
      collection,
      key,
      namespace,
      object: stored,
      ...(previous === undefined ? {} : { previous }),
      event: Object.freeze({ type, object: stored })
    })
  }

  /** Removes an object; `undefined` if there is none. */
  remove(collection: string, key: string, namespace: string): Change | undefined {
    const previous = this.get(collection, key)
    if (previous === undefined) return undefined
    const from = this.collection(collection)
    const last = this.stamp(previous)
    from.delete(key, namespace)
    return this.commit(from, {
      revision: this.revision,
      type: "DELETED",
      collection,
      key,
      namespace,
      object: last,
      previous,
      event: Object.freeze({ type: "DELETED", object: last })
    })
  }

  private stamp(object: KubeObject): KubeObject {
    this.revision += 1
    return freeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.revision) } })
  }

  private commit(collection: Collection, change: Change): Change {
    collection.log.push(change)
    this.log.push(change)
    if (this.log.length > 2 * this.historyLimit) {
      this.compact(this.log[this.log.length - this.historyLimit - 1]!.revision)
    }
    this.pending.push(change)
    // A listener may write: its changes are delivered after this one, to all listeners.
    if (this.pending.length === 1) {
      for (let next = this.pending[0]; next !== undefined; next = this.pending[0]) {
        for (const listener of this.listeners) listener(next)
        this.pending.shift()
      }
    }
    return change
  }

  /** The current objects of a collection, or of one namespace of it, sorted by key. */
  list(collection: string, namespace = ""): Listing {
    const bucket = this.collections.get(collection)?.bucket(namespace)
    return bucket === undefined
      ? emptyListing
      : { keys: bucket.keys, get: (key) => bucket.objects.get(key)! }
  }

  /** As `list`, at a revision that is neither compacted nor in the future. */
  listAt(collection: string, revision: number, namespace = ""): Listing {
    const source = this.collections.get(collection)
    if (source === undefined) return emptyListing
    const from = firstAfter(source.log, revision)
    if (from === source.log.length) return this.list(collection, namespace)
    const objects = new Map(source.bucket(namespace)?.objects)
    for (let at = source.log.length - 1; at >= from; at--) {
      const change = source.log[at]!
      if (namespace !== "" && change.namespace !== namespace) continue
      if (change.previous === undefined) objects.delete(change.key)
      else objects.set(change.key, change.previous)
    }
    return { keys: [...objects.keys()].sort(byKey), get: (key) => objects.get(key)! }
  }

  /** The changes of one collection, or of all, after a revision that is not compacted; oldest first. */
  changesAfter(revision: number, collection?: string): ReadonlyArray<Change> {
    const log = collection === undefined ? this.log : this.collections.get(collection)?.log ?? []
    return log.slice(firstAfter(log, revision))
  }

  /** Forgets the history up to a revision; the objects stay. A revision in the future means the newest. */
  compact(revision: number): void {
    const upTo = Math.min(revision, this.revision)
    if (upTo <= this.compacted) return
    this.compacted = upTo
    this.log = this.log.slice(firstAfter(this.log, upTo))
    for (const collection of this.collections.values()) {
      if (collection.log.length > 0) collection.log = collection.log.slice(firstAfter(collection.log, upTo))
    }
  }

  /** Every stored object, by collection and key. */
  snapshot(): ReadonlyArray<KubeObject> {
    return [...this.collections.keys()].sort(byKey).flatMap((name) => {
      const { get, keys } = this.list(name)
      return keys.map(get)
    })
  }

  /** An image of what is stored now, for other stores to start from. */
  image(): Image {
    const collections = [...this.collections].map(([name, { all }]) => [name, new Map(all.objects)] as const)
    return { revision: this.revision, collections: new Map(collections) }
  }

  /** Starts from an image. The store must be empty; its history starts here. */
  begin(image: Image): void {
    for (const [name, collection] of collectionsOf(image)) this.collections.set(name, collection)
    this.revision = image.revision
    this.compacted = image.revision
  }

  /** Calls the listener inside every later change; the returned function unsubscribes. */
  listen(listener: (change: Change) => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
}
