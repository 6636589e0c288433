/**
 * `WorkQueue`: the keys a controller has to reconcile, handed out one at a time per key.
 *
 * `QueueState` says which key is next; this shell adds the clock, the waiting workers and the delays after failures.
 * Adding is synchronous and never blocks: keys merge, so the queue is never longer than the number of objects. Nothing
 * polls: one timer sleeps until the earliest delay is over, exactly.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import { type Item, QueueState } from "./QueueState.ts"
import type { Reason } from "./Trigger.ts"

/** Delays after failures of one key: 5 ms, doubled each time, at most 16 min, without end. */
export const defaultRetry: Schedule.Schedule<unknown, unknown> = Schedule.min([
  Schedule.exponential("5 millis", 2),
  Schedule.spaced("16 minutes")
])

export interface Options {
  /**
   * Delays after failures of one key, chosen by error. When it ends, the key rests until something adds it, and then
   * has the whole schedule again. A key that something adds before its delay is over, and that fails again, waits for
   * the same moment: unrelated triggers do not lengthen its delays.
   */
  readonly retry?: Schedule.Schedule<unknown, unknown> | undefined
}

/** How many keys are where. */
export interface Stats {
  readonly ready: number
  readonly waiting: number
  readonly processing: number
}

/** How the processing of a key went. */
export type Outcome =
  | { readonly _tag: "Done" }
  /** Again after `delay` milliseconds; 0 for at once, behind the other keys. */
  | { readonly _tag: "Again"; readonly delay: number }
  /** Again after the delay the schedule gives for the error, but not before `atLeast` milliseconds. */
  | { readonly _tag: "Failed"; readonly error: unknown; readonly atLeast?: number | undefined }
  /** Not again until something adds the key. */
  | { readonly _tag: "Rest" }

export interface WorkQueue {
  /** The key is to be processed as soon as possible. */
  readonly add: (key: string, reason: Reason) => void
  /** The key is to be processed after `delay` milliseconds, or earlier if something else wants it earlier. */
  readonly addAfter: (key: string, delay: number, reason: Reason) => Effect.Effect<void>
  /** The next key: the worker has it to itself until `done`. None once the queue drains. */
  readonly take: Effect.Effect<Option.Option<Item>>
  /** Gives the key back. Answers the delay before the next attempt in milliseconds, where there will be one. */
  readonly done: (key: string, outcome: Outcome) => Effect.Effect<number | undefined>
  readonly stats: () => Stats
  /** No key is accepted or handed out any more; completes when none is being processed. */
  readonly drain: Effect.Effect<void>
}

/** A queue that lives as long as the scope. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const state = new QueueState()
  const timer = yield* FiberHandle.make<void>()
  const schedule = options.retry ?? defaultRetry
  const retries = new Map<string, { readonly step: Step; due: number }>()
  /** Workers waiting for a key, and those waiting for the last key to be given back. */
  const takers = new Set<(item: Option.Option<Item>) => void>()
  const drainers = new Set<() => void>()
  let armedFor = Infinity
  let closed = false

  const hand = (): void => {
    for (const taker of takers) {
      const item = closed ? undefined : state.take()
      if (item === undefined && !closed) return
      takers.delete(taker)
      taker(Option.fromNullishOr(item))
    }
  }

  /** Makes the timer sleep until the earliest delay. */
  const arm: Effect.Effect<void> = Effect.suspend(() => {
    const at = state.nextAt
    if (at === undefined || at >= armedFor || closed) return Effect.void
    armedFor = at
    return Effect.asVoid(FiberHandle.run(timer, ring(at)))
  })

  const ring = (at: number): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.andThen(
        Effect.sleep(Math.max(0, at - now)),
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          armedFor = Infinity
          if (state.promote(now)) hand()
          // The timer cannot replace itself from within: the next one is started beside it.
          return Effect.suspend(() => {
            const next = state.nextAt
            if (next === undefined || closed) return Effect.void
            armedFor = next
            return ring(next)
          })
        })
      ))

  /** The delay after a failure; nothing if there is to be no other attempt. */
  const nextDelay = Effect.fnUntraced(function*(key: string, error: unknown, now: number, atLeast: number) {
    let retry = retries.get(key)
    if (retry === undefined) {
      retry = { step: yield* Schedule.toStep(schedule), due: 0 }
      retries.set(key, retry)
    }
    const scheduled = now < retry.due ? retry.due - now : yield* retry.step(now, error).pipe(
      Effect.map(([, delay]): number | void => Duration.toMillis(delay)),
      Pull.catchDone(() => Effect.void)
    )
    if (typeof scheduled !== "number") return undefined
    const delay = Math.max(scheduled, atLeast)
    retry.due = now + delay
    return delay
  })

  const add: WorkQueue["add"] = (key, reason) => {
    if (closed) return
    state.add(key, reason)
    if (takers.size > 0) hand()
  }

  const addAfter: WorkQueue["addAfter"] = (key, delay, reason) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (closed) return Effect.void
      state.addAt(key, now + delay, reason)
      return arm
    })

  const take: WorkQueue["take"] = Effect.callback<Option.Option<Item>>((resume) => {
    const item = closed ? undefined : state.take()
    if (item !== undefined || closed) return resume(Effect.succeed(Option.fromNullishOr(item)))
    const taker = (item: Option.Option<Item>) => resume(Effect.succeed(item))
    takers.add(taker)
    return Effect.sync(() => takers.delete(taker))
  })

  const done: WorkQueue["done"] = Effect.fnUntraced(function*(key, outcome) {
    const now = yield* Clock.currentTimeMillis
    let delay: number | undefined
    switch (outcome._tag) {
      case "Done":
        state.succeed(key)
        break
      case "Again":
        delay = outcome.delay
        state.succeed(key, { at: now + delay, reason: { _tag: "Requeue" } })
        break
      case "Failed":
        delay = yield* nextDelay(key, outcome.error, now, outcome.atLeast ?? 0)
        state.fail(key, delay === undefined ? undefined : { at: now + delay, reason: { _tag: "Retry" } })
        break
      case "Rest":
        state.fail(key)
        break
    }
    if (outcome._tag !== "Failed" || delay === undefined) retries.delete(key)
    if (state.promote(now) || state.ready > 0) hand()
    if (state.processing === 0) {
      for (const drainer of drainers) drainer()
    }
    yield* arm
    return delay
  })

  const drain: WorkQueue["drain"] = Effect.callback<void>((resume) => {
    closed = true
    hand()
    if (state.processing === 0) return resume(Effect.void)
    const drainer = () => resume(Effect.void)
    drainers.add(drainer)
    return Effect.sync(() => drainers.delete(drainer))
  })

  return {
    add,
    addAfter,
    take,
    done,
    drain,
    stats: () => ({ ready: state.ready, waiting: state.waiting, processing: state.processing })
  } satisfies WorkQueue
})

type Step = (now: number, input: unknown) => Pull.Pull<[unknown, Duration.Duration], never, unknown>
