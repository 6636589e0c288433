/**
 * The state machine of the work queue: synchronous, without a clock, so that it can be tested against a simple model.
 *
 * A key is in at most one place: ready, waiting for a time, or being processed. While it is being processed it is never
 * handed out again; an add in the meantime is remembered and makes it ready afterwards. Of several times the earliest
 * wins, and an immediate add beats them all. Merged adds keep their reasons and the highest of their priorities.
 * Ready keys are handed out in a `FairOrder`: namespaces take turns, a priority is a head start, nothing starves;
 * within a namespace and a priority, the key that has been ready longest goes first.
 */
import { DelayHeap, type Slot } from "./internal/DelayHeap.ts"
import { FairOrder, type Standing } from "./internal/FairOrder.ts"
import { Heap, type Indexed } from "./internal/Heap.ts"
import * as Reasons from "./internal/Reasons.ts"
import type { Reason } from "./Trigger.ts"

/** A key that was handed out. */
export interface Item {
  readonly key: string
  /** Why: each reason once, in order of arrival; see `Reasons` for very many. */
  readonly reasons: ReadonlyArray<Reason>
  /** Consecutive failures before this run. */
  readonly failures: number
  /** The highest priority requested. */
  readonly priority: number
  /** When it became ready. */
  readonly readySince: number
}

/** The state of a key, for inspection. */
export interface KeyState {
  readonly key: string
  readonly phase: "Idle" | "Ready" | "Waiting" | "Processing"
  /** When a ready key became ready. */
  readonly readySince: number | undefined
  /** When it becomes ready: a waiting key, or one being processed that requested another run. */
  readonly due: number | undefined
  readonly failures: number
  readonly priority: number
  readonly reasons: ReadonlyArray<Reason>
}

interface Entry extends Standing<Entry>, Indexed {
  readonly key: string
  /** Undefined until something adds the key, and again once it is handed out. */
  reasons: Reasons.Reasons | undefined
  phase: "Idle" | "Ready" | "Waiting" | "Processing"
  /** Added while being processed. */
  dirty: boolean
  /** The place of a waiting key among the times. */
  slot: Slot<Entry> | undefined
  /** The highest requested since the key was handed out. */
  priority: number | undefined
  /** The one it was handed out with: a key that requeues itself keeps it. */
  handed: number
  /** Not handed out before this time, whoever adds it; 0 if it is not held. */
  heldUntil: number
  readySince: number
  /** When it was last handed out, or `never`. */
  takenAt: number
  /** The earliest time requested while being processed. */
  at: number | undefined
  failures: number
}

export class QueueState {
  readonly #entries = new Map<string, Entry>()
  readonly #ready = new FairOrder<Entry>()
  readonly #waiting = new DelayHeap<Entry>()
  /**
   * The keys being processed, the one taken first at the top. Not a `Map`: one that is emptied again and again gets a
   * new table each time, and V8 places these so that only a collection of the whole heap frees the old ones.
   */
  readonly #processing = new Heap<Entry>((a, b) => a.takenAt < b.takenAt)
  readonly #now: () => number

  /** `now` stamps keys that become ready, and decides whether a hold is over. */
  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  get ready(): number {
    return this.#ready.size
  }

  /** Number of ready keys of a priority. */
  readyAt(priority: number): number {
    return this.#ready.waiting(priority)
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get processing(): number {
    return this.#processing.size
  }

  /** Keys being processed, and when they were handed out. Not for the hot path. */
  processingSince(): ReadonlyArray<readonly [key: string, at: number]> {
    return Array.from(this.#processing, ({ key, takenAt }) => [key, takenAt] as const)
  }

  /** Number of known keys: zero if nothing is to be done and nothing failed. */
  get size(): number {
    return this.#entries.size
  }

  /** All known keys. Not for the hot path. */
  keys(): ReadonlyArray<KeyState> {
    return Array.from(this.#entries.values(), (entry) => ({
      key: entry.key,
      phase: entry.phase,
      readySince: entry.phase === "Ready" ? entry.readySince : undefined,
      due: entry.phase === "Waiting" ? entry.slot?.at : entry.dirty ? this.#now() : entry.at,
      failures: entry.failures,
      priority: entry.priority ?? entry.handed,
      reasons: [...Reasons.list(entry.reasons)]
    }))
  }

  /** Requests that the key is processed as soon as possible. */
  add(key: string, reason: Reason, priority = 0): void {
    const entry = this.#ask(key, reason, priority)
    if (entry.phase === "Processing") entry.dirty = true
    else if (entry.phase !== "Ready") this.#makeReady(entry, this.#now())
  }

  /** Requests that the key is processed at a time, or earlier if something else requests that. */
  addAt(key: string, at: number, reason: Reason, priority = 0): void {
    const entry = this.#ask(key, reason, priority)
    if (entry.phase === "Processing") entry.at = Math.min(at, entry.at ?? at)
    else if (entry.phase !== "Ready" && (entry.slot === undefined || at < entry.slot.at)) this.#wait(entry, at)
  }

  /** Withdraws the requests for a key that was never handed out. True if the key is unknown then. */
  withdraw(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return true
    if (entry.takenAt !== never) return false
    this.#forget(entry)
    return true
  }

  /** Moves due keys to the ready ones; true if any moved. */
  promote(now: number): boolean {
    let moved = false
    for (let next = this.#waiting.peek(); next !== undefined && next.at <= now; next = this.#waiting.peek()) {
      // Only its hold was waited for; nothing requested the key.
      if (next.value.reasons === undefined) this.#forget(next.value)
      else this.#makeReady(next.value, now)
      moved = true
    }
    return moved
  }

  /** When the next waiting key is due. */
  get nextAt(): number | undefined {
    return this.#waiting.peek()?.at
  }

  /** Hands out the next key at time `now`; `shift` is added to the time at which it became ready. */
  take(now = 0, shift = 0): Item | undefined {
    const entry = this.#ready.take()
    if (entry === undefined) return undefined
    const item = {
      key: entry.key,
      reasons: Reasons.list(entry.reasons),
      failures: entry.failures,
      priority: entry.priority ?? 0,
      readySince: entry.readySince + shift
    }
    entry.reasons = undefined
    entry.takenAt = now
    entry.handed = item.priority
    entry.priority = undefined
    entry.phase = "Processing"
    entry.at = undefined
    this.#processing.push(entry)
    return item
  }

  /** The key was processed successfully; it may request another run at a time. */
  succeed(key: string, again?: { readonly at: number; readonly reason: Reason }): void {
    const entry = this.#release(key)
    entry.failures = 0
    this.#settle(entry, again)
  }

  /** Processing the key failed. Without a time it rests until something adds it. */
  fail(key: string, again?: { readonly at: number; readonly reason: Reason }): void {
    const entry = this.#release(key)
    entry.failures += 1
    this.#settle(entry, again)
  }

  /** Delays the next run of a key being processed until a time, whether something adds it or it requeues itself. */
  hold(key: string, until: number): void {
    this.#processed(key).heldUntil = until
  }

  #processed(key: string): Entry {
    const entry = this.#entries.get(key)
    if (entry?.phase !== "Processing") throw new Error(`WorkQueue: ${key} is not being processed`)
    return entry
  }

  #release(key: string): Entry {
    const entry = this.#processed(key)
    this.#processing.remove(entry)
    entry.phase = "Idle"
    return entry
  }

  #settle(entry: Entry, again: { readonly at: number; readonly reason: Reason } | undefined): void {
    if (again !== undefined) entry.reasons = Reasons.and(entry.reasons, again.reason)
    const at = again === undefined ? entry.at : Math.min(again.at, entry.at ?? again.at)
    entry.priority ??= entry.handed
    if (entry.dirty) this.#makeReady(entry, this.#now())
    else if (at !== undefined) this.#wait(entry, at)
    else if (entry.heldUntil > 0 && entry.heldUntil > this.#now()) this.#wait(entry, entry.heldUntil)
    else if (entry.failures === 0) this.#entries.delete(entry.key)
  }

  /** The entry of a key, with one more reason to process it. */
  #ask(key: string, reason: Reason, priority: number): Entry {
    const entry = this.#entry(key)
    entry.reasons = Reasons.and(entry.reasons, reason)
    if (entry.priority === undefined || priority > entry.priority) {
      entry.priority = priority
      if (entry.phase === "Ready") this.#makeReady(entry, this.#now())
    }
    return entry
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = {
        key,
        reasons: undefined,
        phase: "Idle",
        dirty: false,
        slot: undefined,
        index: 0,
        lane: undefined,
        tag: 0,
        entered: 0,
        before: undefined,
        after: undefined,
        priority: undefined,
        handed: 0,
        heldUntil: 0,
        readySince: 0,
        takenAt: never,
        at: undefined,
        failures: 0
      }
      this.#entries.set(key, entry)
    }
    return entry
  }

  #makeReady(entry: Entry, now: number): void {
    if (entry.heldUntil > now) return this.#hold(entry)
    if (entry.phase !== "Ready") entry.readySince = now
    this.#leave(entry)
    entry.phase = "Ready"
    entry.dirty = false
    entry.at = undefined
    this.#ready.enter(entry, namespaceOf(entry.key), entry.priority ?? 0)
  }

  /** Makes the key ready as soon as its hold is over. */
  #hold(entry: Entry): void {
    entry.dirty = false
    if (entry.phase !== "Waiting" || entry.slot!.at > entry.heldUntil) this.#wait(entry, entry.heldUntil)
  }

  #wait(entry: Entry, due: number): void {
    const at = entry.heldUntil === 0 ? due : Math.max(due, entry.heldUntil)
    this.#leave(entry)
    entry.phase = "Waiting"
    entry.at = undefined
    entry.slot = this.#waiting.push(at, entry)
  }

  #forget(entry: Entry): void {
    this.#leave(entry)
    entry.phase = "Idle"
    if (entry.failures === 0) this.#entries.delete(entry.key)
  }

  /** Removes a key from the ready or the waiting ones. */
  #leave(entry: Entry): void {
    this.#ready.leave(entry)
    if (entry.slot === undefined) return
    this.#waiting.remove(entry.slot)
    entry.slot = undefined
  }
}

const never = -1

const namespaceOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf("/")))
