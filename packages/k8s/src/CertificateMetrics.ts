/**
 * `CertificateMetrics`: reads of certificates that are shown to others, under the names of controller-runtime's
 * certwatcher, so that existing alerts work.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

const reads = Metric.counter("certwatcher_read_certificate_total", {
  description: "Total number of certificate reads",
  incremental: true
})
const errors = Metric.counter("certwatcher_read_certificate_errors_total", {
  description: "Total number of certificate read errors",
  incremental: true
})

/** One was read. */
export const read: Effect.Effect<void> = Metric.update(reads, 1)

/** One could not be read, or not be used. */
export const unreadable: Effect.Effect<void> = Effect.andThen(read, Metric.update(errors, 1))
