import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Metrics from "../src/Metrics.ts"
import { priorities } from "../src/WorkQueue.ts"

/** Every series as `name{labels} value`; of a histogram its count. */
const series = Effect.map(Metric.snapshot, (found) =>
  found.map(({ attributes, id, state }) => {
    const labels = Object.entries(attributes ?? {}).sort().map(([name, value]) => `${name}=${value}`).join()
    return `${id}{${labels}} ${"count" in state ? Number(state.count) : "value" in state ? Number(state.value) : ""}`
  }).sort())

const alone = Effect.provideService(Metric.MetricRegistry, new Map())

describe("Metrics", () => {
  it.effect("are those of controller-runtime and client-go, with their labels, separate for each controller", () =>
    Effect.gen(function*() {
      const web = yield* Metrics.forController({ name: "web", concurrency: 4 })
      yield* Metrics.forController({ name: "db", concurrency: 1 })
      for (const result of ["success", "error", "requeue", "requeue_after"] as const) web.result(result)
      for (const count of [web.terminal, web.panicked, web.timedOut, web.stalled, web.hotLoop, web.invalid]) count()
      web.cacheSyncTimedOut()
      const queue = web.sourceFailed("queue")
      web.sourceFailed("clock")
      queue()
      queue()
      web.started()
      web.started()
      web.ended(12)
      web.queue.added()
      web.queue.retried()
      web.queue.taken(3)
      const found = yield* series
      assert.deepStrictEqual(found.filter((line) => line.includes("controller=web")), [
        "controller_runtime_active_workers{controller=web} 1",
        "controller_runtime_max_concurrent_reconciles{controller=web} 4",
        "controller_runtime_reconcile_errors_total{controller=web} 1",
        "controller_runtime_reconcile_panics_total{controller=web} 1",
        "controller_runtime_reconcile_time_seconds{controller=web} 1",
        "controller_runtime_reconcile_timeouts_total{controller=web} 1",
        "controller_runtime_reconcile_total{controller=web,result=error} 1",
        "controller_runtime_reconcile_total{controller=web,result=requeue_after} 1",
        "controller_runtime_reconcile_total{controller=web,result=requeue} 1",
        "controller_runtime_reconcile_total{controller=web,result=success} 1",
        "controller_runtime_terminal_reconcile_errors_total{controller=web} 1",
        "effect_operator_cache_sync_timeouts_total{controller=web} 1",
        "effect_operator_events_held_back_total{controller=web} 0",
        "effect_operator_events_lost_total{controller=web} 0",
        "effect_operator_hot_loops_total{controller=web} 1",
        "effect_operator_invalid_objects_total{controller=web} 1",
        "effect_operator_source_failures_total{controller=web,source=clock} 0",
        "effect_operator_source_failures_total{controller=web,source=queue} 2",
        "effect_operator_stalled_total{controller=web} 1",
        "workqueue_adds_total{controller=web,name=web} 1",
        "workqueue_queue_duration_seconds{controller=web,name=web} 1",
        "workqueue_retries_total{controller=web,name=web} 1",
        "workqueue_work_duration_seconds{controller=web,name=web} 1"
      ])
      const zeros = found.filter((line) => line.includes("controller=db") && line.endsWith(" 0"))
      assert.include(zeros, "controller_runtime_reconcile_errors_total{controller=db} 0", "there from the start")
    }).pipe(alone))

  it.effect("read the state of the queue when they are collected, for as long as it lives", () =>
    Effect.gen(function*() {
      const metrics = yield* Metrics.forController({ name: "web", concurrency: 1 })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* metrics.observe({
          stats: () => ({ ready: 7, waiting: 0, processing: 2 }),
          readyAt: (priority) => priority === priorities.background ? 5 : 2,
          handedOut: () => new Map([["a", 0], ["b", 2_000]])
        })
        yield* TestClock.adjust("5 seconds")
        const found = yield* series
        for (
          const line of [
            "workqueue_depth{controller=web,name=web,priority=-100} 5",
            "workqueue_depth{controller=web,name=web,priority=0} 2",
            "workqueue_longest_running_processor_seconds{controller=web,name=web} 5",
            "workqueue_unfinished_work_seconds{controller=web,name=web} 8"
          ]
        ) assert.include(found, line)
      }))
      assert.isFalse((yield* series).some((line) => line.startsWith("workqueue_depth")), "gone with its queue")
    }).pipe(alone))
})
