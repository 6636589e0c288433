/**
 * `CertificateMetrics`: counts reads of serving certificates, under the names of controller-runtime's certwatcher, so
 * that existing alerts work.
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

/** A certificate was read. */
export const read: Effect.Effect<void> = Metric.update(reads, 1)

/** A certificate could not be read or used. */
export const unreadable: Effect.Effect<void> = Effect.andThen(read, Metric.update(errors, 1))
