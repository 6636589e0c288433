/**
 * `Agenda`: the work of a simulated controller, by key and time.
 *
 * A key is on the agenda at most once. One fiber sleeps until the earliest time and then processes everything that is
 * due, several keys concurrently, but never the same key twice at once. Work that fails is retried after a delay that
 * doubles from 50 ms to 30 s, until it succeeds or the key is removed; work that dies is logged and retried likewise.
 * Adding a key is synchronous and costs O(log n); nothing polls.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"

export const defaults = {
  /** The number of keys that are processed concurrently. */
  concurrency: 16,
  /** The first and the maximum delay after a failure, in milliseconds. */
  retryFirst: 50,
  retryLongest: 30_000
} as const

export interface Agenda {
  /** Schedules the key at a time (milliseconds of the Clock), replacing its previous time. */
  readonly at: (key: string, time: number) => void
  /** Schedules the key as soon as possible. */
  readonly now: (key: string) => void
  /** Schedules the key at a time, unless it is scheduled earlier already. */
  readonly soon: (key: string, time: number) => void
  /** Removes the key. */
  readonly forget: (key: string) => void
}

interface Entry {
  readonly key: string
  readonly time: number
}

/** Processes keys until the scope closes. */
export const make = Effect.fnUntraced(function*<E>(
  work: (key: string) => Effect.Effect<void, E>,
  concurrency: number = defaults.concurrency
): Effect.fn.Return<Agenda, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const due = new Map<string, number>()
  const failures = new Map<string, number>()
  const heap = new Heap()
  const earlier = Latch.makeUnsafe()
  let sleepingUntil = Infinity

  const at = (key: string, time: number): void => {
    if (due.get(key) === time) return
    due.set(key, time)
    heap.push({ key, time })
    if (time < sleepingUntil) earlier.openUnsafe()
  }

  const perform = (key: string): Effect.Effect<void> =>
    work(key).pipe(
      Effect.matchCauseEffect({
        onSuccess: () => Effect.sync(() => failures.delete(key)),
        onFailure: (cause) => {
          const failed = failures.get(key) ?? 0
          failures.set(key, failed + 1)
          const delay = Math.min(defaults.retryFirst * 2 ** failed, defaults.retryLongest)
          if (!due.has(key)) at(key, clock.currentTimeMillisUnsafe() + delay)
          return Cause.hasDies(cause) ? Effect.logError("simulated controller died", key, cause) : Effect.void
        }
      })
    )

  /** All keys that are due, in order. Heap entries whose key was rescheduled or removed are skipped. */
  const takeDue = (): ReadonlyArray<string> => {
    const now = clock.currentTimeMillisUnsafe()
    const keys: Array<string> = []
    for (let first = heap.peek(); first !== undefined && first.time <= now; first = heap.peek()) {
      heap.pop()
      if (due.get(first.key) !== first.time) continue
      due.delete(first.key)
      keys.push(first.key)
    }
    return keys
  }

  const loop = Effect.gen(function*() {
    for (;;) {
      const keys = takeDue()
      if (keys.length > 0) {
        yield* Effect.forEach(keys, perform, { concurrency, discard: true })
        continue
      }
      earlier.closeUnsafe()
      const next = heap.peek()?.time
      sleepingUntil = next ?? Infinity
      yield* next === undefined
        ? earlier.await
        : Effect.timeoutOption(earlier.await, next - clock.currentTimeMillisUnsafe())
      sleepingUntil = -Infinity
    }
  })

  yield* Effect.forkScoped(loop)
  return {
    at,
    now: (key) => at(key, clock.currentTimeMillisUnsafe()),
    soon: (key, time) => {
      if (!((due.get(key) ?? Infinity) <= time)) at(key, time)
    },
    forget: (key) => {
      due.delete(key)
      failures.delete(key)
    }
  }
})

/** A binary heap with the earliest entry on top. */
class Heap {
  private readonly entries: Array<Entry> = []

  peek(): Entry | undefined {
    return this.entries[0]
  }

  push(entry: Entry): void {
    const { entries } = this
    let at = entries.length
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (entries[parent]!.time <= entry.time) break
      entries[at] = entries[parent]!
      at = parent
    }
    entries[at] = entry
  }

  pop(): void {
    const { entries } = this
    const last = entries.pop()
    const size = entries.length
    if (last === undefined || size === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && entries[child + 1]!.time < entries[child]!.time) child += 1
      if (last.time <= entries[child]!.time) break
      entries[at] = entries[child]!
      at = child
    }
    entries[at] = last
  }
}
