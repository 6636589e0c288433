/**
 * `Storage`: the objects of an API server and how they came to be, as etcd keeps them.
 *
 * One counter, the revision, grows by one with every change of anything; it is the resourceVersion of the object
 * changed. Every change stays in an append-only log until it is compacted, so that the state at an earlier revision
 * can be given again (pages of one list) and a watch can start in the past.
 *
 * All operations are synchronous and atomic; `put` and `remove` take constant time whatever is stored. Stored objects
 * are deep-frozen and may be handed out as they are. Listeners run inside the write, in order of registration.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WatchEvent } from "@effect-operator/core/WatchEvent"
import { freeze } from "./Plain.ts"

/** One committed change. */
export interface Change {
  /** The revision the change made; also the resourceVersion of `object`. */
  readonly revision: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** Which objects: `pods`, `deployments.apps`. */
  readonly collection: string
  /** `namespace/name`, or `name`. */
  readonly key: string
  /** `""` in a cluster-scoped collection. */
  readonly namespace: string
  /** The new state; of a deletion the last one, with the deletion's resourceVersion. */
  readonly object: KubeObject
  /** The state before; absent of a creation. */
  readonly previous?: KubeObject
  /** The change as a watch shows it, made once for all watches. */
  readonly event: WatchEvent
}

/** A sorted view of some objects. */
export interface Listing {
  readonly keys: ReadonlyArray<string>
  readonly get: (key: string) => KubeObject
}

/** The objects of a store at one moment; never changes, and may be shared by any number of stores. */
export interface Image {
  readonly revision: number
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>
}

/** The order of a list: by bytes of the key. */
const byKey = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Objects by key; the sorted keys are made when a list asks for them. */
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
  /** Belongs to an image: must not change. */
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

/** A collection of these objects, without a history. */
const filled = (objects: ReadonlyMap<string, KubeObject>): Collection => {
  const collection = new Collection()
  for (const [key, object] of objects) collection.set(key, object.metadata.namespace ?? "", object)
  return collection
}

/** The collections of an image, made once for all stores that begin with it. */
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
  /** Nothing is known any more of what happened up to this revision. */
  compacted = 0
  private readonly collections = new Map<string, Collection>()
  private readonly listeners = new Set<(change: Change) => void>()
  private readonly pending: Array<Change> = []
  private log: Array<Change> = []
  private readonly historyLimit: number

  /** `historyLimit`: about how many changes are kept; the oldest are compacted when there are twice as many. */
  constructor(historyLimit: number) {
    this.historyLimit = historyLimit
  }

  /** The collection, for a write: one that is shared with other stores becomes this one's own. */
  private collection(name: string): Collection {
    let collection = this.collections.get(name)
    if (collection === undefined) this.collections.set(name, collection = new Collection())
    else if (collection.shared) this.collections.set(name, collection = filled(collection.all.objects))
    return collection
  }

  get(collection: string, key: string): KubeObject | undefined {
    return this.collections.get(collection)?.all.objects.get(key)
  }

  /** How many objects a collection, or one namespace of it, holds. */
  count(collection: string, namespace = ""): number {
    return this.collections.get(collection)?.bucket(namespace)?.objects.size ?? 0
  }

  /** Creates or replaces. The object is frozen and given the new resourceVersion. */
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

  /** Removes an object; `undefined` where there is none. */
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
    // A listener may write: its changes are told after this one, to everyone.
    if (this.pending.length === 1) {
      for (let next = this.pending[0]; next !== undefined; next = this.pending[0]) {
        for (const listener of this.listeners) listener(next)
        this.pending.shift()
      }
    }
    return change
  }

  /** The objects of a collection, or of one namespace of it, sorted by key, as they are now. */
  list(collection: string, namespace = ""): Listing {
    const bucket = this.collections.get(collection)?.bucket(namespace)
    return bucket === undefined
      ? emptyListing
      : { keys: bucket.keys, get: (key) => bucket.objects.get(key)! }
  }

  /** As `list`, as it was at a revision that is neither compacted nor in the future. */
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

  /** The changes of one collection, or of all, after a revision that is not compacted, oldest first. */
  changesAfter(revision: number, collection?: string): ReadonlyArray<Change> {
    const log = collection === undefined ? this.log : this.collections.get(collection)?.log ?? []
    return log.slice(firstAfter(log, revision))
  }

  /** Forgets what happened up to a revision; the objects stay. A revision in the future means the newest. */
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

  /** What is stored now, for other stores to begin with. */
  image(): Image {
    const collections = [...this.collections].map(([name, { all }]) => [name, new Map(all.objects)] as const)
    return { revision: this.revision, collections: new Map(collections) }
  }

  /** Begins with an image, in place of nothing: for a store that holds nothing yet. History starts here. */
  begin(image: Image): void {
    for (const [name, collection] of collectionsOf(image)) this.collections.set(name, collection)
    this.revision = image.revision
    this.compacted = image.revision
  }

  /** Calls back within every later change; the result ends that. */
  listen(listener: (change: Change) => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }
}
