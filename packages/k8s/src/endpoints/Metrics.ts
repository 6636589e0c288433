/**
 * `/metrics`: every series of every manager, and of the process around them, in Prometheus' text format.
 *
 * Series of one manager go out as they are. Several managers may have controllers of one name: then each series says
 * whose it is, in the label `manager`.
 */
import type * as Manager from "@effect-operator/core/Manager"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { type Answer } from "./Answer.ts"
import { label } from "./Probes.ts"

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** All series as one registry, those of the process first. */
export const merged = (
  process: Metric.MetricRegistry,
  managers: ReadonlyArray<Manager.Manager["Service"]>
): Metric.MetricRegistry => {
  const all: Metric.MetricRegistry = new Map(process)
  for (const [i, { metrics }] of managers.entries()) {
    // A manager that was given the process' registry has nothing of its own.
    if (metrics === process) continue
    const manager = label(managers, i)
    for (const [key, series] of metrics) {
      if (managers.length < 2) all.set(key, series)
      else all.set(`${manager} ${key}`, { ...series, attributes: { ...series.attributes, manager } })
    }
  }
  return all
}

/** The text. The exporter comes when it is first asked for: it brings all of HTTP with it. */
export const answer = Effect.fnUntraced(function*(
  process: Metric.MetricRegistry,
  managers: ReadonlyArray<Manager.Manager["Service"]>
) {
  const { formatUnsafe } = yield* Effect.promise(() => import("effect/observability/PrometheusMetrics"))
  const body = formatUnsafe(Context.make(Metric.MetricRegistry, merged(process, managers)))
  return { status: 200, contentType, body } satisfies Answer
})
