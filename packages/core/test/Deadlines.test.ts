import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../src/internal/Deadlines.ts"
import { ReconcileTimeout } from "../src/Reconciler.ts"

const isLate = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    reason._tag === "Fail" && reason.error instanceof ReconcileTimeout &&
    reason.error.message === "the reconcile took longer than its timeout of 1s"
  )

const second = Duration.seconds(1)

describe("Deadlines", () => {
  it.effect("a fiber that ends in time keeps its exit, without delay", () =>
    Effect.gen(function*() {
      const deadlines = yield* Deadlines.make(second)
      for (const exit of [Exit.succeed(1), Exit.fail("no"), Exit.die("what?")]) {
        const fiber = yield* Effect.forkChild(Effect.andThen(Effect.sleep("999 millis"), exit), {
          startImmediately: true
        })
        const ending = yield* Effect.forkChild(deadlines.ending(fiber), { startImmediately: true })
        yield* TestClock.adjust("999 millis")
        assert.deepStrictEqual(yield* Fiber.join(ending), exit)
      }
    }))

  it.effect("a late fiber is interrupted and counts as late, even if it ignores the interruption", () =>
    Effect.gen(function*() {
      const deadlines = yield* Deadlines.make(second)
      const interrupted = yield* Deferred.make<number>()
      const heeds: Effect.Effect<unknown> = Effect.onInterrupt(
        Effect.never,
        () => Effect.flatMap(Clock.currentTimeMillis, (now) => Deferred.succeed(interrupted, now))
      )
      const deaf: Effect.Effect<unknown> = Effect.uninterruptible(Effect.as(Effect.sleep("3 seconds"), "done"))
      const endings = yield* Effect.forEach(
        [heeds, deaf],
        (effect) =>
          Effect.flatMap(
            Effect.forkChild(effect, { startImmediately: true }),
            (fiber) => Effect.forkChild(deadlines.ending(fiber), { startImmediately: true })
          )
      )
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* Deferred.await(interrupted), 1000)
      assert.deepStrictEqual(endings.map((fiber) => fiber.pollUnsafe() !== undefined), [true, false])
      yield* TestClock.adjust("2 seconds")
      for (const fiber of endings) assert.isTrue(isLate(yield* Fiber.join(fiber)))
    }))

  it.effect("fibers that ended in time cost nothing: one sleep for many that started at different times", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let sleeps = 0
      const counting: Clock.Clock = Object.create(clock, {
        sleep: {
          value: (duration: Duration.Duration) => {
            sleeps += 1
            return clock.sleep(duration)
          }
        }
      })
      const deadlines = yield* Effect.provideService(Deadlines.make(second), Clock.Clock, counting)
      for (let n = 0; n < 5; n++) {
        const fiber = yield* Effect.forkChild(Effect.sleep("1 millis"), { startImmediately: true })
        const ending = yield* Effect.forkChild(deadlines.ending(fiber), { startImmediately: true })
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(ending)
      }
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(sleeps, 1)
    }))

  it.effect("without a timeout nothing is late", () =>
    Effect.gen(function*() {
      const deadlines = yield* Deadlines.make(undefined)
      const fiber = yield* Effect.forkChild(Effect.as(Effect.sleep("1 day"), 1))
      const ending = yield* Effect.forkChild(deadlines.ending(fiber))
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* Fiber.join(ending), Exit.succeed(1))
    }))

  it.effect("a fiber that started later is late later", () =>
    Effect.gen(function*() {
      const deadlines = yield* Deadlines.make(second)
      const begin = Effect.flatMap(Effect.forkChild(Effect.never), (fiber) =>
        Effect.forkChild(deadlines.ending(fiber), { startImmediately: true }))
      const first = yield* begin
      yield* TestClock.adjust("500 millis")
      const later = yield* begin
      yield* TestClock.adjust("500 millis")
      assert.isTrue(isLate(yield* Fiber.join(first)))
      yield* TestClock.adjust("499 millis")
      assert.isUndefined(later.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isTrue(isLate(yield* Fiber.join(later)))
    }))

  const Run = Schema.Struct({ after: Schema.Natural, takes: Schema.Natural })

  it.effect.prop(
    "each fiber has its own deadline, whenever it started",
    { runs: Schema.Array(Run) },
    ({ runs }) =>
      Effect.scoped(Effect.gen(function*() {
        const deadlines = yield* Deadlines.make(second)
        const began = yield* Clock.currentTimeMillis
        const endings: Array<Fiber.Fiber<readonly [exit: Exit.Exit<number, unknown>, millis: number]>> = []
        for (const { after, takes } of runs) {
          yield* TestClock.adjust(after % 700)
          const start = yield* Clock.currentTimeMillis
          const fiber = yield* Effect.forkChild(Effect.as(Effect.sleep(takes % 2000), start), {
            startImmediately: true
          })
          const ending = Effect.flatMap(
            deadlines.ending(fiber),
            (exit) => Effect.map(Clock.currentTimeMillis, (now) => [exit, now - start] as const)
          )
          endings.push(yield* Effect.forkChild(ending, { startImmediately: true }))
        }
        yield* TestClock.adjust("2 seconds")
        for (const [at, fiber] of endings.entries()) {
          const takes = runs[at]!.takes % 2000
          const [exit, millis] = yield* Fiber.join(fiber)
          // Who ends at the very moment may be seen either way.
          if (takes !== 1000) assert.strictEqual(isLate(exit), takes > 1000)
          assert.strictEqual(millis, Math.min(takes, 1000))
        }
        assert.isAtLeast(yield* Clock.currentTimeMillis, began)
      })),
    { arbitrary: { runs: 100 } }
  )
})
