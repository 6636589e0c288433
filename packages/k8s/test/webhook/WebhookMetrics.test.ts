import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Metric, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import { certificateShown, measured } from "../../src/webhook/WebhookMetrics.ts"

/** What the series of a name say, once there are any. */
const series = (registry: Metric.MetricRegistry, name: string): ReadonlyArray<any> =>
  [...registry.values()].flatMap(({ hooks, id }: any) => id === name ? [hooks.get(Context.empty())] : [])

describe("metrics of webhooks", () => {
  it.effect("a request that is given up, at whatever step, is not served for ever", () =>
    Effect.gen(function*() {
      const registry: Metric.MetricRegistry = new Map()
      const answering = measured("/validate", Effect.as(Effect.never, { status: 200 }))
      for (let steps = 1, reached = true; reached; steps++) {
        let taken = 0
        const scheduler = new Scheduler.MixedScheduler()
        scheduler.shouldYield = () => ++taken === steps
        const fiber = yield* answering.pipe(
          Effect.provideService(Metric.MetricRegistry, registry),
          Effect.provideService(Scheduler.Scheduler, scheduler),
          Effect.forkChild({ startImmediately: true })
        )
        reached = taken >= steps
        yield* Fiber.interrupt(fiber)
        const inFlight = series(registry, "controller_runtime_webhook_requests_in_flight").map(({ value }) => value)
        assert.deepStrictEqual(inFlight.filter((value) => value !== 0), [], `given up after ${steps} steps`)
      }
    }))

  it.effect("an answer takes as long as it takes, whatever somebody makes of the time of day", () =>
    Effect.gen(function*() {
      const registry: Metric.MetricRegistry = new Map()
      const clock = yield* Clock.Clock
      let behind = 0
      const today = () => clock.currentTimeMillisUnsafe() - behind
      const settable = { ...clock, currentTimeMillisUnsafe: today, currentTimeMillis: Effect.sync(today) }
      const fiber = yield* measured("/validate", Effect.as(Effect.sleep("2 seconds"), { status: 200 })).pipe(
        Effect.provideService(Metric.MetricRegistry, registry),
        Effect.provideService(Clock.Clock, settable),
        Effect.forkChild({ startImmediately: true })
      )
      behind = 3_600_000
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(series(registry, "controller_runtime_webhook_latency_seconds").map(({ sum }) => sum), [2])
    }))

  it.effect("the certificate that expires first is not hidden by another that the program serves", () =>
    Effect.gen(function*() {
      const registry: Metric.MetricRegistry = new Map()
      const shown = Effect.all([
        certificateShown("shop/webhooks", 5_000),
        certificateShown("shop/api", 90_000),
        certificateShown("shop/webhooks", 7_000)
      ])
      yield* Effect.provideService(shown, Metric.MetricRegistry, registry)
      const expiries = series(registry, "effect_operator_webhook_certificate_expiry_seconds").map(({ value }) => value)
      assert.deepStrictEqual(expiries, [7, 90])
    }))
})
