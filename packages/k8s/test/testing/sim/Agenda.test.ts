import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Agenda from "../../../src/testing/sim/Agenda.ts"

/** An agenda whose work is noted as `time key`; work of keys with `!` fails as often as they have it. */
const noting = Effect.gen(function*() {
  const done: Array<string> = []
  const left = new Map<string, number>()
  const agenda = yield* Agenda.make((key) =>
    Effect.gen(function*() {
      done.push(`${yield* Clock.currentTimeMillis} ${key}`)
      const failures = left.get(key) ?? key.split("!").length - 1
      left.set(key, failures - 1)
      if (failures > 0) return yield* Effect.fail("not yet")
    })
  )
  return { agenda, done }
})

describe("Agenda", () => {
  it.effect("does everything at its time, in order of time", () =>
    Effect.gen(function*() {
      const { agenda, done } = yield* noting
      agenda.at("c", 300)
      agenda.at("a", 100)
      agenda.at("b", 200)
      agenda.now("now")
      yield* TestClock.adjust("250 millis")
      assert.deepStrictEqual(done, ["0 now", "100 a", "200 b"])
      agenda.at("d", 260)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(done.slice(3), ["260 d", "300 c"])
    }))

  it.effect("has a key once, at the last time it was given, and not at all once forgotten", () =>
    Effect.gen(function*() {
      const { agenda, done } = yield* noting
      agenda.at("later", 100)
      agenda.at("later", 200)
      agenda.at("sooner", 200)
      agenda.at("sooner", 100)
      agenda.at("gone", 100)
      agenda.forget("gone")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(done, ["100 sooner", "200 later"])
    }))

  it.effect("`soon` never puts a key off", () =>
    Effect.gen(function*() {
      const { agenda, done } = yield* noting
      agenda.at("a", 100)
      agenda.soon("a", 200)
      agenda.soon("b", 200)
      agenda.soon("b", 150)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(done, ["100 a", "150 b"])
    }))

  it.effect("tries failed work again, ever later, and from the start after a success", () =>
    Effect.gen(function*() {
      const { agenda, done } = yield* noting
      agenda.now("x!!!")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(done, ["0 x!!!", "50 x!!!", "150 x!!!", "350 x!!!"])
    }))

  it.effect("works on several keys at once, but never on one twice at once", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const inside = new Set<string>()
      const agenda = yield* Agenda.make((key) =>
        Effect.gen(function*() {
          assert.isFalse(inside.has(key))
          inside.add(key)
          most = Math.max(most, ++running)
          yield* Effect.sleep("100 millis")
          running -= 1
          inside.delete(key)
        }), 4)
      for (let key = 0; key < 8; key++) agenda.now(String(key))
      yield* TestClock.adjust("50 millis")
      for (let key = 0; key < 8; key++) agenda.now(String(key))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(most, 4)
      assert.strictEqual(running, 0)
    }))

  it.effect("a defect in one key's work stops neither the others nor that key", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const agenda = yield* Agenda.make((key) =>
        Effect.sync(() => {
          done.push(key)
          if (key === "bad" && done.filter((entry) => entry === "bad").length === 1) throw new Error("oops")
        })
      )
      agenda.now("bad")
      agenda.now("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(done, ["bad", "good", "bad"])
    }))
})
