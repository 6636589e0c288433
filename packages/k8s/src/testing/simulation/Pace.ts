/** `Pace`: too many requests while the clock stands are a hot loop. */
import { type Entry, line } from "./Recording.ts"

export const defaults = {
  /** Requests at one moment that make a hot loop. */
  hot: 250
} as const

export class Pace {
  #at = 0
  #requests = 0

  /** Counts a request, the last of the entries; why it is one too many. */
  hot(now: number, entries: ReadonlyArray<Entry>): string | undefined {
    this.#requests = this.#at === now ? this.#requests + 1 : 1
    this.#at = now
    return this.#requests > defaults.hot
      ? `${defaults.hot} requests, and the clock has not moved: ${mostly(entries)}`
      : undefined
  }
}

/** What most of the last requests were about. */
const mostly = (entries: ReadonlyArray<Entry>): string => {
  const lines = entries.flatMap((entry) => (entry._tag === "Call" ? [line(entry.request)] : [])).slice(-defaults.hot)
  const times = new Map<string, number>()
  for (const one of lines) times.set(one, (times.get(one) ?? 0) + 1)
  const [[most, n] = ["", 0]] = [...times].sort(([, a], [, b]) => b - a)
  return `${n} of them ${most}`
}
