import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as Metrics from "../src/Metrics.ts"

describe("Metrics", () => {
  it.effect("are controller-runtime's and client-go's, with their labels, apart for each controller", () =>
    Effect.gen(function*() {
      const web = Metrics.forController("web")
      const db = Metrics.forController("db")
      for (const result of Object.values(web.total)) yield* Metric.update(result, 1)
      for (const counter of [web.errors, web.terminalErrors, web.panics, web.invalid, web.retries]) {
        yield* Metric.update(counter, 2)
      }
      yield* Metric.update(web.time, 0.012)
      yield* Metric.modify(web.activeWorkers, 1)
      yield* Metric.modify(db.activeWorkers, 3)
      yield* Metric.update(web.depth, 5)
      const found = (yield* Metric.snapshot).map(({ attributes, id, state }) => {
        const labels = Object.entries(attributes ?? {}).sort().map(([name, value]) => `${name}=${value}`).join()
        return `${id}{${labels}} ${
          "count" in state ? Number(state.count) : "value" in state ? Number(state.value) : ""
        }`
      }).sort()
      assert.deepStrictEqual(found, [
        "controller_runtime_active_workers{controller=db} 3",
        "controller_runtime_active_workers{controller=web} 1",
        "controller_runtime_reconcile_errors_total{controller=web} 2",
        "controller_runtime_reconcile_panics_total{controller=web} 2",
        "controller_runtime_reconcile_time_seconds{controller=web} 1",
        "controller_runtime_reconcile_total{controller=web,result=error} 1",
        "controller_runtime_reconcile_total{controller=web,result=requeue_after} 1",
        "controller_runtime_reconcile_total{controller=web,result=requeue} 1",
        "controller_runtime_reconcile_total{controller=web,result=success} 1",
        "controller_runtime_terminal_reconcile_errors_total{controller=web} 2",
        "effect_operator_invalid_objects_total{controller=web} 2",
        "workqueue_depth{controller=web,name=web} 5",
        "workqueue_retries_total{controller=web,name=web} 2"
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))
})
