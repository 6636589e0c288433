/**
 * `Source`: wakes a controller from outside its watches: a queue of webhooks, a timer, an API that must be polled.
 *
 * A source runs as long as its controller works: on the leading replica, while it leads. If replicas share the objects
 * (`Sharding`, `Ring`), it runs on each, and a key has an effect only where that replica owns the object. So input that
 * reaches a single replica, such as a request from outside, must be written to a place that all of them see.
 *
 * A source that fails or dies is logged, counted (`effect_operator_source_failures_total`) and restarted after a
 * growing delay. A source that ends is not restarted. Keys that are requested more than once before they are reconciled
 * merge, as always.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as Backoff from "./Backoff.ts"
import * as Cache from "./Cache.ts"
import { logFailure } from "./internal/logFailure.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import { keyString, type KubeObject, type ObjectKey } from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"

export const defaults = {
  /** Delay between a failure and the next start, in milliseconds. */
  backoff: { initial: 1_000, factor: 2, max: 30_000, jitter: 0.2 } satisfies Backoff.Backoff,
  /** After this many milliseconds without a failure, the delays start over. */
  healthyAfter: 60_000,
  /** How long a poll may take before a warning is logged, and again each time that has doubled. */
  overdue: "2 minutes"
} as const

/** Requests a reconcile of objects of the controller's kind. Synchronous; never blocks. */
export type Emit = (...keys: ReadonlyArray<ObjectKey>) => void

export interface Source<out R = never> {
  /** Appears in the reasons of a reconcile. */
  readonly name: string
  readonly run: (emit: Emit) => Effect.Effect<void, unknown, R>
}

/** Called for each failure of a source, and of what runs for it. */
export const OnFailure = Context.Reference<() => void>("@effect-operator/core/Source/OnFailure", {
  defaultValue: () => () => {}
})

/** Reconciles some objects for each element of a stream. */
export const stream = <A, E, R>(
  name: string,
  stream: Stream.Stream<A, E, R>,
  keys: (value: A) => ReadonlyArray<ObjectKey>
): Source<R> => ({
  name,
  run: (emit) =>
    Stream.runForEachArray(stream, (values) =>
      Effect.sync(() => {
        for (const value of values) emit(...keys(value))
      }))
})

/**
 * Runs an effect at once, and again `interval` after each result, which names the objects to reconcile. If it does not
 * complete, that is logged and it is waited for: give it an `Effect.timeout`, and it counts as failed.
 */
export const poll = <E, R>(
  name: string,
  interval: Duration.Input,
  keys: Effect.Effect<ReadonlyArray<ObjectKey>, E, R>
): Source<R> => ({
  name,
  run: (emit) =>
    Effect.forever(
      Effect.flatMap(
        Effect.raceFirst(keys, overdue(name, Duration.fromInputUnsafe(defaults.overdue))),
        (found) => Effect.andThen(Effect.sync(() => emit(...found)), Effect.sleep(interval))
      )
    )
})

/** Logs that a poll has taken `age`, and again each time that has doubled. */
const overdue = (
  name: string,
  age: Duration.Duration,
  since: Duration.Duration = Duration.zero
): Effect.Effect<never> =>
  Effect.sleep(Duration.subtract(age, since)).pipe(
    Effect.andThen(
      Effect.logWarning(
        `source ${name}: polling is blocked: its effect has been running for ${
          Duration.format(age)
        }: give it an Effect.timeout`
      )
    ),
    Effect.andThen(Effect.suspend(() => overdue(name, Duration.times(age, 2), age)))
  )

/** The same objects, at once and then every `interval`. */
export const every = (name: string, interval: Duration.Input, ...keys: ReadonlyArray<ObjectKey>): Source =>
  poll(name, Duration.fromInputUnsafe(interval), Effect.succeed(keys))

/**
 * Runs an effect for each cached object of a kind, for as long as the object exists: a subscription, a tail of a log, a
 * heartbeat. They run independently: one that fails or dies is restarted with a growing delay, one that ends stays
 * ended. The object is as it was at the start; `Cache.get` returns the current one. An object re-created under the same
 * name gets an effect of its own.
 */
export const each = <A extends KubeObject, Id extends string, E, R>(
  name: string,
  resource: Resource<A, Id>,
  run: (object: A, emit: Emit) => Effect.Effect<void, E, R>
): Source<R | Cache.Cached<Id>> => ({
  name,
  run: (emit) =>
    Effect.scoped(Effect.gen(function*() {
      const running = yield* FiberMap.make<string, void>()
      const begin = (object: A) => {
        const one: Source<R> = { name: `${name} of ${keyString(object)}`, run: () => run(object, emit) }
        return FiberMap.run(running, object.metadata.uid, keepRunning(one, emit))
      }
      yield* Stream.runForEach(Cache.changes(resource), (change) => {
        switch (change._tag) {
          case "Snapshot":
            return Effect.forEach(change.objects, begin, { discard: true })
          case "Added":
            return begin(change.object)
          case "Updated":
            return Effect.void
          case "Deleted":
            // One that is slow to end must not hold up the others.
            return Effect.forkChild(FiberMap.remove(running, change.object.metadata.uid), { startImmediately: true })
        }
      })
    }))
})

/** Runs a source until it ends, restarting it after each failure. */
export const keepRunning = Effect.fnUntraced(function*<R>(source: Source<R>, emit: Emit) {
  const onFailure = yield* OnFailure
  const clock = yield* Clock.Clock
  let failures = 0
  for (;;) {
    const started = monotonicMillis(clock)
    const exit = yield* Effect.exit(Effect.suspend(() => source.run(emit)))
    if (Exit.isSuccess(exit)) return yield* Effect.logDebug(`source ${source.name} has ended`)
    onFailure()
    const healthy = monotonicMillis(clock) - started >= defaults.healthyAfter
    failures = healthy ? 1 : failures + 1
    const delay = Backoff.delay(defaults.backoff, failures, yield* Random.next)
    yield* logFailure(Effect.logWarning, `source ${source.name} failed; restarting in ${delay} ms`, exit.cause)
    yield* Effect.sleep(delay)
  }
})
