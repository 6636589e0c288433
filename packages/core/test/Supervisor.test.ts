import { Supervisor } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { pass, settle } from "./support/Time.ts"

describe("Supervisor", () => {
  const ends: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>, string]> = [
    ["fails", Effect.fail("broken"), "broken"],
    ["dies", Effect.die(new Error("bug")), "bug"],
    ["throws", Effect.sync(() => JSON.parse("{")), "JSON"],
    ["comes to its end", Effect.void, "must run forever"],
    ["interrupts itself", Effect.interrupt, "interrupt"],
    [
      "waits for a fiber that is interrupted",
      Effect.flatMap(
        Effect.forkChild(Effect.never),
        (fiber) => Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber))
      ),
      "interrupt"
    ]
  ]
  for (const [how, part, why] of ends) {
    it.effect(`a part that ${how} is a failure that names it`, () =>
      Effect.gen(function*() {
        const supervisor = yield* Supervisor.make
        yield* supervisor.run("healthy", Effect.never)
        yield* supervisor.run("watch of Pods", Effect.andThen(Effect.sleep("1 second"), part))
        const failure = yield* Effect.forkChild(Effect.flip(supervisor.failure))
        yield* settle
        assert.isUndefined(failure.pollUnsafe())
        yield* pass("1 second")
        const failed = yield* Fiber.join(failure)
        assert.instanceOf(failed, Supervisor.PartFailed)
        assert.strictEqual(failed.part, "watch of Pods")
        assert.include(failed.message, "watch of Pods ended: ")
        assert.include(Cause.pretty(failed.cause).toLowerCase(), why.toLowerCase())
        assert.deepStrictEqual(supervisor.running(), ["healthy"])
      }))
  }

  it.effect("keeps the first of several failures, for every observer at any time", () =>
    Effect.gen(function*() {
      const supervisor = yield* Supervisor.make
      yield* supervisor.run("second", Effect.andThen(Effect.sleep(2), Effect.fail("2")))
      yield* supervisor.run("first", Effect.andThen(Effect.sleep(1), Effect.fail("1")))
      yield* pass("1 second")
      for (let i = 0; i < 2; i++) assert.strictEqual((yield* Effect.flip(supervisor.failure)).part, "first")
    }))

  it.effect("the message is the reason in one line, without a stack", () =>
    Effect.gen(function*() {
      const supervisor = yield* Supervisor.make
      yield* supervisor.run("hooks", Effect.die(new Error("port 9443 is in use")))
      assert.strictEqual((yield* Effect.flip(supervisor.failure)).message, "hooks ended: port 9443 is in use")
    }))

  it.effect("an outer supervisor gets the first failure of each inner one", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const make = Effect.provideService(Supervisor.make, Supervisor.Above, ({ part }) =>
        Effect.sync(() => {
          heard.push(part)
        }))
      const [one, other] = [yield* make, yield* make]
      yield* one.run("first", Effect.fail("1"))
      yield* one.run("second", Effect.fail("2"))
      yield* other.run("third", Effect.fail("3"))
      yield* settle
      assert.deepStrictEqual(heard, ["first", "third"])
    }))

  it.effect("a part that is stopped is not a failure, and is gone", () =>
    Effect.gen(function*() {
      const supervisor = yield* Supervisor.make
      const scope = yield* Scope.make()
      const released = yield* Deferred.make<void>()
      const part = Effect.ensuring(Effect.never, Deferred.succeed(released, undefined))
      yield* Scope.provide(supervisor.run("stopped with its scope", part), scope)
      const fiber = yield* supervisor.run("stopped by hand", Effect.never)
      yield* settle
      assert.strictEqual(supervisor.running().length, 2)
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.await(released)
      yield* Fiber.interrupt(fiber)
      const failure = yield* Effect.forkChild(supervisor.failure)
      yield* pass("1 minute")
      assert.isUndefined(failure.pollUnsafe())
      assert.deepStrictEqual(supervisor.running(), [])
    }))

  it.effect("parts with one name are counted separately, and one that is stopped before it ran leaves nothing", () =>
    Effect.gen(function*() {
      const supervisor = yield* Supervisor.make
      yield* supervisor.run("twin", Effect.never)
      yield* Effect.scoped(supervisor.run("twin", Effect.never))
      assert.deepStrictEqual(supervisor.running(), ["twin"])
    }))
})
