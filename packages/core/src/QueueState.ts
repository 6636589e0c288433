/**
 * The state machine of the work queue: synchronous, without a clock, so that it can be tested against a simple model.
 *
 * A key is in at most one place: ready, waiting for a time, or being processed. While it is being processed it is never
 * handed out again; what is added meanwhile is remembered and makes it ready when the processing is over. Of several
 * times the earliest wins, and an immediate add beats them all. Reasons of merged adds travel together.
 */
import { DelayHeap, type Slot } from "./internal/DelayHeap.ts"
import { id, type Reason } from "./Trigger.ts"

/** A key handed out. */
export interface Item {
  readonly key: string
  /** Why, each reason once, in the order they came. */
  readonly reasons: ReadonlyArray<Reason>
  /** Failures in a row before this. */
  readonly failures: number
}

interface Entry {
  readonly key: string
  reasons: Map<string, Reason>
  phase: "Idle" | "Ready" | "Waiting" | "Processing"
  /** Added while being processed. */
  dirty: boolean
  /** Where a waiting key is among the times. */
  slot: Slot<Entry> | undefined
  /** The earliest time asked for while being processed. */
  at: number | undefined
  failures: number
}

export class QueueState {
  readonly #entries = new Map<string, Entry>()
  /** In the order of getting ready: a Map keeps it. */
  readonly #ready = new Map<string, Entry>()
  readonly #waiting = new DelayHeap<Entry>()
  #processing = 0

  get ready(): number {
    return this.#ready.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get processing(): number {
    return this.#processing
  }

  /** Keys known, for whatever reason: zero when nothing is to be done and nothing failed. */
  get size(): number {
    return this.#entries.size
  }

  /** The key is to be processed as soon as possible. */
  add(key: string, reason: Reason): void {
    const entry = this.#entry(key)
    entry.reasons.set(id(reason), reason)
    if (entry.phase === "Processing") entry.dirty = true
    else if (entry.phase !== "Ready") this.#makeReady(entry)
  }

  /** The key is to be processed at a time, or earlier if something else wants it earlier. */
  addAt(key: string, at: number, reason: Reason): void {
    const entry = this.#entry(key)
    entry.reasons.set(id(reason), reason)
    if (entry.phase === "Processing") entry.at = Math.min(at, entry.at ?? at)
    else if (entry.phase !== "Ready" && (entry.slot === undefined || at < entry.slot.at)) this.#wait(entry, at)
  }

  /** Moves what is due to the ready keys; true if something moved. */
  promote(now: number): boolean {
    let moved = false
    for (let next = this.#waiting.peek(); next !== undefined && next.at <= now; next = this.#waiting.peek()) {
      this.#makeReady(next.value)
      moved = true
    }
    return moved
  }

  /** When the next waiting key is due. */
  get nextAt(): number | undefined {
    return this.#waiting.peek()?.at
  }

  /** Hands out the key that has been ready longest. */
  take(): Item | undefined {
    for (const entry of this.#ready.values()) {
      this.#ready.delete(entry.key)
      const reasons = [...entry.reasons.values()]
      entry.reasons = new Map()
      entry.phase = "Processing"
      entry.at = undefined
      this.#processing += 1
      return { key: entry.key, reasons, failures: entry.failures }
    }
    return undefined
  }

  /** The processing of a key succeeded; it may ask to be processed again at a time. */
  succeed(key: string, again?: { readonly at: number; readonly reason: Reason }): void {
    const entry = this.#release(key)
    entry.failures = 0
    this.#settle(entry, again)
  }

  /** The processing of a key failed. Without a time it rests until something adds it. */
  fail(key: string, again?: { readonly at: number; readonly reason: Reason }): void {
    const entry = this.#release(key)
    entry.failures += 1
    this.#settle(entry, again)
  }

  #release(key: string): Entry {
    const entry = this.#entries.get(key)
    if (entry?.phase !== "Processing") throw new Error(`WorkQueue: ${key} is not being processed`)
    this.#processing -= 1
    entry.phase = "Idle"
    return entry
  }

  #settle(entry: Entry, again: { readonly at: number; readonly reason: Reason } | undefined): void {
    if (again !== undefined) entry.reasons.set(id(again.reason), again.reason)
    const at = again === undefined ? entry.at : Math.min(again.at, entry.at ?? again.at)
    if (entry.dirty) this.#makeReady(entry)
    else if (at !== undefined) this.#wait(entry, at)
    else if (entry.failures === 0) this.#entries.delete(entry.key)
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { key, reasons: new Map(), phase: "Idle", dirty: false, slot: undefined, at: undefined, failures: 0 }
      this.#entries.set(key, entry)
    }
    return entry
  }

  #makeReady(entry: Entry): void {
    this.#unwait(entry)
    entry.phase = "Ready"
    entry.dirty = false
    entry.at = undefined
    this.#ready.set(entry.key, entry)
  }

  #wait(entry: Entry, at: number): void {
    this.#unwait(entry)
    entry.phase = "Waiting"
    entry.at = undefined
    entry.slot = this.#waiting.push(at, entry)
  }

  #unwait(entry: Entry): void {
    if (entry.slot !== undefined) this.#waiting.remove(entry.slot)
    entry.slot = undefined
  }
}
