/**
 * `Source`: what wakes a controller besides its watches: a queue of webhooks, a timer, an API that must be polled.
 *
 * A source runs as long as its controller. One that fails or dies is logged and started again after a growing delay;
 * one that ends has said all it had to say. Keys that are asked
 * for more than once before they are reconciled merge, as ever.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as Backoff from "./Backoff.ts"
import type { ObjectKey } from "./KubeObject.ts"

export const defaults = {
  /** Between a failure and the next start. */
  backoff: { initial: 1_000, factor: 2, max: 30_000, jitter: 0.2 } satisfies Backoff.Backoff,
  /** After so many milliseconds without failure the delays begin anew. */
  healthyAfter: 60_000
} as const

/** Asks for the reconcile of objects of the controller's kind. Synchronous; never blocks. */
export type Emit = (...keys: ReadonlyArray<ObjectKey>) => void

export interface Source<out R = never> {
  /** Says in the reasons of a reconcile where it came from. */
  readonly name: string
  readonly run: (emit: Emit) => Effect.Effect<void, unknown, R>
}

/** Every element of a stream concerns some objects. */
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

/** Asks an effect at once, and then each `interval` after its answer, which objects are concerned. */
export const poll = <E, R>(
  name: string,
  interval: Duration.Input,
  keys: Effect.Effect<ReadonlyArray<ObjectKey>, E, R>
): Source<R> => ({
  name,
  run: (emit) =>
    Effect.forever(
      Effect.flatMap(keys, (found) => Effect.andThen(Effect.sync(() => emit(...found)), Effect.sleep(interval)))
    )
})

/** The same objects, at once and then each `interval`. */
export const every = (name: string, interval: Duration.Input, ...keys: ReadonlyArray<ObjectKey>): Source =>
  poll(name, Duration.fromInputUnsafe(interval), Effect.succeed(keys))

/** Runs a source until it ends, over all its failures. */
export const keepRunning = Effect.fnUntraced(function*<R>(source: Source<R>, emit: Emit) {
  let failures = 0
  for (;;) {
    const started = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(source.run(emit))
    if (Exit.isSuccess(exit)) return yield* Effect.logDebug(`source ${source.name} has ended`)
    const healthy = (yield* Clock.currentTimeMillis) - started >= defaults.healthyAfter
    failures = healthy ? 1 : failures + 1
    const delay = Backoff.delay(defaults.backoff, failures, yield* Random.next)
    yield* Effect.logWarning(`source ${source.name} failed, starts again in ${delay} ms`, exit.cause)
    yield* Effect.sleep(delay)
  }
})
