/**
 * `Pace`: detects loops: too many requests while the clock stands still, and one object that is created again and again
 * while everyone waits for the cluster to come to rest.
 */
import { accepted, type Call, type Entry, line } from "../recording/Recording.ts"

export const defaults = {
  /** Requests at one time that make a hot loop, in addition to some for each object that they are about. */
  hot: 250,
  /** The same for changes of a single object: each may make the controllers of the cluster work. */
  again: 100,
  /** Requests at one time for each object: it is read and created, an event reports it, and a status counts it. */
  each: 4,
  /** Maximum number of objects handled at one time: a program that creates more creates them without end. */
  objects: 1_500,
  /** How often one object may be created until the cluster is at rest: work that fails is repeated a few times. */
  created: 60
} as const

export class Pace {
  #at = 0
  #requests = 0
  readonly #objects = new Set<string>()
  readonly #made = new Set<string>()
  readonly #changes = new Map<string, number>()
  readonly #created = new Map<string, number>()
  /** Whether an object has been created so often that the cluster will not come to rest. */
  endless = false

  /** Everyone begins to wait for the cluster to come to rest. */
  wait(): void {
    this.endless = false
    this.#created.clear()
  }

  /** Counts a request, the last of the entries. Returns why it is one too many. */
  hot(now: number, call: Call, entries: ReadonlyArray<Entry>): string | undefined {
    if (this.#at !== now) {
      this.#at = now
      this.#requests = 0
      this.#objects.clear()
      this.#made.clear()
      this.#changes.clear()
    }
    this.#requests += 1
    this.#note(call)
    const objects = this.#objects.size
    if (objects > defaults.objects) {
      return `${objects} objects at one moment, and more are being created: ${mostly(entries)}`
    }
    const some = defaults.each * objects
    return this.#requests > defaults.hot + some || this.#changed(call) > defaults.again + some
      ? `${this.#requests} requests while the clock stood still: ${mostly(entries)}`
      : undefined
  }

  /** How often, at this time, the object has been changed that a request is about. */
  #changed({ after, before, request: { method, path } }: Call): number {
    if ((method !== "PATCH" && method !== "PUT") || after === before) return 0
    const times = (this.#changes.get(path) ?? 0) + 1
    this.#changes.set(path, times)
    return times
  }

  /** Work that is created and deleted at the same time was not needed. */
  #note(call: Call): void {
    const { method, path } = call.request
    const what = method === "POST" ? `${path}/${call.object?.metadata.name ?? ""}` : path
    if (method === "DELETE" && this.#made.has(what)) {
      this.#objects.delete(what)
      return
    }
    this.#objects.add(what)
    if (method !== "POST" || !accepted(call)) return
    this.#made.add(what)
    const times = (this.#created.get(what) ?? 0) + 1
    this.#created.set(what, times)
    if (times > defaults.created) this.endless = true
  }
}

/** The most frequent target of the last requests. */
const mostly = (entries: ReadonlyArray<Entry>): string => {
  const lines = entries.flatMap((entry) => (entry._tag === "Call" ? [line(entry.request)] : [])).slice(-defaults.hot)
  const times = new Map<string, number>()
  for (const one of lines) times.set(one, (times.get(one) ?? 0) + 1)
  const [[most, n] = ["", 0]] = [...times].sort(([, a], [, b]) => b - a)
  return `${n} of the last ${lines.length} are ${most}`
}
