/**
 * `WebhookMetrics`: metrics of webhooks, under controller-runtime's names, so that existing dashboards work. The label
 * `webhook` is the path.
 *
 * The series for the codes 200 and 500 exist from the start, with 0.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"

const counter = (name: string, description: string): Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true })

const requests = counter(
  "controller_runtime_webhook_requests_total",
  "Total number of admission requests by HTTP status code."
)
const latency = Metric.histogram("controller_runtime_webhook_latency_seconds", {
  description: "Histogram of the latency of processing admission requests",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})
const inFlight = Metric.gauge("controller_runtime_webhook_requests_in_flight", {
  description: "Current number of admission requests being served."
})
const panics = counter("controller_runtime_webhook_panics_total", "Total number of webhook panics")
const conversionPanics = counter(
  "controller_runtime_conversion_webhook_panics_total",
  "Total number of conversion webhook panics"
)
const expiry = Metric.gauge("effect_operator_webhook_certificate_expiry_seconds", {
  description: "When the certificate of a webhook or API server expires, in seconds since 1970"
})

/** Creates the series of the hooks. */
export const announce = (paths: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (const webhook of paths) {
      for (const code of ["200", "500"]) yield* Metric.update(Metric.withAttributes(requests, { webhook, code }), 0)
      yield* Metric.update(Metric.withAttributes(inFlight, { webhook }), 0)
    }
    yield* Metric.update(panics, 0)
    yield* Metric.update(conversionPanics, 0)
  })

/** Counts and times the handling of a request; an interrupted one counts as 499, as in logs of proxies. */
export const measured = <A extends { readonly status: number }, R>(
  webhook: string,
  answer: Effect.Effect<A, never, R>
): Effect.Effect<A, never, R> =>
  Effect.flatMap(Clock.Clock, (clock) =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        const started = monotonicMillis(clock)
        return Effect.as(Metric.modify(Metric.withAttributes(inFlight, { webhook }), 1), started)
      }),
      () => answer,
      (started, exit) => {
        const code = String(Exit.isSuccess(exit) ? exit.value.status : 499)
        const seconds = (monotonicMillis(clock) - started) / 1000
        return Metric.modify(Metric.withAttributes(inFlight, { webhook }), -1).pipe(
          Effect.andThen(Metric.update(Metric.withAttributes(latency, { webhook }), seconds)),
          Effect.andThen(Metric.update(Metric.withAttributes(requests, { webhook, code }), 1))
        )
      }
    ))

export const panicked = (kind: "admission" | "conversion"): Effect.Effect<void> =>
  Metric.update(kind === "admission" ? panics : conversionPanics, 1)

/**
 * Records that a certificate is served that expires at `until`, in milliseconds since 1970; `certificate` is its Secret
 * or file. A program may serve several, and the first to expire must not be hidden by another.
 */
export const certificateShown = (certificate: string, until: number): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(expiry, { certificate }), Math.floor(until / 1000))
