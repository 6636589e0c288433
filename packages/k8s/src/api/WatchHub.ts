/**
 * `WatchHub`: the open watches, and what each of them sees of a change.
 *
 * A commit delivers its event to every matching watch before the write is answered. Each watch has an unbounded queue,
 * so a writer never waits for a reader. As on a real server, a watch that falls too far behind is ended, and its client
 * resumes from the last resourceVersion it saw. Opening a watch, its first events and its registration are one
 * synchronous step, so nothing is lost or duplicated in between. A watch exists from the moment its stream is run until
 * that ends; a stream that is not run costs nothing.
 *
 * Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { initialEventsEnd, type WatchEvent, type WireEvent } from "@effect-operator/core/WatchEvent"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { freeze } from "./Plain.ts"
import * as StatusError from "./StatusError.ts"
import type { Change, Storage } from "./Storage.ts"

export const defaults = {
  /** The interval of bookmarks, for a watch that allows them, in milliseconds. */
  bookmarkMillis: 60_000,
  /** How long before its end a watch gets its last bookmark, in milliseconds. */
  lastBookmarkMillis: 2_000,
  /** How many changes may be queued in a watch before it is ended. */
  backlog: 100_000
} as const

/** Objects of a collection: `""` for all namespaces; without `matches`, all objects. */
export interface Selection {
  readonly collection: string
  readonly namespace: string
  readonly matches?: (object: KubeObject) => boolean
  /** Deliver changes as committed, with the previous state, for a reader that filters later; `matches` is ignored. */
  readonly whole?: boolean
}

export interface WatchOptions extends Selection {
  /** Only changes after this revision; `undefined` to start with the existing objects. */
  readonly since: number | undefined
  /** Mark the end of the existing objects with a bookmark. */
  readonly markInitialEnd: boolean
  readonly bookmarks: boolean
  readonly timeoutMillis: number
  /** `apiVersion` and `kind` of bookmarks. */
  readonly apiVersion: string
  readonly kind: string
}

interface Watcher {
  readonly selection: Selection
  readonly queue: Queue.Queue<WireEvent, Cause.Done>
  readonly since: number
  /** The limit of queued events. */
  readonly capacity: number
}

/** The object with another resourceVersion, deep-frozen. */
const withRevision = (object: KubeObject, revision: number): KubeObject =>
  freeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } })

/**
 * What a watch with a selector sees of a change: an object that starts to match is ADDED; one that stops matching is
 * DELETED, with its previous state.
 */
export const visible = (
  change: Pick<Change, "type" | "object" | "previous" | "revision" | "event">,
  matches: ((object: KubeObject) => boolean) | undefined
): WatchEvent | undefined => {
  if (matches === undefined) return change.event
  const before = change.previous !== undefined && matches(change.previous)
  const after = change.type !== "DELETED" && matches(change.object)
  if (after) return before === (change.type === "MODIFIED") ? change.event : { type: "ADDED", object: change.object }
  if (!before) return undefined
  return change.type === "DELETED"
    ? change.event
    : { type: "DELETED", object: withRevision(change.previous!, change.revision) }
}

/** The event that a watch gets for a change. */
const seen = (change: Change, { matches, whole }: Selection): WireEvent | undefined =>
  whole === true ? change : visible(change, matches)

const bookmark = (options: WatchOptions, revision: number, end: boolean): WireEvent =>
  freeze({
    type: "BOOKMARK",
    object: {
      kind: options.kind,
      apiVersion: options.apiVersion,
      metadata: {
        resourceVersion: String(revision),
        ...(end ? { annotations: { [initialEventsEnd]: "true" } } : {})
      }
    }
  })

export class WatchHub {
  private readonly storage: Storage
  private readonly backlog: number
  /** By collection and namespace ("" for all), so that a change visits only the watches that can see it. */
  private readonly watchers = new Map<string, Map<string, Set<Watcher>>>()
  private count = 0
  /** How often `endAll` was called, by collection, or "" for all. */
  private readonly endings = new Map<string, number>()
  /** When `renew` was called last, by collection. */
  private readonly beginnings = new Map<string, number>()

  constructor(storage: Storage, backlog: number = defaults.backlog) {
    this.storage = storage
    this.backlog = backlog
    storage.listen((change) => this.publish(change))
  }

  /** The number of open watches. */
  get open(): number {
    return this.count
  }

  private publish(change: Change): void {
    const namespaces = this.watchers.get(change.collection)
    if (namespaces === undefined) return
    this.tell(change, namespaces.get(""))
    if (change.namespace !== "") this.tell(change, namespaces.get(change.namespace))
  }

  private tell(change: Change, watchers: Iterable<Watcher> = []): void {
    for (const watcher of watchers) {
      if (change.revision <= watcher.since) continue
      const event = seen(change, watcher.selection)
      if (event === undefined) continue
      Queue.offerUnsafe(watcher.queue, event)
      if (Queue.sizeUnsafe(watcher.queue) > watcher.capacity) this.end(watcher)
    }
  }

  private add(watcher: Watcher): void {
    const { collection, namespace } = watcher.selection
    let namespaces = this.watchers.get(collection)
    if (namespaces === undefined) this.watchers.set(collection, namespaces = new Map())
    let watchers = namespaces.get(namespace)
    if (watchers === undefined) namespaces.set(namespace, watchers = new Set())
    watchers.add(watcher)
    this.count += 1
  }

  private remove(watcher: Watcher): void {
    const { collection, namespace } = watcher.selection
    const namespaces = this.watchers.get(collection)
    const watchers = namespaces?.get(namespace)
    if (namespaces === undefined || watchers?.delete(watcher) !== true) return
    this.count -= 1
    if (watchers.size === 0) namespaces.delete(namespace)
    if (namespaces.size === 0) this.watchers.delete(collection)
  }

  /** Ends a watch after its queued events have been delivered. */
  private end(watcher: Watcher): void {
    this.remove(watcher)
    Queue.endUnsafe(watcher.queue)
  }

  /**
   * Ends all watches of a collection and forgets its changes so far, as when its definition is deleted or changed: its
   * objects then get a new store, whose cache begins with what is there.
   */
  renew(collection: string): void {
    this.beginnings.set(collection, this.storage.revision)
    this.endAll(collection)
  }

  /** Ends all watches of a collection; without one, all watches. */
  endAll(collection?: string): void {
    this.endings.set(collection ?? "", (this.endings.get(collection ?? "") ?? 0) + 1)
    const ending = collection === undefined ? [...this.watchers.values()] : [this.watchers.get(collection) ?? new Map()]
    const watchers = ending.flatMap((namespaces) => [...namespaces.values()].flatMap((set) => [...set]))
    for (const watcher of watchers) this.end(watcher)
  }

  private endingsOf(collection: string): number {
    return (this.endings.get("") ?? 0) + (this.endings.get(collection) ?? 0)
  }

  /**
   * The existing objects, or the changes since a revision, as events. `undefined` if these changes are not known any
   * more: only those since the revision `beginning` are.
   */
  private firstEvents(options: WatchOptions, beginning: number): Array<WireEvent> | undefined {
    const { collection, matches, namespace, since } = options
    if (since === undefined) {
      const { get, keys } = this.storage.list(collection, namespace)
      const objects = keys.map(get)
      return (matches === undefined ? objects : objects.filter(matches)).map((object) => ({ type: "ADDED", object }))
    }
    if (since < beginning) return undefined
    const events: Array<WireEvent> = []
    for (const change of this.storage.changesAfter(since, collection)) {
      if (namespace !== "" && namespace !== change.namespace) continue
      const event = seen(change, options)
      if (event !== undefined) events.push(event)
    }
    return events
  }

  private start(
    options: WatchOptions,
    queue: Watcher["queue"],
    asked: { readonly endings: number; readonly beginning: number }
  ): Watcher | undefined {
    const beginning = Math.max(this.storage.compacted, asked.beginning)
    const events = this.firstEvents(options, beginning)
    if (events === undefined) {
      const { body } = StatusError.tooOldResourceVersion(String(options.since), String(beginning))
      Queue.offerUnsafe(queue, { type: "ERROR", object: body })
      Queue.endUnsafe(queue)
      return undefined
    }
    if (options.markInitialEnd) events.push(bookmark(options, this.storage.revision, true))
    Queue.offerAllUnsafe(queue, events)
    const watcher = {
      selection: options,
      queue,
      since: options.since ?? this.storage.revision,
      capacity: this.backlog + events.length
    }
    this.add(watcher)
    // Ended between the request and the first read: earlier events are still delivered.
    if (this.endingsOf(options.collection) !== asked.endings) this.end(watcher)
    return watcher
  }

  /** Sends bookmarks about once a minute and shortly before the end, then ends the watch. */
  private readonly tick = (options: WatchOptions, watcher: Watcher) =>
    Effect.gen({ self: this }, function*() {
      const clock = yield* Clock.Clock
      const end = monotonicMillis(clock) + options.timeoutMillis
      const last = end - defaults.lastBookmarkMillis
      for (;;) {
        const now = monotonicMillis(clock)
        if (now >= end) break
        const next = now + defaults.bookmarkMillis
        const until = !options.bookmarks ? end : now < last ? Math.min(next, last) : end
        // Whole milliseconds: a fraction that the clock rounds away would make this loop spin.
        yield* Effect.sleep(Math.max(1, Math.ceil(until - now)))
        if (until < end && this.storage.revision >= watcher.since) {
          Queue.offerUnsafe(watcher.queue, bookmark(options, this.storage.revision, false))
        }
      }
      this.end(watcher)
    })

  /** The events of a watch. Never fails; a version that is too old is an ERROR event. */
  watch(options: WatchOptions): Stream.Stream<WireEvent> {
    if (options.timeoutMillis <= 0) return Stream.empty
    const asked = {
      endings: this.endingsOf(options.collection),
      beginning: this.beginnings.get(options.collection) ?? 0
    }
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      const queue = yield* Queue.unbounded<WireEvent, Cause.Done>()
      const watcher = yield* Effect.acquireRelease(
        Effect.sync(() => this.start(options, queue, asked)),
        (watcher) => Effect.sync(() => watcher === undefined ? undefined : this.remove(watcher))
      )
      if (watcher !== undefined) yield* Effect.forkScoped(this.tick(options, watcher))
      return Stream.fromQueue(queue)
    }))
  }
}
