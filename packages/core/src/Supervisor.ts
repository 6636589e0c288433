/**
 * `Supervisor`: nothing dies quietly.
 *
 * A background fiber that fails or dies would otherwise go unnoticed: neither its parent nor `Layer.launch` looks at
 * it. Everything that runs in the background is started through a supervisor, which keeps the first failure and passes
 * it to those who wait. Being interrupted is not a failure: it is how a part is stopped. Interrupting itself is one.
 *
 * The main program is told of the failures of all its supervisors through `Above`.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

export interface Supervisor {
  /** Runs an endless part in the scope. If it ends in any other way than by interruption, that is a failure. */
  readonly run: <E, R>(
    name: string,
    part: Effect.Effect<unknown, E, R>
  ) => Effect.Effect<Fiber.Fiber<void>, never, R | Scope.Scope>
  /** Fails with the first part that failed, and names it. */
  readonly failure: Effect.Effect<never, PartFailed>
  /** The first part that failed. */
  readonly failed: () => PartFailed | undefined
  /** Names of the running parts. */
  readonly running: () => ReadonlyArray<string>
}

/**
 * A background part ended. The cause is the part's; the message, which health checks show, names the part and the
 * reason in one line.
 */
export class PartFailed extends Error {
  readonly _tag = "PartFailed"
  override readonly name = "PartFailed"
  readonly part: string
  override readonly cause: Cause.Cause<unknown>

  constructor(part: string, cause: Cause.Cause<unknown>) {
    super(`${part} ended: ${Cause.prettyErrors(cause).map(({ message }) => message).join("; ")}`)
    this.part = part
    this.cause = cause
  }
}

/** Called with the first failure of every supervisor that is made in its context; undefined by default. */
export const Above: Context.Reference<((failed: PartFailed) => Effect.Effect<unknown>) | undefined> = Context.Reference<
  ((failed: PartFailed) => Effect.Effect<unknown>) | undefined
>("@effect-operator/core/Supervisor/Above", { defaultValue: () => undefined })

export const make: Effect.Effect<Supervisor> = Effect.gen(function*() {
  const above = yield* Above
  const failed = Deferred.makeUnsafe<never, PartFailed>()
  let first: PartFailed | undefined
  const running = new Map<Fiber.Fiber<void>, string>()
  return {
    run: (name, part) =>
      part.pipe(
        Effect.andThen(Effect.die(new Error("it completed, although it must run forever"))),
        // Handlers do not run in a fiber that was interrupted from outside, so an interruption seen here came from
        // within.
        Effect.catchCause((cause) =>
          Effect.andThen(
            Effect.logFatal(`${name} ended`, cause),
            Effect.suspend(() => {
              if (first !== undefined) return Effect.void
              first = new PartFailed(name, cause)
              return Effect.andThen(Deferred.fail(failed, first), above?.(first) ?? Effect.void)
            })
          )
        ),
        Effect.asVoid,
        Effect.forkScoped,
        Effect.tap((fiber) =>
          Effect.sync(() => {
            running.set(fiber, name)
            fiber.addObserver(() => running.delete(fiber))
          })
        )
      ),
    failure: Deferred.await(failed),
    failed: () => first,
    running: () => [...running.values()]
  }
})
