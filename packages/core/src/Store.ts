/**
 * `Store`: the objects of one selection of one kind, as the watch reported them, under an overlay of the program's own
 * writes.
 *
 * Read-your-writes: an accepted write is visible at once, and stays until the watch has passed its resourceVersion; a
 * deletion (or a write by which the object leaves the selection) hides exactly that incarnation, by uid. A write whose
 * resourceVersion the watch has already passed changes nothing, so a late answer never brings back an old state.
 *
 * Deltas describe the watched state alone: the overlay makes none, so that the event of an own write still arrives and
 * wakes whoever waits for it.
 *
 * Plain synchronous data structure: only the reflector writes it, everybody else reads. No effects on the hot path.
 */
import * as Result from "effect/Result"
import type { Delta } from "./Delta.ts"
import type { Write } from "./KubeClient.ts"
import { compareResourceVersions, keyString, type KubeObject } from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"
import type { WatchEvent } from "./WatchEvent.ts"

/** What an own write left behind, until the watch has caught up. */
type Overlay<A> =
  | { readonly _tag: "Written"; readonly object: A; readonly resourceVersion: string }
  /**
   * One incarnation, hidden until the watch confirms that it went. A deletion answered by a bare Status has no
   * resourceVersion; `lastSeen` is the newest one known of the incarnation, so the deletion came later.
   */
  | {
    readonly _tag: "Hidden"
    readonly uid: string
    readonly lastSeen: string
    readonly resourceVersion: string | undefined
  }

interface Entry<A> {
  watched: A | undefined
  overlay: Overlay<A> | undefined
}

/** What a store needs to know of its selection. */
export interface Options<A extends KubeObject> {
  readonly resource: Resource<A>
  /** Whether an object of the kind belongs here; the overlay of a write depends on it. */
  readonly matches: (object: KubeObject) => boolean
  /** Label keys by whose value objects are found without a scan. */
  readonly indexedLabels?: ReadonlyArray<string>
}

export class Store<A extends KubeObject> {
  readonly #options: Options<A>
  readonly #entries = new Map<string, Entry<A>>()
  /** Keys with an overlay: few, so that settling them costs nothing on an ordinary event. */
  readonly #pending = new Set<string>()
  readonly #invalid = new Map<string, KubeObject>()
  readonly #indexes: ReadonlyArray<Index<A>>
  #resourceVersion = "0"
  #size = 0

  constructor(options: Options<A>) {
    this.#options = options
    this.#indexes = [
      new Index<A>("namespace", (object) => [object.metadata.namespace ?? ""]),
      new Index<A>("owner", (object) => object.metadata.ownerReferences?.map((reference) => reference.uid) ?? []),
      ...(options.indexedLabels ?? []).map((label) =>
        new Index<A>(`label:${label}`, (object) => {
          const value = object.metadata.labels?.[label]
          return value === undefined ? [] : [value]
        })
      )
    ]
  }

  /** Number of visible objects. */
  get size(): number {
    return this.#size
  }

  /** How far the watch has come. */
  get resourceVersion(): string {
    return this.#resourceVersion
  }

  /** Own writes the watch has not yet confirmed. */
  get unconfirmed(): number {
    return this.#pending.size
  }

  /** Objects that do not decode, as they came. */
  get invalid(): ReadonlyMap<string, KubeObject> {
    return this.#invalid
  }

  get(key: string): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined ? undefined : visible(entry)
  }

  /** Every visible object. */
  *values(): IterableIterator<A> {
    for (const entry of this.#entries.values()) {
      const object = visible(entry)
      if (object !== undefined) yield object
    }
  }

  /** The visible objects filed under `value` of an index; undefined where there is no such index. */
  lookup(index: string, value: string): Iterable<A> | undefined {
    return this.#indexes.find(({ name }) => name === index)?.lookup(value)
  }

  /** The watched state as deltas, for a subscriber that comes late. */
  snapshot(): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    for (const { watched } of this.#entries.values()) {
      if (watched !== undefined) deltas.push({ _tag: "Added", object: watched })
    }
    return deltas
  }

  /** Takes events of the watch, in order. */
  apply(events: ReadonlyArray<WatchEvent>): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    for (const event of events) {
      if (event.type !== "BOOKMARK") this.#observe(event.object, event.type !== "DELETED", deltas)
      this.#resourceVersion = event.object.metadata.resourceVersion
    }
    this.#settle()
    return deltas
  }

  /** Swaps in a whole list of the given resourceVersion; only what differs becomes a delta. */
  replace(items: ReadonlyArray<KubeObject>, resourceVersion: string): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    const listed = new Set(items.map(keyString))
    for (const [key, { watched }] of [...this.#entries]) {
      if (watched !== undefined && !listed.has(key)) this.#remove(key, watched, deltas)
    }
    for (const key of [...this.#invalid.keys()]) if (!listed.has(key)) this.#invalid.delete(key)
    for (const item of items) this.#observe(item, true, deltas)
    this.#resourceVersion = resourceVersion
    // A list newer than a hidden incarnation, and without it, is the last word on it.
    for (const key of [...this.#pending]) {
      const entry = this.#entries.get(key)
      if (entry?.overlay?._tag !== "Hidden" || entry.watched?.metadata.uid === entry.overlay.uid) continue
      if (compareResourceVersions(entry.overlay.lastSeen, resourceVersion) <= 0) {
        this.#update(key, entry, entry.watched, undefined)
      }
    }
    this.#settle()
    return deltas
  }

  /** Lays an own write over the watched state. */
  overlay(write: Write): void {
    if (write._tag === "Deleted") {
      const key = keyString(write.key)
      const object = this.get(key)
      if (object !== undefined && (write.uid === undefined || write.uid === object.metadata.uid)) {
        this.#hide(key, object, undefined)
      }
      return
    }
    const key = keyString(write.object)
    const { resourceVersion } = write.object.metadata
    const current = this.#entries.get(key)
    const newer = current?.overlay?._tag === "Written" &&
      compareResourceVersions(current.overlay.resourceVersion, resourceVersion) >= 0
    if (newer || compareResourceVersions(resourceVersion, this.#resourceVersion) <= 0) return
    if (!this.#options.matches(write.object)) {
      if (this.get(key) !== undefined) this.#hide(key, write.object, resourceVersion)
      return
    }
    const decoded = this.#options.resource.decode(withoutManagedFields(write.object))
    if (Result.isFailure(decoded)) return
    const entry = current ?? { watched: undefined, overlay: undefined }
    this.#update(key, entry, entry.watched, { _tag: "Written", object: decoded.success, resourceVersion })
  }

  #hide(key: string, { metadata }: KubeObject, resourceVersion: string | undefined): void {
    const entry = this.#entries.get(key) ?? { watched: undefined, overlay: undefined }
    this.#update(key, entry, entry.watched, {
      _tag: "Hidden",
      uid: metadata.uid,
      lastSeen: metadata.resourceVersion,
      resourceVersion
    })
  }

  #observe(raw: KubeObject, exists: boolean, deltas: Array<Delta<A>>): void {
    const key = keyString(raw)
    const entry = this.#entries.get(key) ?? { watched: undefined, overlay: undefined }
    const { watched } = entry
    if (!exists) {
      this.#invalid.delete(key)
      this.#remove(key, watched, deltas, raw)
      return
    }
    if (watched?.metadata.resourceVersion === raw.metadata.resourceVersion) return
    const decoded = this.#options.resource.decode(withoutManagedFields(raw))
    if (Result.isFailure(decoded)) {
      if (this.#invalid.get(key)?.metadata.resourceVersion === raw.metadata.resourceVersion) return
      this.#invalid.set(key, raw)
      this.#update(key, entry, undefined, overtaken(entry.overlay, raw) ? undefined : entry.overlay)
      deltas.push({ _tag: "Invalid", raw, issues: decoded.failure.issues })
      return
    }
    this.#invalid.delete(key)
    const object = decoded.success
    this.#update(key, entry, object, overtaken(entry.overlay, raw) ? undefined : entry.overlay)
    if (watched === undefined) deltas.push({ _tag: "Added", object })
    else if (watched.metadata.uid === raw.metadata.uid) deltas.push({ _tag: "Updated", old: watched, object })
    else deltas.push({ _tag: "Deleted", object: watched }, { _tag: "Added", object })
  }

  /** The watch says the object is gone; `last` is its final state, where the watch gave one. */
  #remove(key: string, watched: A | undefined, deltas: Array<Delta<A>>, last?: KubeObject): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    const { overlay } = entry
    const confirmed = last !== undefined &&
      (overlay?._tag === "Hidden" && overlay.uid === last.metadata.uid || overtaken(overlay, last))
    this.#update(key, entry, undefined, confirmed ? undefined : overlay)
    if (watched !== undefined) deltas.push({ _tag: "Deleted", object: watched })
  }

  /** Drops overlays the watch has passed. A tombstone without a resourceVersion waits for its object's own event. */
  #settle(): void {
    for (const key of [...this.#pending]) {
      const entry = this.#entries.get(key)
      const resourceVersion = entry?.overlay?.resourceVersion
      if (entry === undefined || resourceVersion === undefined) continue
      if (compareResourceVersions(resourceVersion, this.#resourceVersion) <= 0) {
        this.#update(key, entry, entry.watched, undefined)
      }
    }
  }

  #update(key: string, entry: Entry<A>, watched: A | undefined, overlay: Overlay<A> | undefined): void {
    const before = visible(entry)
    entry.watched = watched
    entry.overlay = overlay
    const after = visible(entry)
    if (watched === undefined && overlay === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
    if (overlay === undefined) this.#pending.delete(key)
    else this.#pending.add(key)
    if (before === after) return
    this.#size += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
    for (const index of this.#indexes) index.update(key, before, after)
  }
}

/** Finds visible objects by a value they are filed under. */
class Index<A> {
  readonly #buckets = new Map<string, Map<string, A>>()
  readonly name: string
  readonly #valuesOf: (object: A) => ReadonlyArray<string>

  constructor(name: string, valuesOf: (object: A) => ReadonlyArray<string>) {
    this.name = name
    this.#valuesOf = valuesOf
  }

  lookup(value: string): Iterable<A> {
    return this.#buckets.get(value)?.values() ?? []
  }

  update(key: string, before: A | undefined, after: A | undefined): void {
    for (const value of before === undefined ? [] : this.#valuesOf(before)) {
      const bucket = this.#buckets.get(value)
      bucket?.delete(key)
      if (bucket?.size === 0) this.#buckets.delete(value)
    }
    for (const value of after === undefined ? [] : this.#valuesOf(after)) {
      const bucket = this.#buckets.get(value)
      if (bucket === undefined) this.#buckets.set(value, new Map([[key, after!]]))
      else bucket.set(key, after!)
    }
  }
}

const visible = <A extends KubeObject>({ overlay, watched }: Entry<A>): A | undefined => {
  if (overlay === undefined) return watched
  if (overlay._tag === "Written") return overlay.object
  return watched?.metadata.uid === overlay.uid ? undefined : watched
}

/** Whether what the watch reports of the object makes the overlay on it obsolete. */
const overtaken = (overlay: Overlay<KubeObject> | undefined, reported: KubeObject): boolean => {
  if (overlay === undefined) return true
  return overlay.resourceVersion !== undefined &&
    compareResourceVersions(reported.metadata.resourceVersion, overlay.resourceVersion) >= 0
}

const withoutManagedFields = (object: KubeObject): KubeObject => {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
