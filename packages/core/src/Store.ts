/**
 * `Store`: the objects of one selection of one kind, as the watch reported them, under an overlay of the program's own
 * writes.
 *
 * Read-your-writes: an accepted write is visible at once, and stays until the watch has passed its resourceVersion; one
 * by which the object leaves the selection hides it for as long. A deletion hides exactly that incarnation, by uid, for
 * good. Answers may come in any order and at any time: an older one changes nothing, so none brings back an old state.
 *
 * Deltas describe the watched state alone: the overlay makes none, so that the event of an own write still arrives and
 * wakes whoever waits for it. A list that stands in for that event makes the delta of it, too: nobody is left with the
 * memory of an object that has gone meanwhile.
 *
 * Plain synchronous data structure: only the reflector writes it, everybody else reads. No effects on the hot path.
 */
import * as Result from "effect/Result"
import type { Delta } from "./Delta.ts"
import type { Write } from "./KubeClient.ts"
import { compareResourceVersions, hasGone, keyString, type KubeObject } from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"
import type { WatchEvent } from "./WatchEvent.ts"

/** Figures of a store. */
export const defaults = {
  /** Deleted incarnations remembered. Beyond it those are forgotten first that hide nothing any more. */
  graves: 10_000
} as const

/** What an own write left at its key, until the watch has caught up: nothing, if it left the selection or is invalid. */
interface Overlay<A> {
  readonly object: A | undefined
  readonly resourceVersion: string
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
  /** Keys with an overlay, the one laid last at the end. */
  readonly #overlaid = new Set<string>()
  /** Incarnations this program deleted, by uid, each with its key. A uid never lives again. */
  readonly #graves = new Map<string, string>()
  /** Keys whose watched state is such an incarnation. */
  readonly #haunted = new Set<string>()
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
    return this.#overlaid.size + this.#haunted.size
  }

  /** Objects that do not decode, as they came. */
  get invalid(): ReadonlyMap<string, KubeObject> {
    return this.#invalid
  }

  get(key: string): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined ? undefined : this.#visible(entry)
  }

  /** Every visible object. */
  *values(): IterableIterator<A> {
    for (const entry of this.#entries.values()) {
      const object = this.#visible(entry)
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

  /** Swaps in a whole list of the given resourceVersion; only what differs from what was read becomes a delta. */
  replace(items: ReadonlyArray<KubeObject>, resourceVersion: string): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    const listed = new Map(items.map((item) => [keyString(item), item.metadata.resourceVersion]))
    // A list older than the watch is that of another server, or of a restored one, which knows nothing of the writes.
    const restored = compareResourceVersions(resourceVersion, this.#resourceVersion) < 0
    for (const key of this.#overlaid) {
      const entry = this.#entries.get(key)!
      const { object, resourceVersion: written } = entry.overlay!
      const passed = restored || compareResourceVersions(written, resourceVersion) <= 0
      // Its event is among those the list stands for: whoever read the write has to learn what became of it.
      if (object !== undefined && passed && listed.get(key) !== written) {
        this.#see(key, entry, object, undefined, deltas)
      }
    }
    for (const [key, { watched }] of this.#entries) {
      if (watched !== undefined && !listed.has(key)) this.#remove(key, watched, deltas)
    }
    for (const key of this.#invalid.keys()) if (!listed.has(key)) this.#invalid.delete(key)
    for (const item of items) this.#observe(item, true, deltas)
    if (restored) this.#forget()
    this.#resourceVersion = resourceVersion
    this.#settle()
    return deltas
  }

  /** Lays an own write over the watched state. */
  overlay(write: Write): void {
    if (write._tag === "Deleted") {
      // Which incarnation went is not known without a uid: better to show it a moment longer than to hide another.
      if (write.uid !== undefined) this.#bury(keyString(write.key), write.uid)
      return
    }
    const { object } = write
    const { resourceVersion, uid } = object.metadata
    const key = keyString(object)
    if (hasGone(object)) return this.#bury(key, uid)
    if (compareResourceVersions(resourceVersion, this.#resourceVersion) <= 0) return
    const entry = this.#entries.get(key) ?? { watched: undefined, overlay: undefined }
    if (after(entry.overlay, object) !== undefined || entry.overlay?.resourceVersion === resourceVersion) return
    const decoded = this.#options.matches(object)
      ? Result.getOrUndefined(this.#options.resource.decode(withoutManagedFields(object)))
      : undefined
    this.#update(key, entry, entry.watched, { object: decoded, resourceVersion })
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
      this.#update(key, entry, undefined, after(entry.overlay, raw))
      // For whoever followed its last good state it has gone.
      if (watched !== undefined) deltas.push({ _tag: "Deleted", object: watched })
      deltas.push({ _tag: "Invalid", raw, issues: decoded.failure.issues })
      return
    }
    this.#see(key, entry, decoded.success, after(entry.overlay, raw), deltas)
  }

  /** The object is the watched state from now on. */
  #see(key: string, entry: Entry<A>, object: A, overlay: Overlay<A> | undefined, deltas: Array<Delta<A>>): void {
    const { watched } = entry
    this.#invalid.delete(key)
    this.#update(key, entry, object, overlay)
    if (watched === undefined) deltas.push({ _tag: "Added", object })
    else if (watched.metadata.uid === object.metadata.uid) deltas.push({ _tag: "Updated", old: watched, object })
    else deltas.push({ _tag: "Deleted", object: watched }, { _tag: "Added", object })
  }

  /** The watch says the object is gone; `last` is its final state, where the watch gave one. */
  #remove(key: string, watched: A | undefined, deltas: Array<Delta<A>>, last?: KubeObject): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#update(key, entry, undefined, last === undefined ? entry.overlay : after(entry.overlay, last))
    if (watched !== undefined) deltas.push({ _tag: "Deleted", object: watched })
  }

  /**
   * Drops overlays the watch has passed: the oldest first, so that it costs nothing while none is due. Those of keys
   * that were reported on are gone already; the rest only hide what is not there.
   */
  #settle(): void {
    for (const key of this.#overlaid) {
      const entry = this.#entries.get(key)!
      if (compareResourceVersions(entry.overlay!.resourceVersion, this.#resourceVersion) > 0) return
      this.#update(key, entry, entry.watched, undefined)
    }
  }

  /** Hides an incarnation wherever it turns up from now on. */
  #bury(key: string, uid: string): void {
    const entry = this.#entries.get(key)
    const before = entry === undefined ? undefined : this.#visible(entry)
    this.#graves.set(uid, key)
    if (entry !== undefined) this.#file(key, entry, before)
    const [oldest] = this.#graves
    if (this.#graves.size <= defaults.graves || oldest === undefined) return
    this.#graves.delete(oldest[0])
    const hidden = this.#entries.get(oldest[1])
    if (hidden?.watched?.metadata.uid === oldest[0] || hidden?.overlay?.object?.metadata.uid === oldest[0]) {
      this.#graves.set(...oldest)
    }
  }

  /** Drops everything known of own writes. */
  #forget(): void {
    const before = new Map([...this.#entries].map(([key, entry]) => [key, this.#visible(entry)]))
    this.#graves.clear()
    for (const [key, entry] of this.#entries) {
      entry.overlay = undefined
      this.#file(key, entry, before.get(key))
    }
  }

  #update(key: string, entry: Entry<A>, watched: A | undefined, overlay: Overlay<A> | undefined): void {
    const before = this.#visible(entry)
    entry.watched = watched
    if (entry.overlay !== overlay) this.#overlaid.delete(key)
    entry.overlay = overlay
    this.#file(key, entry, before)
  }

  /** Brings everything derived from an entry up to date; `before` is what was visible. */
  #file(key: string, entry: Entry<A>, before: A | undefined): void {
    const { overlay, watched } = entry
    if (watched === undefined && overlay === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
    put(this.#overlaid, key, overlay !== undefined)
    put(this.#haunted, key, watched !== undefined && this.#graves.has(watched.metadata.uid))
    const now = this.#visible(entry)
    if (before === now) return
    this.#size += (now === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
    for (const index of this.#indexes) index.update(key, before, now)
  }

  #visible({ overlay, watched }: Entry<A>): A | undefined {
    const object = overlay === undefined ? watched : overlay.object
    return object !== undefined && this.#graves.has(object.metadata.uid) ? undefined : object
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

/** What is left of an overlay once the watch has reported on the object: a report as new as the write overtakes it. */
const after = <A>(overlay: Overlay<A> | undefined, reported: KubeObject): Overlay<A> | undefined =>
  overlay !== undefined && compareResourceVersions(reported.metadata.resourceVersion, overlay.resourceVersion) < 0
    ? overlay
    : undefined

const put = (set: Set<string>, key: string, belongs: boolean): void => {
  if (belongs) set.add(key)
  else set.delete(key)
}

const withoutManagedFields = (object: KubeObject): KubeObject => {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
