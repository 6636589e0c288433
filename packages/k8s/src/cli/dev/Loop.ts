/**
 * `Loop`: what happens when a source changes; how it is done is `World`'s.
 *
 * The program is read again. If it cannot be read, or its kinds cannot be installed, that is reported and the running
 * operator stays. Otherwise the operator is stopped completely before the new one starts: there are never two. If an
 * operator ends by itself, that is reported, and the next change starts it again.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type { Description, Reading } from "../Description.ts"
import type { Failure } from "../Failure.ts"

/** A running operator. */
export interface Operator {
  /** Completes when it is ready. */
  readonly ready: Effect.Effect<void>
  /** Its exit code, or the signal that ended it. */
  readonly exited: Effect.Effect<number | string>
}

/** The operations of the loop. */
export interface World<R = never> {
  readonly read: Effect.Effect<Reading, never, R>
  readonly follow: (sources: ReadonlyArray<string>, anything: boolean) => Effect.Effect<void, Failure, R>
  readonly changed: Effect.Effect<string, never, R>
  /** Prepares the cluster for a program. */
  readonly install: (description: Description) => Effect.Effect<void, Failure, R>
  /** Starts the operator, which stops with the scope. */
  readonly start: (description: Description) => Effect.Effect<Operator, Failure, R | Scope.Scope>
  /** Runs once the operator is ready. */
  readonly whenReady: (description: Description) => Effect.Effect<void, Failure, R>
  readonly say: (line: string) => Effect.Effect<void>
  readonly warn: (line: string) => Effect.Effect<void>
}

const since = (start: number) => Effect.map(Clock.currentTimeMillis, (now) => `${((now - start) / 1000).toFixed(1)} s`)

/** Runs until it is interrupted; then the operator is stopped. */
export const run = <R>(world: World<R>): Effect.Effect<never, Failure, R> =>
  Effect.scoped(Effect.gen(function*() {
    const { say, warn } = world
    let scope: Scope.Closeable | undefined
    let alive = false

    const stop = Effect.suspend(() => {
      const old = scope
      scope = undefined
      alive = false
      return old === undefined ? Effect.void : Scope.close(old, Exit.void)
    })
    yield* Effect.addFinalizer(() => stop)

    const watchOver = (operator: Operator, description: Description, started: number) =>
      Effect.raceFirst(
        operator.ready.pipe(
          Effect.andThen(Effect.flatMap(since(started), (time) => say(`the operator is ready (${time})`))),
          Effect.andThen(Effect.catch(world.whenReady(description), ({ message }) => warn(message))),
          Effect.andThen(Effect.never)
        ),
        Effect.flatMap(operator.exited, (code) => {
          alive = false
          return warn(`the operator exited by itself with code ${code}: it is restarted when a source file changes`)
        })
      )

    const replace = Effect.fnUntraced(function*(description: Description) {
      const started = yield* Clock.currentTimeMillis
      yield* world.install(description)
      yield* stop
      const own = yield* Scope.make()
      scope = own
      const operator = yield* Scope.provide(world.start(description), own)
      alive = true
      yield* Effect.forkIn(watchOver(operator, description, started), own, { startImmediately: true })
    })

    while (true) {
      const reading = yield* world.read
      yield* world.follow(reading.sources, Result.isFailure(reading.description))
      const faults = Result.isFailure(reading.description)
        ? Result.fail(reading.description.failure)
        : yield* replace(reading.description.success).pipe(Effect.mapError(({ message }) => message), Effect.result)
      if (Result.isFailure(faults)) {
        yield* warn(`${faults.failure}\n${alive ? "the previous operator keeps running" : "waiting for a change"}`)
      }
      yield* say(`${yield* world.changed} changed`)
    }
  })) as Effect.Effect<never, Failure, R>
