/** Figures that hold unless somebody says otherwise: those of controller-runtime and client-go, or the reason is told. */
import {
  Controller,
  EventRecorder,
  KubeClient,
  LeaderElection,
  Manager,
  Reflector,
  WorkQueue
} from "@effect-operator/core"
import { Endpoints } from "@effect-operator/k8s"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Pull, Schedule } from "effect"

describe("figures", () => {
  it("of the manager and its election", () => {
    const { leaseDuration, renewDeadline, retryPeriod } = LeaderElection.defaults
    assert.deepStrictEqual([leaseDuration, renewDeadline, retryPeriod], ["15 seconds", "10 seconds", "2 seconds"])
    // controller-runtime waits 30 s, which is a Pod's whole grace period: the lease could not be given back any more.
    assert.strictEqual(Manager.defaults.drain, "25 seconds")
  })

  it("of controllers and caches", () => {
    assert.deepStrictEqual(Controller.defaults, {
      concurrency: 1,
      cacheSyncTimeout: "2 minutes",
      resync: "10 hours"
    })
    assert.deepStrictEqual(Reflector.defaults.backoff, { initial: 800, factor: 2, max: 30_000, jitter: 1 })
    assert.strictEqual(Reflector.defaults.resetAfter, 120_000)
    assert.deepStrictEqual(Reflector.defaults.watchTimeout, { min: 300, max: 600 })
    assert.strictEqual(Reflector.defaults.shortestWatch, 1_000)
    assert.strictEqual(Reflector.defaults.pageSize, 500)
    assert.strictEqual(KubeClient.defaults.pageSize, 500)
    // Of the priority queue: what was there from the start.
    assert.strictEqual(WorkQueue.priorities.background, -100)
  })

  it.effect("of the queue's delays: 5 ms, doubled, at most 16 min (client-go: 1,000 s)", () =>
    Effect.gen(function*() {
      const step = yield* Schedule.toStep(WorkQueue.defaultRetry)
      const delays: Array<number> = []
      for (let i = 0; i < 20; i++) {
        const delay = yield* step(0, undefined).pipe(
          Effect.map(([, delay]) => Duration.toMillis(delay)),
          Pull.catchDone(() => Effect.succeed(-1))
        )
        delays.push(delay)
      }
      assert.deepStrictEqual(delays.slice(0, 5), [5, 10, 20, 40, 80])
      assert.deepStrictEqual(delays.slice(-2), [960_000, 960_000])
    }))

  it("of events: client-go's spam filter, series and attempts", () => {
    const { burst, capacity, limitsKept, pause, refill, seriesWindow, tries } = EventRecorder.defaults
    assert.deepStrictEqual({ burst, refill, limitsKept }, { burst: 25, refill: 300_000, limitsKept: 4096 })
    assert.deepStrictEqual({ capacity, tries, pause, seriesWindow }, {
      capacity: 1000,
      tries: 12,
      pause: 10_000,
      seriesWindow: 360_000
    })
  })

  it("of the servers", () => {
    const { headersTimeout, idleTimeout, maxHeaderSize, metrics, probes } = Endpoints.defaults
    assert.deepStrictEqual({ headersTimeout, idleTimeout, maxHeaderSize, metrics, probes }, {
      headersTimeout: 32_000,
      idleTimeout: 90_000,
      maxHeaderSize: 1 << 20,
      metrics: ":8080",
      probes: ":8081"
    })
  })
})
