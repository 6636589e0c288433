import type { Dispatcher } from "@effect/platform-node/Undici"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import * as Incoming from "../../src/live/Incoming.ts"

/** A dispatcher whose answers the test gives, and what it was told to do. */
const scripted = () => {
  const told: Array<string> = []
  const controller = {
    paused: false,
    pause: () => {
      controller.paused = true
      told.push("pause")
    },
    resume: () => {
      if (!controller.paused) return
      controller.paused = false
      told.push("resume")
    },
    abort: () => void told.push("abort")
  } as unknown as Dispatcher.DispatchController & { paused: boolean }
  let handler: Dispatcher.DispatchHandler | undefined
  const dispatcher = {
    dispatch: (_: unknown, given: Dispatcher.DispatchHandler) => {
      handler = given
      given.onRequestStart!(controller, undefined)
      return true
    }
  } as unknown as Dispatcher
  return {
    told,
    dispatcher,
    start: (status = 200) => handler!.onResponseStart!(controller, status, {}),
    data: (bytes: number) => handler!.onResponseData!(controller, Buffer.alloc(bytes, "x")),
    end: () => handler!.onResponseEnd!(controller, {}),
    fail: (error: Error) => handler!.onResponseError!(controller, error)
  }
}

const request = { path: "/", method: "GET" } as const

const opened = Effect.fnUntraced(function*() {
  const wire = scripted()
  const scope = yield* Scope.make()
  const fiber = yield* Effect.forkChild(Scope.provide(Incoming.open(wire.dispatcher, request), scope), {
    startImmediately: true
  })
  wire.start()
  return { wire, scope, incoming: yield* Fiber.join(fiber) }
})

describe("Incoming", () => {
  it.effect("stops reading the socket while too much waits, and goes on when it is read", () =>
    Effect.gen(function*() {
      const { incoming: { body }, wire } = yield* opened()
      wire.data(Incoming.defaults.buffer - 1)
      assert.deepStrictEqual(wire.told, [])
      wire.data(1)
      assert.deepStrictEqual(wire.told, ["pause"])
      assert.strictEqual(body.read()?.length, Incoming.defaults.buffer - 1)
      assert.isTrue(body.more?.())
      assert.strictEqual(body.read()?.length, 1)
      assert.isFalse(body.more?.())
      assert.isNull(body.read())
      assert.deepStrictEqual(wire.told, ["pause", "resume"])
    }))

  it.effect("tells who listens late what happened", () =>
    Effect.gen(function*() {
      const { incoming, wire } = yield* opened()
      wire.data(3)
      wire.end()
      assert.strictEqual(yield* incoming.text, "xxx")
      const lost = yield* opened()
      lost.wire.fail(new Error("reset"))
      const failed = yield* Effect.exit(lost.incoming.text)
      assert.isTrue(Exit.isFailure(failed) && String(Cause.squash(failed.cause)) === "Error: reset")
    }))

  it.effect("is aborted with its scope, unless it is over", () =>
    Effect.gen(function*() {
      const { scope, wire } = yield* opened()
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(wire.told, ["abort"])
      const over = yield* opened()
      over.wire.end()
      yield* Scope.close(over.scope, Exit.void)
      assert.deepStrictEqual(over.wire.told, [])
    }))
})
