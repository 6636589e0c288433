/**
 * Metrics of a controller, under controller-runtime's and client-go's names, so that existing dashboards work.
 *
 * They are bound to their labels once, when the controller starts: an update on the hot path is one call.
 */
import * as Metric from "effect/Metric"

const reconcileTotal = Metric.counter("controller_runtime_reconcile_total", {
  description: "Total number of reconciliations per controller",
  incremental: true
})
const reconcileErrors = Metric.counter("controller_runtime_reconcile_errors_total", {
  description: "Total number of reconciliation errors per controller",
  incremental: true
})
const terminalErrors = Metric.counter("controller_runtime_terminal_reconcile_errors_total", {
  description: "Total number of terminal reconciliation errors per controller",
  incremental: true
})
const panics = Metric.counter("controller_runtime_reconcile_panics_total", {
  description: "Total number of reconciliation panics per controller",
  incremental: true
})
const invalidObjects = Metric.counter("effect_operator_invalid_objects_total", {
  description: "Objects of the controller's kinds that did not decode",
  incremental: true
})
const reconcileTime = Metric.histogram("controller_runtime_reconcile_time_seconds", {
  description: "Length of time per reconciliation per controller",
  boundaries: [
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.25,
    1.5,
    1.75,
    2,
    2.5,
    3,
    3.5,
    4,
    4.5,
    5,
    6,
    7,
    8,
    9,
    10,
    15,
    20,
    25,
    30,
    40,
    50,
    60
  ]
})
const activeWorkers = Metric.gauge("controller_runtime_active_workers", {
  description: "Number of currently used workers per controller"
})
const queueDepth = Metric.gauge("workqueue_depth", { description: "Current depth of workqueue" })
const queueRetries = Metric.counter("workqueue_retries_total", {
  description: "Total number of retries handled by workqueue",
  incremental: true
})

/** How a reconcile ended. */
export type Result = "success" | "error" | "requeue" | "requeue_after"

/** The metrics of one controller. */
export const forController = (controller: string) => {
  const labels = { controller }
  const byResult = (result: Result) => Metric.withAttributes(reconcileTotal, { controller, result })
  return {
    total: {
      success: byResult("success"),
      error: byResult("error"),
      requeue: byResult("requeue"),
      requeue_after: byResult("requeue_after")
    } satisfies Record<Result, unknown>,
    errors: Metric.withAttributes(reconcileErrors, labels),
    terminalErrors: Metric.withAttributes(terminalErrors, labels),
    panics: Metric.withAttributes(panics, labels),
    invalid: Metric.withAttributes(invalidObjects, labels),
    time: Metric.withAttributes(reconcileTime, labels),
    activeWorkers: Metric.withAttributes(activeWorkers, labels),
    depth: Metric.withAttributes(queueDepth, { name: controller, controller }),
    retries: Metric.withAttributes(queueRetries, { name: controller, controller })
  }
}
