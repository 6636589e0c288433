/**
 * `Store`: the objects of one selection of one kind, as the watch reported them, under an overlay of the program's own
 * writes.
 *
 * Read-your-writes: an accepted write is visible at once, and stays until the watch has passed its resourceVersion; one
 * by which the object leaves the selection hides it for as long. A deletion hides exactly that incarnation, by uid, for
 * good. Answers may come in any order and at any time: an older one changes nothing, so none brings back an old state.
 * A write whose answer does not show what it led to leaves a mark: what is here is stale until the watch has seen it.
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

/** Figures of a store. */
export const defaults = {
  /** Deleted incarnations remembered. Beyond it those are forgotten first that hide nothing any more. */
  graves: 10_000,
  /** Indexes of one store. More than that are made where they are read, anew each time. */
  indexes: 64
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
  /** Whether the key may be that of such an object; every key by default. */
  readonly covers?: ((key: ObjectKey) => boolean) | undefined
  /** Whether an object may come and go without being created or deleted, as under a label selector; so by default. */
  readonly filtered?: boolean | undefined
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

  /** How far the watch has come. */
  get resourceVersion(): string {
    return this.#resourceVersion
  }

  /** Own writes the watch has not yet confirmed. */
  get unconfirmed(): number {
    return this.#overlaid.size + this.#haunted.size + this.staleKeys().length
  }

  /** About how many bytes the objects take, from a sample. */
  get bytes(): number {
    return footprintOfAll(this.#all(), this.#size)
  }

  /** How many wait for a change. */
  get listeners(): number {
    return this.#listeners.size
  }

  /** Objects that do not decode, as they came. */
  get invalid(): ReadonlyMap<string, KubeObject> {
    return this.#invalid
  }

  /** Whether there is a visible object of the key. */
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

  /** What the watch reported of a key, whatever own writes lie over it. */
  watched(key: string): A | undefined {
    const watched = this.#entries.get(key)?.watched
    return watched === undefined ? undefined : parsed(watched)
  }

  /** Everything the watch reported that is there. */
  *watchedValues(): IterableIterator<A> {
    for (const { watched } of this.#entries.values()) if (watched !== undefined) yield parsed(watched)
  }

  /** Whether what is visible of the key is older than an own write. */
  isStale(key: string): boolean {
    if (this.#marks.size === 0) return false
    const entry = this.#entries.get(key)
    const object = entry === undefined ? undefined : this.#visible(entry)
    const due = this.#marks.due(key)
    if (due !== undefined) {
      const overlay = entry?.overlay?.resourceVersion
      const later = overlay !== undefined && compareResourceVersions(overlay, due.resourceVersion) >= 0
      // Of an incarnation that this program deleted since it is known that it is gone.
      const gone = object === undefined && due.uid !== undefined && this.#graves.has(due.uid)
      if (!later && !gone && (object !== undefined || due.absent)) return true
    }
    return object !== undefined && this.#marks.isDeleting(key, object.metadata.uid) && !isTerminating(object)
  }

  /** Ends the wait for what is guessed of own deletions, of a key or of all. */
  giveUpGuesses(key?: string): void {
    this.#marks.giveUp(key)
    this.#tell()
  }

  /** The keys of which that is so. */
  staleKeys(): ReadonlyArray<string> {
    if (this.#marks.size === 0) return []
    return [...new Set(this.#marks.keys())].filter((key) => this.isStale(key))
  }

  /**
   * The visible objects filed under a value, by key: of an index that a program declared, of `namespace`, of `owner`
   * (by uid), or of a label key that is indexed (`label:app`). Undefined where there is no such index. Some may be
   * `Unparsed`.
   */
  bucket(index: string | CacheIndex, value: string): ReadonlyMap<string, A> | undefined {
    return this.#indexes.get(index)?.get(value)
  }

  /** The same without the keys. */
  lookup(index: string | CacheIndex, value: string): Iterable<A> | undefined {
    const bucket = this.bucket(index, value)
    return bucket === undefined || this.#options.resource.lazy !== true
      ? bucket?.values()
      : Array.from(bucket.values(), parsed)
  }

  /** Files objects by the value of a label from now on. */
  indexLabel(label: string): void {
    this.#indexes.label(label)
  }

  /** Calls the listener after every change of what is visible, or how far the watch has come; until the answer is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The watched state as deltas, for a subscriber that comes late. */
  snapshot(): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    for (const { watched } of this.#entries.values()) {
      if (watched !== undefined) deltas.push(changed("Added", watched))
    }
    return deltas
  }

  /** Takes events of the watch, in order. */
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

  /** Swaps in a whole list of the given resourceVersion; only what differs from what was read becomes a delta. */
  replace(items: ReadonlyArray<KubeObject>, resourceVersion: string): ReadonlyArray<Delta<A>> {
    const deltas: Array<Delta<A>> = []
    // What is missing from a list is asked only where something was known.
    const compared = this.#entries.size + this.#invalid.size === 0 ? [] : items
    const listed = new Map(compared.map((item) => [keyString(item), item.metadata.resourceVersion]))
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
    this.#tell()
    return deltas
  }

  /** Lays an own write over the watched state. */
  overlay(write: Write): void {
    switch (write._tag) {
      case "Deleted":
        // Which incarnation went is not known without a uid: better to show it a moment longer than to hide another.
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

  /** The deletion of an incarnation was accepted: of which, is a guess where the answer named none. */
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

  /** The object is at this resourceVersion. Under a filter nobody waits for what is not here: it may have to stay away. */
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
      // Under a filter it may only have left.
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
      // For whoever followed its last good state it has gone.
      if (watched !== undefined) deltas.push(changed("Deleted", watched))
      deltas.push({ _tag: "Invalid", raw, issues: decoded.failure.issues })
      return
    }
    this.#see(key, entry, decoded.success, after(entry.overlay, raw), deltas)
  }

  /** The object is the watched state from now on. */
  #see(key: string, entry: Entry<A>, object: A, overlay: Overlay<A> | undefined, deltas: Array<Delta<A>>): void {
    const { watched } = entry
    if (this.#invalid.size > 0) this.#invalid.delete(key)
    this.#update(key, entry, object, overlay)
    if (watched === undefined) deltas.push(changed("Added", object))
    else if (watched.metadata.uid === object.metadata.uid) deltas.push(updated(watched, object))
    else deltas.push(changed("Deleted", watched), changed("Added", object))
  }

  /** The watch says the object is gone; `last` is its final state, where the watch gave one. */
  #remove(key: string, watched: A | undefined, deltas: Array<Delta<A>>, last?: KubeObject): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#update(key, entry, undefined, last === undefined ? entry.overlay : after(entry.overlay, last))
    if (watched === undefined) return
    if (last === undefined) this.#marks.seen(key, "0", watched.metadata.uid, this.#options.filtered === false)
    deltas.push(changed("Deleted", watched))
  }

  /**
   * Drops overlays the watch has passed: the oldest first, so that it costs nothing while none is due. Those of keys
   * that were reported on are gone already; the rest only hide what is not there.
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

  /** Brings everything derived from an entry up to date; `before` is what was visible. */
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

  /** What was made of an object's text is of the store's kind, as `decode` would say: a lazy kind has no Schema. */
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

  /** Where nothing was deleted, as in most stores, no uid is hashed to look for it. */
  #isBuried({ metadata }: A): boolean {
    return this.#graves.size > 0 && this.#graves.has(metadata.uid)
  }
}

/** What is left of an overlay once the watch has reported on the object: a report as new as the write overtakes it. */
const after = <A>(overlay: Overlay<A> | undefined, reported: KubeObject): Overlay<A> | undefined =>
  overlay !== undefined && compareResourceVersions(reported.metadata.resourceVersion, overlay.resourceVersion) < 0
    ? overlay
    : undefined

/** Whether anything is known of the key: only then the entry is kept. */
const holds = <A>({ overlay, watched }: Entry<A>): boolean => watched !== undefined || overlay !== undefined

const put = (set: Set<string>, key: string, belongs: boolean): void => {
  if (belongs) set.add(key)
  else if (set.size > 0) set.delete(key)
}
