/**
 * `HotLoop`: finds keys that write the same content over and over, and says how long to hold them back.
 *
 * Two controllers that undo each other's changes, a reconciler that creates what it does not find because it looks in
 * the wrong place, a status that contains the time: each writes again what it wrote a moment ago, as fast as the server
 * responds. A reconcile is suspicious if it writes something (ignoring times and server metadata) that an earlier one
 * of the same key wrote, less than `gap` after it. After `threshold` of them in a row the key is held back, twice as
 * long each time. The first reconcile that writes something new ends that, and so does a pause without writes. A
 * reconcile that writes nothing does not: two controllers that undo each other are also woken by their own writes.
 *
 * Most keys write once and rest: what a key wrote is digested only if it writes again in time, and forgotten otherwise.
 */
import * as Exit from "effect/Exit"
import type { Action } from "../Action.ts"
import type { Write } from "../Client.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"

export const defaults = {
  /** Consecutive reconciles that may write what the key wrote before. */
  threshold: 10,
  /** Writes further apart than this, in milliseconds, are no loop, even if they are equal. */
  gap: 1_000,
  /** The first hold, and the longest, in milliseconds. */
  first: 100,
  longest: 60_000,
  /** Maximum number of writes remembered for a key. */
  remembered: 256
} as const

/** A write, or a text for what counts as one. */
export type Sign = Write | string

/** What a reconcile that does nothing but request another run at once counts as writing. */
const atOnce: ReadonlyArray<Sign> = ["another run at once"]

const asksAtOnce = (exit: Exit.Exit<Action, unknown>): boolean =>
  Exit.isSuccess(exit) && (exit.value._tag === "Requeue" || exit.value._tag === "RequeueAfter" && exit.value.delay < 1)

/** What a reconcile that ended so counts as writing. */
export const signsOf = (writes: ReadonlyArray<Write>, exit: Exit.Exit<Action, unknown>): ReadonlyArray<Sign> =>
  writes.length === 0 && asksAtOnce(exit) ? atOnce : writes

interface Trail {
  /** What it wrote first, until it writes again. */
  unread: ReadonlyArray<Sign>
  readonly written: Set<string>
  suspicious: number
  last: number
  hold: number
}

const isOver = ({ hold, last }: Trail, now: number): boolean => now - last > defaults.gap + 2 * hold

export class HotLoop {
  /** The key that wrote last is last. */
  readonly #trails = new Map<string, Trail>()

  /**
   * Called after each reconcile with its writes. Returns for how many milliseconds to hold the key back; 0 for not at
   * all.
   */
  judge(key: string, writes: ReadonlyArray<Sign>, now: number): number {
    if (this.#trails.size > 0) this.#forget(now)
    if (writes.length === 0) return 0
    const trail = this.#trails.get(key)
    if (trail !== undefined) this.#trails.delete(key)
    if (trail === undefined || isOver(trail, now)) {
      this.#trails.set(key, { unread: writes, written: new Set(), suspicious: 0, last: now, hold: 0 })
      return 0
    }
    this.#trails.set(key, trail)
    remember(trail, trail.unread.map(digest))
    trail.unread = []
    const digests = writes.map(digest)
    const repeats = digests.some((write) => trail.written.has(write))
    remember(trail, digests)
    trail.last = now
    trail.suspicious = repeats ? trail.suspicious + 1 : 0
    trail.hold = trail.suspicious < defaults.threshold
      ? 0
      : Math.min(defaults.longest, Math.max(defaults.first, trail.hold * 2))
    return trail.hold
  }

  #forget(now: number): void {
    for (const [key, trail] of this.#trails) {
      if (!isOver(trail, now)) return
      this.#trails.delete(key)
    }
  }

  /** Number of keys whose writes are remembered. */
  get size(): number {
    return this.#trails.size
  }
}

const remember = ({ written }: Trail, digests: ReadonlyArray<string>): void => {
  for (const write of digests) if (written.size < defaults.remembered) written.add(write)
}

/** What a write does to which object, without what differs each time. */
export const digest = (write: Sign): string => {
  if (typeof write === "string") return write
  if (write._tag === "Deleted" || write._tag === "Deleting") {
    return `delete ${write.resource.id} ${keyString(write.key)}`
  }
  if (write._tag === "Changed") {
    const { answer, key, resource, subresource } = write
    return `${resource.id}/${subresource} ${keyString(key)} ${JSON.stringify(content(answer as KubeObject))}`
  }
  const { object, resource } = write
  const { generateName, name } = object.metadata
  const target = generateName === undefined || generateName === "" ? name : generateName
  return `${resource.id} ${object.metadata.namespace ?? ""}/${target} ${JSON.stringify(content(object))}`
    .replace(times, "")
}

const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

const content = (object: KubeObject): unknown => {
  const {
    creationTimestamp: _,
    generation: __,
    managedFields: ___,
    name: ____,
    resourceVersion: _____,
    uid: ______,
    ...metadata
  } = object.metadata
  return { ...object, metadata }
}
