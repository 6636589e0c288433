/**
 * `/metrics`: the metrics of all managers and of the process, in Prometheus' text format.
 *
 * The series of a single manager are unchanged. If there are several managers, which may have controllers of the same
 * name, each series has the label `manager`.
 */
import type * as Manager from "@effect-operator/core/Manager"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { type Answer } from "./Answer.ts"
import { label } from "./Probes.ts"

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** All series as one registry, starting with those of the process. */
export const merged = (
  process: Metric.MetricRegistry,
  managers: ReadonlyArray<Manager.Manager["Service"]>
): Metric.MetricRegistry => {
  const all: Metric.MetricRegistry = new Map(process)
  for (const [i, { metrics }] of managers.entries()) {
    // A manager that uses the process's registry has no series of its own.
    if (metrics === process) continue
    const manager = label(managers, i)
    for (const [key, series] of metrics) {
      if (managers.length < 2) all.set(key, series)
      else all.set(`${manager} ${key}`, { ...series, attributes: { ...series.attributes, manager } })
    }
  }
  return all
}

/** The text. The exporter is loaded on first use, because it depends on all of Effect's HTTP modules. */
export const answer = Effect.fnUntraced(function*(
  process: Metric.MetricRegistry,
  managers: ReadonlyArray<Manager.Manager["Service"]>
) {
  const { formatUnsafe } = yield* Effect.promise(() => import("effect/observability/PrometheusMetrics"))
  const body = formatUnsafe(Context.make(Metric.MetricRegistry, merged(process, managers)))
  return { status: 200, contentType, body } satisfies Answer
})
