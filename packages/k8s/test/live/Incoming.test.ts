import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { Body } from "../../src/live/Body.ts"
import type { Connections, Listener } from "../../src/live/Connections.ts"
import * as Incoming from "../../src/live/Incoming.ts"

/** Connections whose answers the test gives, and how often a request was ended. */
const scripted = () => {
  let listener: Listener | undefined
  let aborts = 0
  const connections: Connections = {
    request: (_, given) => {
      listener = given
      return () => {
        aborts += 1
      }
    },
    close: () => Promise.resolve(),
    destroy: () => Promise.resolve()
  }
  return { connections, listener: () => listener!, aborts: () => aborts }
}

const get = { method: "GET", path: "/", headers: {} }
const body: Body = { read: () => {}, resume: () => {} }

describe("Incoming", () => {
  it.effect("is ended with its scope, and when nobody waits for it any more", () =>
    Effect.gen(function*() {
      const wire = scripted()
      const scope = yield* Scope.make()
      const waiting = yield* Effect.forkChild(Scope.provide(Incoming.open(wire.connections, get), scope), {
        startImmediately: true
      })
      wire.listener().answered({ status: 200, headers: {} }, body)
      assert.deepStrictEqual(yield* Fiber.join(waiting), { status: 200, headers: {}, body })
      assert.strictEqual(wire.aborts(), 0)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(wire.aborts(), 1)
      const other = scripted()
      const never = yield* Effect.forkChild(Effect.scoped(Incoming.open(other.connections, get)), {
        startImmediately: true
      })
      yield* Fiber.interrupt(never)
      assert.isAtLeast(other.aborts(), 1)
    }))

  it.effect("fails with what the connection says", () =>
    Effect.gen(function*() {
      const wire = scripted()
      const waiting = yield* Effect.forkChild(Effect.flip(Effect.scoped(Incoming.open(wire.connections, get))), {
        startImmediately: true
      })
      wire.listener().failed("reset")
      assert.strictEqual(yield* Fiber.join(waiting), "reset")
    }))
})
