/**
 * `Store`: the objects of one selection of one kind, as the watch reported them, under an overlay of the program's own
 * writes.
 *
 * Read-your-writes: an accepted write is visible at once, and stays until the watch has passed its resourceVersion. A
 * write that moves the object out of the selection hides it for as long. A deletion hides exactly that incarnation, by
 * uid, for good. Responses may come in any order and at any time: an older one changes nothing, so none brings back an
 * old state. A write whose response does not show its result leaves a mark: the object is stale until the watch has
 * caught up.
 *
 * Deltas describe only the watched state. The overlay makes none, so the event of an own write still arrives and wakes
 * those who wait for it. If a list replaces that event, the list makes its delta, too: nobody keeps an object that is
 * gone by then.
 *
 * A plain synchronous data structure: only the reflector writes it, everybody else reads. No effects on the hot path.
 */
import * as Result from "effect/Result"
import type { Delta } from "./Delta.ts"
import type { Write } from "./KubeClient.ts"
import type { CacheIndex } from "./CacheIndex.ts"
import { changed, updated } from "./internal/deltas.ts"
import { footprintOfAll } from "./internal/footprint.ts"
import { Indexes } from "./internal/Indexes.ts"
import { Marks } from "./internal/Marks.ts"
import {
  compareResourceVersions,
  hasGone,
  isTerminating,
  keyString,
  type KubeObject,
  type ObjectKey,
  withoutManagedFields
} from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"
import { parsed, Unparsed } from "./Unparsed.ts"
import type { WatchEvent } from "./WatchEvent.ts"

/** Limits of a store. */
export const defaults = {
  /** Deleted incarnations remembered. Beyond that, those that hide nothing any more are forgotten first. */
  graves: 10_000,
  /** Maximum number of indexes. More are a mistake: they are declared where they are read, anew each time. */
  indexes: 64
} as const

/** What an own write left at its key until the watch catches up: no object if it left the selection or is invalid. */
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
  /** Whether an object of the kind belongs to the selection; decides how the overlay shows a write. */
  readonly matches: (object: KubeObject) => boolean
  /** Whether an object with this key can belong to it; every key by default. */
  readonly covers?: ((key: ObjectKey) => boolean) | undefined
  /**
   * Whether objects can enter and leave without being created or deleted, as under a label selector; true by default.
   */
  readonly filtered?: boolean | undefined
  /** Label keys by whose values objects are found without a scan. */
  readonly indexedLabels?: ReadonlyArray<string>
}

export class Store<A extends KubeObject> {
  readonly #options: Options<A>
  readonly #entries = new Map<string, Entry<A>>()
  /** Keys with an overlay, the most recent last. */
  readonly #overlaid = new Set<string>()
  /** Incarnations that this program deleted, by uid, each with its key. A uid is never reused. */
  readonly #graves = new Map<string, string>()
  /** Keys whose watched state is such an incarnation. */
  readonly #haunted = new Set<string>()
  readonly #invalid = new Map<string, KubeObject>()
  readonly #marks = new Marks(defaults.graves)
  readonly #indexes = new Indexes<A>(defaults.indexes, () => this.#visibleByKey())
  readonly #listeners = new Set<() => void>()
  #resourceVersion = "0"
  #size = 0

  constructor(options: Options<A>) {
    this.#options = options
    for (const label of options.indexedLabels ?? []) this.indexLabel(label)
  }

  /** Number of visible objects. */
  get size(): number {
    return this.#size
  }

  /** The resourceVersion that the watch has reached. */
  get resourceVersion(): string {
    return this.#resourceVersion
  }

  /** Own writes the watch has not yet confirmed. */
  get unconfirmed(): number {
    return this.#overlaid.size + this.#haunted.size + this.staleKeys().length
  }

  /** Approximate size of the objects in bytes, from a sample. */
  get bytes(): number {
    return footprintOfAll(this.#all(), this.#size)
  }

  /** Number of listeners. */
  get listeners(): number {
    return this.#listeners.size
  }

  /** Objects that do not decode, as they were received. */
  get invalid(): ReadonlyMap<string, KubeObject> {
    return this.#invalid
  }

  /** Whether an object with the key is visible. */
  has(key: string): boolean {
    return this.#seen(key) !== undefined
  }

  get(key: string): A | undefined {
    const object = this.#seen(key)
    return object === undefined ? undefined : parsed(object)
  }

  /** Every visible object. */
  *values(): IterableIterator<A> {
    for (const object of this.#all()) yield parsed(object)
  }

  /** Keys of the visible objects. */
  *keys(): IterableIterator<string> {
    for (const object of this.#all()) yield keyString(object)
  }

  /** What the watch reported for a key, regardless of own writes. */
  watched(key: string): A | undefined {
    const watched = this.#entries.get(key)?.watched
    return watched === undefined ? undefined : parsed(watched)
  }

  /** Every object that the watch reported and that still exists. */
  *watchedValues(): IterableIterator<A> {
    for (const { watched } of this.#entries.values()) if (watched !== undefined) yield parsed(watched)
  }

  /** Whether the visible state of the key is older than an own write. */
  isStale(key: string): boolean {
    if (this.#marks.size === 0) return false
    const entry = this.#entries.get(key)
    const object = entry === undefined ? undefined : this.#visible(entry)
    const due = this.#marks.due(key)
    if (due !== undefined) {
      const overlay = entry?.overlay?.resourceVersion
      const later = overlay !== undefined && compareResourceVersions(overlay, due.resourceVersion) >= 0
      // This program has deleted that incarnation since, so it is known to be gone.
      const gone = object === undefined && due.uid !== undefined && this.#graves.has(due.uid)
      if (!later && !gone && (object !== undefined || due.absent)) return true
    }
    return object !== undefined && this.#marks.isDeleting(key, object.metadata.uid) && !isTerminating(object)
  }

  /** Gives up the marks that were guessed from own deletions, of a key or of all. */
  giveUpGuesses(key?: string): void {
    this.#marks.giveUp(key)
    this.#tell()
  }

  /** The keys that are stale. */
  staleKeys(): ReadonlyArray<string> {
    if (this.#marks.size === 0) return []
    return [...new Set(this.#marks.keys())].filter((key) => this.isStale(key))
  }

  /**
   * The visible objects filed under a value, by key. The index is one that a program declared, `namespace`, `owner` (by
   * uid), or an indexed label (`label:app`). Undefined if there is no such index. Some objects may be `Unparsed`.
   */
  bucket(index: string | CacheIndex, value: string): ReadonlyMap<string, A> | undefined {
    return this.#indexes.get(index)?.get(value)
  }

  /** Like `bucket`, without the keys and parsed. */
  lookup(index: string | CacheIndex, value: string): Iterable<A> | undefined {
    const bucket = this.bucket(index, value)
    return bucket === undefined || this.#options.resource.lazy !== true
      ? bucket?.values()
      : Array.from(bucket.values(), parsed)
  }

  /** Indexes objects by the value of a label from now on. */
  indexLabel(label: string): void {
    this.#indexes.label(label)
  }

  /**
   * Calls the listener after every change of the visible objects or of the watch's resourceVersion, until the returned
   * function is called.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The watched state as deltas, for a late subscriber. */
  snapshot(): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    for (const { watched } of this.#entries.values()) {
      if (watched !== undefined) deltas.push(changed("Added", watched))
    }
    return deltas
  }

  /** Applies events of the watch, in order. */
  apply(events: ReadonlyArray<WatchEvent>): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    for (const event of events) {
      if (event.type === "BOOKMARK") this.#marks.bookmark()
      else this.#observe(event.object, event.type !== "DELETED", deltas)
      this.#resourceVersion = event.object.metadata.resourceVersion
    }
    this.#settle()
    this.#tell()
    return deltas
  }

  /** Swaps in a whole list of the given resourceVersion; only differences from what could be read become deltas. */
  replace(items: ReadonlyArray<KubeObject>, resourceVersion: string): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    // Needed only if something was known before.
    const compared = this.#entries.size + this.#invalid.size === 0 ? [] : items
    const listed = new Map(compared.map((item) => [keyString(item), item.metadata.resourceVersion]))
    // A list older than the watch comes from another or a restored server, which does not know the writes.
    const restored = compareResourceVersions(resourceVersion, this.#resourceVersion) < 0
    for (const key of this.#overlaid) {
      const entry = this.#entries.get(key)!
      const { object, resourceVersion: written } = entry.overlay!
      const passed = restored || compareResourceVersions(written, resourceVersion) <= 0
      // The list replaces the event of this write: those who read the write must learn what became of it.
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
    this.#tell()
    return deltas
  }

  /** Lays an own write over the watched state. */
  overlay(write: Write): void {
    switch (write._tag) {
      case "Deleted":
        // Without a uid it is unknown which incarnation is gone: better to show it a moment longer than to hide
        // another.
        if (write.uid !== undefined) this.#bury(keyString(write.key), write.uid)
        break
      case "Deleting":
        this.#doom(write.key, write.uid)
        break
      case "Changed":
        this.#outdate(write.key, write.resourceVersion, write.uid)
        break
      case "Written":
        this.#cover(write.object)
    }
    this.#tell()
  }

  #cover(object: KubeObject): void {
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
    this.#marks.seen(key, resourceVersion, uid, isTerminating(object))
  }

  /** The deletion of an incarnation was accepted; which one is a guess if the response named none. */
  #doom(target: ObjectKey, named: string | undefined): void {
    if (this.#options.covers?.(target) === false) return
    const key = keyString(target)
    const visible = this.#seen(key)
    if (named === undefined) {
      if (visible === undefined || !isTerminating(visible)) this.#marks.guess(key, visible?.metadata.uid)
      return
    }
    if (this.#graves.has(named) || (visible?.metadata.uid === named && isTerminating(visible))) return
    this.#marks.deleting(key, named, (key, uid) => this.#seen(key)?.metadata.uid === uid)
  }

  /**
   * The object is at this resourceVersion. Under a filter nobody waits for an object that is absent: it may stay
   * absent.
   */
  #outdate(target: ObjectKey, resourceVersion: string, uid: string | undefined): void {
    if (this.#options.covers?.(target) === false) return
    const key = keyString(target)
    if (compareResourceVersions(resourceVersion, this.#resourceVersion) <= 0) return
    const absent = this.#options.filtered === false || this.#resourceVersion === "0"
    this.#marks.changed(key, { absent, resourceVersion, uid })
  }

  #observe(raw: KubeObject, exists: boolean, deltas: Array<Delta<A>>): void {
    const key = keyString(raw)
    const entry = this.#entries.get(key) ?? { watched: undefined, overlay: undefined }
    const { watched } = entry
    if (this.#marks.size > 0) {
      const { resourceVersion, uid } = raw.metadata
      // Under a filter it may only have left the selection.
      this.#marks.seen(key, resourceVersion, uid, isTerminating(raw) || (!exists && this.#options.filtered === false))
    }
    if (!exists) {
      this.#invalid.delete(key)
      this.#remove(key, watched, deltas, raw)
      return
    }
    if (watched?.metadata.resourceVersion === raw.metadata.resourceVersion) return
    if (raw instanceof Unparsed) return this.#see(key, entry, this.#own(raw), after(entry.overlay, raw), deltas)
    const decoded = this.#options.resource.decode(withoutManagedFields(raw))
    if (Result.isFailure(decoded)) {
      if (this.#invalid.get(key)?.metadata.resourceVersion === raw.metadata.resourceVersion) return
      this.#invalid.set(key, raw)
      this.#update(key, entry, undefined, after(entry.overlay, raw))
      // For those who followed its last good state, the object is gone.
      if (watched !== undefined) deltas.push(changed("Deleted", watched))
      deltas.push({ _tag: "Invalid", raw, issues: decoded.failure.issues })
      return
    }
    this.#see(key, entry, decoded.success, after(entry.overlay, raw), deltas)
  }

  /** Makes the object the watched state. */
  #see(key: string, entry: Entry<A>, object: A, overlay: Overlay<A> | undefined, deltas: Array<Delta<A>>): void {
    const { watched } = entry
    if (this.#invalid.size > 0) this.#invalid.delete(key)
    this.#update(key, entry, object, overlay)
    if (watched === undefined) deltas.push(changed("Added", object))
    else if (watched.metadata.uid === object.metadata.uid) deltas.push(updated(watched, object))
    else deltas.push(changed("Deleted", watched), changed("Added", object))
  }

  /** The watch reports that the object is gone; `last` is its final state, if the watch sent one. */
  #remove(key: string, watched: A | undefined, deltas: Array<Delta<A>>, last?: KubeObject): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#update(key, entry, undefined, last === undefined ? entry.overlay : after(entry.overlay, last))
    if (watched === undefined) return
    if (last === undefined) this.#marks.seen(key, "0", watched.metadata.uid, this.#options.filtered === false)
    deltas.push(changed("Deleted", watched))
  }

  /**
   * Drops overlays that the watch has passed, oldest first, so that this costs nothing while none is due. Overlays of
   * reported keys are gone already; the others only hide what is not there.
   */
  #settle(): void {
    this.#marks.passed(this.#resourceVersion)
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
    const before = new Map(this.#visibleByKey())
    this.#graves.clear()
    this.#marks.clear()
    for (const [key, entry] of this.#entries) {
      entry.overlay = undefined
      if (entry.watched === undefined) this.#entries.delete(key)
      this.#file(key, entry, before.get(key))
    }
  }

  #update(key: string, entry: Entry<A>, watched: A | undefined, overlay: Overlay<A> | undefined): void {
    const before = this.#visible(entry)
    const known = holds(entry)
    entry.watched = watched
    if (entry.overlay !== overlay) this.#overlaid.delete(key)
    entry.overlay = overlay
    if (holds(entry) !== known) {
      if (known) this.#entries.delete(key)
      else this.#entries.set(key, entry)
    }
    this.#file(key, entry, before)
  }

  /** Updates everything derived from an entry; `before` is what was visible. */
  #file(key: string, entry: Entry<A>, before: A | undefined): void {
    const { overlay, watched } = entry
    put(this.#overlaid, key, overlay !== undefined)
    put(this.#haunted, key, watched !== undefined && this.#isBuried(watched))
    const now = this.#visible(entry)
    if (before === now) return
    this.#size += (now === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
    this.#indexes.update(key, before, now)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** An unparsed object has the type of the store's kind, as `decode` would say: a lazy kind has no Schema. */
  #own(raw: Unparsed): A {
    return raw as KubeObject as A
  }

  #seen(key: string): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined ? undefined : this.#visible(entry)
  }

  *#all(): IterableIterator<A> {
    for (const entry of this.#entries.values()) {
      const object = this.#visible(entry)
      if (object !== undefined) yield object
    }
  }

  *#visibleByKey(): IterableIterator<readonly [key: string, object: A | undefined]> {
    for (const [key, entry] of this.#entries) yield [key, this.#visible(entry)]
  }

  #visible({ overlay, watched }: Entry<A>): A | undefined {
    const object = overlay === undefined ? watched : overlay.object
    return object !== undefined && this.#isBuried(object) ? undefined : object
  }

  /** In most stores nothing was deleted: then no uid is hashed. */
  #isBuried({ metadata }: A): boolean {
    return this.#graves.size > 0 && this.#graves.has(metadata.uid)
  }
}

/** The overlay after the watch has reported the object: a report at least as new as the write ends it. */
const after = <A>(overlay: Overlay<A> | undefined, reported: KubeObject): Overlay<A> | undefined =>
  overlay !== undefined && compareResourceVersions(reported.metadata.resourceVersion, overlay.resourceVersion) < 0
    ? overlay
    : undefined

/** Whether anything is known of the key; otherwise the entry is not kept. */
const holds = <A>({ overlay, watched }: Entry<A>): boolean => watched !== undefined || overlay !== undefined

const put = (set: Set<string>, key: string, belongs: boolean): void => {
  if (belongs) set.add(key)
  else if (set.size > 0) set.delete(key)
}
