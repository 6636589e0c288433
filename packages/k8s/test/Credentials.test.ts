import { Transport } from "@effect-operator/core/KubeError"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Credentials from "../src/Credentials.ts"

/** A source that counts, and whose tokens hold for so long. */
const counting = (life: number | undefined) => {
  const state = { asked: 0, down: false, gate: undefined as Deferred.Deferred<void> | undefined }
  const ask = Effect.gen(function*() {
    state.asked += 1
    const token = Redacted.make(`token-${state.asked}`)
    yield* state.gate === undefined ? Effect.yieldNow : Deferred.await(state.gate)
    if (state.down) return yield* new Transport({ message: "the plugin is down" })
    return {
      token,
      ...(life === undefined ? {} : { expiresAt: (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) + life })
    }
  })
  return { state, credentials: Credentials.issued(ask, { name: "the plugin", also: { "impersonate-user": "root" } }) }
}

const tokenOf = (headers: Credentials.Headers) =>
  String(Redacted.value(headers)["authorization"]).slice("Bearer ".length)

describe("Credentials.issued", () => {
  it.effect("asks once for many, and not again while the answer holds", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(undefined)
      const many = yield* Effect.all(Array.from({ length: 10 }, () => credentials.headers), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(new Set(many.map(tokenOf)), new Set(["token-1"]))
      assert.strictEqual(Redacted.value(many[0]!)["impersonate-user"], "root")
      yield* TestClock.adjust("30 days")
      yield* credentials.headers
      assert.strictEqual(state.asked, 1)
    }))

  it.effect("asks again after four fifths of a life: one does, the others do not wait", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(100_000)
      yield* credentials.headers
      yield* TestClock.adjust("79 seconds")
      assert.strictEqual(tokenOf(yield* credentials.headers), "token-1")
      yield* TestClock.adjust("1 seconds")
      state.gate = Deferred.makeUnsafe<void>()
      const first = yield* Effect.forkChild(credentials.headers, { startImmediately: true })
      assert.strictEqual(tokenOf(yield* credentials.headers), "token-1")
      yield* Deferred.succeed(state.gate, undefined)
      assert.strictEqual(tokenOf(yield* Fiber.join(first)), "token-2")
      assert.strictEqual(tokenOf(yield* credentials.headers), "token-2")
      assert.strictEqual(state.asked, 2)
    }))

  it.effect("keeps a good answer while the source is down, asks every ten seconds, and fails once it expired", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(100_000)
      yield* credentials.headers
      state.down = true
      for (let second = 0; second < 99; second++) {
        yield* TestClock.adjust("1 seconds")
        assert.strictEqual(tokenOf(yield* credentials.headers), "token-1")
      }
      assert.strictEqual(state.asked, 3)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual((yield* Effect.flip(credentials.headers)).message, "the plugin is down")
      state.down = false
      assert.strictEqual(tokenOf(yield* credentials.headers), "token-5")
    }))

  it.effect("an answer is as old as it is, also where somebody has put the clock back", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(100_000)
      yield* credentials.headers
      yield* TestClock.adjust("80 seconds")
      const clock = yield* Clock.Clock
      const millis = () => clock.currentTimeMillisUnsafe() - 3_600_000
      const anHourAgo = { ...clock, currentTimeMillisUnsafe: millis, currentTimeMillis: Effect.sync(millis) }
      const asked = Effect.provideService(credentials.headers, Clock.Clock, anHourAgo)
      assert.strictEqual(tokenOf(yield* asked), "token-2")
      state.down = true
      yield* TestClock.adjust("100 seconds")
      assert.strictEqual((yield* Effect.flip(asked)).message, "the plugin is down")
    }))

  it.effect("lets many who were refused ask once", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(undefined)
      yield* credentials.headers
      const fresh = yield* Effect.all([credentials.fresh, credentials.fresh, credentials.fresh], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(fresh.map(tokenOf), ["token-2", "token-2", "token-2"])
      assert.strictEqual(state.asked, 2)
    }))

  it.effect("a source that is down, or says nothing, is asked once for all who wait", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(undefined)
      const many = Effect.all(Array.from({ length: 10 }, () => Effect.flip(credentials.headers)), {
        concurrency: "unbounded"
      })
      state.down = true
      assert.deepStrictEqual([...new Set((yield* many).map(({ message }) => message))], ["the plugin is down"])
      assert.strictEqual(state.asked, 1)
      state.gate = Deferred.makeUnsafe<void>()
      const waiting = yield* Effect.forkChild(many, { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(waiting)).length, 10)
      assert.strictEqual(state.asked, 2)
      state.down = false
      state.gate = undefined
      assert.strictEqual(tokenOf(yield* credentials.headers), "token-3", "who comes later asks anew")
    }))

  it.effect("does not wait for ever, and who gives up does not spoil it for the others", () =>
    Effect.gen(function*() {
      const { credentials, state } = counting(undefined)
      state.gate = Deferred.makeUnsafe<void>()
      const stuck = yield* Effect.forkChild(Effect.flip(credentials.headers), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(stuck)).message, "the plugin gave no credentials within 1m")
      const impatient = yield* Effect.forkChild(credentials.headers, { startImmediately: true })
      const patient = yield* Effect.forkChild(credentials.headers, { startImmediately: true })
      yield* Fiber.interrupt(impatient)
      yield* Deferred.succeed(state.gate, undefined)
      assert.strictEqual(tokenOf(yield* Fiber.join(patient)), "token-3")
    }))
})

describe("Credentials", () => {
  it("trims tokens, and shows none", () => {
    const credentials = Effect.runSync(Credentials.token(Redacted.make("s3cret\n")).headers)
    assert.strictEqual(tokenOf(credentials), "s3cret")
    assert.notInclude(String(credentials) + JSON.stringify(credentials), "s3cret")
  })
})
