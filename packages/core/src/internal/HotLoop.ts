/**
 * `HotLoop`: finds keys that write the same content over and over, and says how long to hold them back.
 *
 * Two controllers that undo each other's change, a reconciler that creates what it does not find because it looks in
 * the wrong place, a status with the time in it: each writes again what it wrote a moment ago, and does so as fast as
 * the server answers. A reconcile is suspicious if it writes something (times and metadata of the server aside) that an
 * earlier one of the same key wrote, less than `gap` after it; after `threshold` of them in a row the key is held back,
 * twice as long each time. The first reconcile that writes nothing, or nothing it wrote before, ends that.
 */
import type { Write } from "../Client.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"

export const defaults = {
  /** Reconciles in a row that may write what the key wrote before. */
  threshold: 10,
  /** Writes further apart than this many milliseconds make no loop, be they ever so equal. */
  gap: 1_000,
  /** The first hold, and the longest, in milliseconds. */
  first: 100,
  longest: 60_000,
  /** Writes remembered of a key. */
  remembered: 256
} as const

interface Trail {
  readonly written: Set<string>
  suspicious: number
  last: number
  hold: number
}

export class HotLoop {
  readonly #trails = new Map<string, Trail>()

  /**
   * Called after each reconcile with what it wrote. Answers how many milliseconds to hold the key back, 0 for not at
   * all.
   */
  judge(key: string, writes: ReadonlyArray<string>, now: number): number {
    const trail = this.#trails.get(key)
    if (writes.length === 0) {
      this.#trails.delete(key)
      return 0
    }
    if (trail === undefined || now - trail.last > defaults.gap + 2 * trail.hold) {
      this.#trails.set(key, { written: new Set(writes), suspicious: 0, last: now, hold: 0 })
      return 0
    }
    const repeats = writes.some((write) => trail.written.has(write))
    for (const write of writes) if (trail.written.size < defaults.remembered) trail.written.add(write)
    trail.last = now
    trail.suspicious = repeats ? trail.suspicious + 1 : 0
    trail.hold = trail.suspicious < defaults.threshold
      ? 0
      : Math.min(defaults.longest, Math.max(defaults.first, trail.hold * 2))
    return trail.hold
  }

  /** Keys under suspicion. */
  get size(): number {
    return this.#trails.size
  }
}

/** What a write makes of which object, without what differs each time. */
export const digest = (write: Write): string => {
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
