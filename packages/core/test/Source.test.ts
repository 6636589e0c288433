import { Source } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { pass, settable, settle } from "./support/Time.ts"

describe("Source.keepRunning", () => {
  it.effect("delays grow with each failure, and reset after a minute of health, whatever the time of day", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      const started: Array<string> = []
      let lasts = 0
      const run = () => {
        started.push("start")
        return Effect.andThen(Effect.sleep(lasts), Effect.fail("lost"))
      }
      const running = Source.keepRunning({ name: "failing", run }, () => {})
      yield* Effect.forkChild(Effect.provideService(running, Clock.Clock, clock))
      yield* pass("2 minutes")
      assert.isAtMost(started.length, 9)
      assert.isAbove(started.length, 6)
      lasts = Source.defaults.healthyAfter
      const before = started.length
      while (started.length === before) yield* pass("1 second")
      putBack(3_600_000)
      yield* pass(Source.defaults.healthyAfter)
      assert.lengthOf(started, before + 1)
      yield* pass("1200 millis")
      assert.lengthOf(started, before + 2, "after the delay for a first failure")
    }))

  it.effect("a source whose function throws is restarted, too", () =>
    Effect.gen(function*() {
      let starts = 0
      const run = (): Effect.Effect<void> => {
        if (starts++ < 3) throw new Error("before there is an effect")
        return Effect.never
      }
      const running = yield* Effect.forkChild(Source.keepRunning({ name: "throwing", run }, () => {}))
      yield* pass("1 minute")
      assert.strictEqual(starts, 4)
      assert.isUndefined(running.pollUnsafe())
    }))

  it.effect("a source that ends is not restarted", () =>
    Effect.gen(function*() {
      let starts = 0
      const once = { name: "once", run: () => Effect.sync(() => void starts++) }
      yield* Effect.forkChild(Source.keepRunning(once, () => {}))
      yield* pass("10 minutes")
      yield* settle
      assert.strictEqual(starts, 1)
    }))
})
