/**
 * `WorkQueue`: the keys that a controller has to reconcile, handed out one at a time per key.
 *
 * `QueueState` decides which key is next. This shell adds the clock, the waiting workers, the delays after failures,
 * and the optional limits. Adding is synchronous and never blocks. Keys merge, and keys of deleted objects are taken
 * back (`internal/waking`), so the queue is never longer than the number of objects. Nothing polls: one timer sleeps
 * until exactly the earliest moment something is due.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Alarm from "./internal/Alarm.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import { TokenBucket } from "./internal/TokenBucket.ts"
import { type Item, type KeyState, QueueState } from "./QueueState.ts"
import type { Reason } from "./Trigger.ts"

/** Priorities, in turns of head start: see `QueueState`. */
export const priorities = {
  /** For what existed when the program started, and for periodic resyncs. */
  background: -100,
  /** For changes. */
  normal: 0
} as const

/** Delays after failures of one key: 5 ms, doubled each time up to 16 min, without end. */
export const defaultRetry: Schedule.Schedule<unknown, unknown> = Schedule.min([
  Schedule.exponential("5 millis", 2),
  Schedule.spaced("16 minutes")
])

/** A token bucket: on average `limit` keys are handed out per `interval`, and at most `limit` at once after a pause. */
export interface Rate {
  readonly limit: number
  readonly interval: Duration.Input
}

/** Callbacks for metrics of the queue. Called synchronously; times in milliseconds. */
export interface Monitor {
  readonly added: () => void
  readonly taken: (waited: number) => void
  readonly retried: () => void
}

export interface Options {
  /**
   * Delays after failures of one key, chosen by error. When the schedule ends, the key rests until something adds it,
   * and then gets the whole schedule again. A key that is added before its delay is over, and fails again, waits for
   * the same moment: unrelated triggers do not lengthen its delays. If the schedule throws, the delay of `defaultRetry`
   * applies.
   */
  readonly retry?: Schedule.Schedule<unknown, unknown> | undefined
  /** How long an added key waits to be merged with further adds; not at all by default. */
  readonly debounce?: Duration.Input | undefined
  /** No limit by default. */
  readonly rate?: Rate | undefined
  /** Which keys use up the rate; all by default. Keys for which nothing will be done should not. */
  readonly counts?: ((key: string) => boolean) | undefined
  readonly monitor?: Monitor | undefined
}

/** Number of keys in each phase. */
export interface Stats {
  readonly ready: number
  readonly waiting: number
  readonly processing: number
}

/** The result of processing a key. */
export type Outcome = Settled | Failed

/** A result that determines what is next by itself. */
export type Settled =
  | { readonly _tag: "Done" }
  /** Process again after `delay` milliseconds; 0 for at once, behind the other keys. */
  | { readonly _tag: "Again"; readonly delay: number }
  /** Failed; retried after `delay` milliseconds, as returned by `retryIn`. */
  | { readonly _tag: "Retry"; readonly delay: number }
  /** Failed; not retried until something adds the key. */
  | { readonly _tag: "Rest" }

/** Upper limit of a server's Retry-After for a key, in milliseconds: a minute is meant, a day is a mistake. */
export const longestRetryAfter = 16 * 60_000

/**
 * Failed; retried after the schedule's delay for the error, but not before `atLeast` milliseconds, at most 16 minutes.
 */
export interface Failed {
  readonly _tag: "Failed"
  readonly error: unknown
  readonly atLeast?: number | undefined
}

export interface WorkQueue {
  /** Requests that the key is processed as soon as possible, or after the debounce time. */
  readonly add: (key: string, reason: Reason, priority?: number) => void
  /** Requests that the key is processed after `delay` milliseconds, or earlier if something else requests that. */
  readonly addAfter: (key: string, delay: number, reason: Reason, priority?: number) => void
  /**
   * Withdraws the requests for a key that no worker has had since it became known. True if the key is unknown then;
   * false, without effect, if a worker has it or will get it again.
   */
  readonly withdraw: (key: string) => boolean
  /** The next key, which the worker has to itself until `done`. None once the queue drains. */
  readonly take: Effect.Effect<Option.Option<Item>>
  /** The next key, if one is available at once and nobody waits for it. */
  readonly takeUnsafe: () => Item | undefined
  /** Delays the next run of a key being processed until at least `delay` milliseconds from now. */
  readonly hold: (key: string, delay: number) => void
  /**
   * The delay before the next attempt after a failure, in milliseconds; undefined if there is to be none. The worker
   * keeps the key, so that it can report the latter before anybody else gets the key.
   */
  readonly retryIn: (key: string, failure: Omit<Failed, "_tag">) => Effect.Effect<number | undefined>
  /** Gives the key back. Returns the delay before the next attempt in milliseconds; undefined if there will be none. */
  readonly done: (key: string, outcome: Outcome) => Effect.Effect<number | undefined>
  /** Like `done`, but synchronous, for outcomes that need no schedule. */
  readonly doneUnsafe: (key: string, outcome: Settled) => number | undefined
  readonly stats: () => Stats
  /** Number of ready keys of a priority. */
  readonly readyAt: (priority: number) => number
  /** Keys being processed, and since when, in milliseconds since the epoch. */
  readonly processing: () => ReadonlyMap<string, number>
  /** The same by a monotonic clock (`monotonicMillis`), to measure how long a run takes and to tell runs apart. */
  readonly handedOut: () => ReadonlyMap<string, number>
  /** All known keys and their states, for inspection. */
  readonly keys: () => ReadonlyArray<KeyState>
  /** Stops accepting and handing out keys; completes when none is being processed. */
  readonly drain: Effect.Effect<void>
  /** Completes when none of these keys is being processed. */
  readonly idle: (concerns: (key: string) => boolean) => Effect.Effect<void>
}

/** A queue that lives as long as the scope. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const clock = yield* Clock.Clock
  // Monotonic rather than wall-clock time, which can be set: delays are as long as intended.
  const now = (): number => monotonicMillis(clock)
  /** A moment of the queue as wall-clock time, for reports. */
  const timeOf = (moment: number): number => clock.currentTimeMillisUnsafe() - now() + moment
  const told = (moment: number | undefined): number | undefined => moment === undefined ? undefined : timeOf(moment)
  const state = new QueueState(now)
  const schedule = options.retry ?? defaultRetry
  const debounce = Duration.toMillis(Duration.fromInputUnsafe(options.debounce ?? 0))
  const bucket = options.rate === undefined ? undefined : bucketOf(options.rate)
  const retries = new Map<string, { readonly step: Steps; readonly instead: Steps; due: number }>()
  /** Workers waiting for a key; `idlers` wait for keys to be given back. */
  const takers = new Set<(item: Option.Option<Item>) => void>()
  const idlers = new Set<() => void>()
  let closed = false

  const alarm = yield* Alarm.make((now) => {
    state.promote(now)
    hand()
    return nextAt()
  })

  /** The next time at which something becomes due: a delay is over, or the rate lets a ready key through. */
  const nextAt = (): number | undefined => {
    if (closed) return undefined
    const limited = bucket !== undefined && state.ready > 0 && takers.size > 0 ? bucket.nextAt : Infinity
    const at = Math.min(state.nextAt ?? Infinity, limited)
    return at === Infinity ? undefined : at
  }

  const take1 = (): Item | undefined => {
    if (state.ready === 0) return undefined
    const at = now()
    if (bucket !== undefined && bucket.nextAt > at) return undefined
    const time = clock.currentTimeMillisUnsafe()
    const item = state.take(at, time - at)!
    if (options.counts?.(item.key) !== false) bucket?.take(at)
    options.monitor?.taken(time - item.readySince)
    return item
  }

  const takeUnsafe: WorkQueue["takeUnsafe"] = () => takers.size > 0 || closed ? undefined : take1()

  const hand = (): void => {
    if (takers.size === 0) return
    for (const taker of takers) {
      const item = closed ? undefined : take1()
      if (item === undefined && !closed) break
      takers.delete(taker)
      taker(Option.fromNullishOr(item))
    }
  }

  const retryIn: WorkQueue["retryIn"] = Effect.fnUntraced(function*(key, { atLeast = 0, error }) {
    const at = now()
    let retry = retries.get(key)
    if (retry === undefined) {
      retry = { step: stepsOf(schedule), instead: stepsOf(defaultRetry), due: 0 }
      retries.set(key, retry)
    }
    const { instead, step } = retry
    const time = clock.currentTimeMillisUnsafe()
    const scheduled = at < retry.due
      ? retry.due - at
      : yield* Effect.catchDefect(
        step(time, error),
        (defect) => Effect.andThen(Effect.logError(thrown(defect)), instead(time, error))
      )
    if (scheduled === undefined) return undefined
    const delay = Math.max(scheduled, Math.min(atLeast, longestRetryAfter))
    retry.due = at + delay
    return delay
  })

  const addAfter: WorkQueue["addAfter"] = (key, delay, reason, priority) => {
    if (closed) return
    options.monitor?.added()
    state.addAt(key, now() + delay, reason, priority)
    alarm.set(nextAt())
  }

  const add: WorkQueue["add"] = debounce > 0
    ? (key, reason, priority) => addAfter(key, debounce, reason, priority)
    : (key, reason, priority) => {
      if (closed) return
      options.monitor?.added()
      state.add(key, reason, priority)
      if (takers.size === 0) return
      hand()
      if (bucket !== undefined) alarm.set(nextAt())
    }

  const take: WorkQueue["take"] = Effect.callback<Option.Option<Item>>((resume) => {
    const taker = (item: Option.Option<Item>) => resume(Effect.succeed(item))
    takers.add(taker)
    hand()
    if (bucket !== undefined) alarm.set(nextAt())
    return Effect.sync(() => takers.delete(taker))
  })

  const doneUnsafe: WorkQueue["doneUnsafe"] = (key, outcome) => {
    const at = now()
    let delay: number | undefined = undefined
    switch (outcome._tag) {
      case "Done":
        state.succeed(key)
        break
      case "Again":
        delay = outcome.delay
        state.succeed(key, { at: at + delay, reason: { _tag: "Requeue" } })
        break
      case "Retry":
        delay = outcome.delay
        state.fail(key, { at: at + delay, reason: { _tag: "Retry" } })
        options.monitor?.retried()
        break
      case "Rest":
        state.fail(key)
    }
    if (outcome._tag !== "Retry") retries.delete(key)
    givenBack(at)
    return delay
  }

  const done: WorkQueue["done"] = (key, outcome) =>
    outcome._tag === "Failed"
      ? Effect.uninterruptible(
        Effect.map(
          retryIn(key, outcome),
          (delay) => doneUnsafe(key, delay === undefined ? { _tag: "Rest" } : { _tag: "Retry", delay })
        )
      )
      : Effect.sync(() => doneUnsafe(key, outcome))

  const givenBack = (at: number): void => {
    if (state.promote(at) || state.ready > 0) hand()
    if (idlers.size > 0) { for (const idler of idlers) idler() }
    alarm.set(nextAt())
  }

  const idle: WorkQueue["idle"] = (concerns) =>
    Effect.callback<void>((resume) => {
      const idler = () => {
        if (state.processing > 0 && state.processingSince().some(([key]) => concerns(key))) return
        idlers.delete(idler)
        resume(Effect.void)
      }
      idlers.add(idler)
      idler()
      return Effect.sync(() => idlers.delete(idler))
    })

  const drain: WorkQueue["drain"] = Effect.suspend(() => {
    closed = true
    hand()
    return idle(() => true)
  })

  return {
    add,
    addAfter,
    withdraw: (key) => state.withdraw(key),
    take,
    takeUnsafe,
    retryIn,
    hold: (key, delay) => state.hold(key, now() + delay),
    done,
    doneUnsafe,
    drain,
    idle,
    stats: () => ({ ready: state.ready, waiting: state.waiting, processing: state.processing }),
    readyAt: (priority) => state.readyAt(priority),
    processing: () => new Map(state.processingSince().map(([key, at]) => [key, timeOf(at)])),
    handedOut: () => new Map(state.processingSince()),
    keys: () => state.keys().map((key) => ({ ...key, readySince: told(key.readySince), due: told(key.due) }))
  } satisfies WorkQueue
})

const bucketOf = ({ interval, limit }: Rate): TokenBucket => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(interval))
  if (!(limit > 0) || !(millis > 0)) {
    throw new Error(`WorkQueue.make: rate: ${limit} in ${millis} ms: both must be above 0`)
  }
  return new TokenBucket(limit, millis)
}

/** The successive delays of a schedule, in milliseconds; undefined once it has ended. */
type Steps = (now: number, input: unknown) => Effect.Effect<number | undefined>

const stepsOf = (schedule: Schedule.Schedule<unknown, unknown>): Steps => {
  let step: Step | undefined
  return Effect.fnUntraced(function*(now, input) {
    step ??= yield* Schedule.toStep(schedule)
    return yield* step(now, input).pipe(
      Effect.map(([, delay]): number | undefined => Duration.toMillis(delay)),
      Pull.catchDone(() => Effect.undefined)
    )
  })
}

const thrown = (defect: unknown): string =>
  `retry: the schedule threw ${String(defect)}; the default delay is used: ` +
  "it must accept every error a reconcile fails with, and undefined if one died"

type Step = (now: number, input: unknown) => Pull.Pull<[unknown, Duration.Duration], never, unknown>
