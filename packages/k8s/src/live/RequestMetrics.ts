/**
 * `RequestMetrics`: metrics of a client's requests, under client-go's names, so that existing dashboards work.
 *
 * As in client-go, every attempt counts; `host` is the server's, and `code` is `<error>` if there was no response. The
 * duration of a watch ends when it is accepted. Each series is bound to its labels once, so that an update is a single
 * call.
 *
 * Source: component-base, metrics/prometheus/restclient/metrics.go.
 */
import { bind } from "@effect-operator/core/internal/boundMetric"
import type { Method } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

const seconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
const bytes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216]

const requests = Metric.counter("rest_client_requests_total", {
  description: "Number of HTTP requests, partitioned by status code, method, and host",
  incremental: true
})
const retries = Metric.counter("rest_client_request_retries_total", {
  description: "Number of request retries, partitioned by status code, verb, and host",
  incremental: true
})
const duration = Metric.histogram("rest_client_request_duration_seconds", {
  description: "Request latency in seconds, broken down by verb and host",
  boundaries: seconds
})
const waited = Metric.histogram("rest_client_rate_limiter_duration_seconds", {
  description: "Client side rate limiter latency in seconds, broken down by verb and host",
  boundaries: seconds
})
const requestSize = Metric.histogram("rest_client_request_size_bytes", {
  description: "Request size in bytes, broken down by verb and host",
  boundaries: bytes
})
const responseSize = Metric.histogram("rest_client_response_size_bytes", {
  description: "Response size in bytes, broken down by verb and host",
  boundaries: bytes
})

/** An attempt. Times are in milliseconds. */
export interface Try {
  readonly method: Method
  /** Absent if there was no response. */
  readonly status: number | undefined
  /** Whether it is not the first attempt. */
  readonly isRetry: boolean
  readonly millis: number
  readonly sent: number
  /** Absent for a watch. */
  readonly received?: number | undefined
}

export interface RequestMetrics {
  readonly tried: (one: Try) => void
  /** Records how long a request waited for its turn. */
  readonly waited: (method: Method, millis: number) => void
}

type Update = (value: number) => void

export const make = (host: string): Effect.Effect<RequestMetrics> =>
  Effect.map(Effect.context<never>(), (context) => {
    /** Series, bound at their first use, by verb or method, and by status if there is one (0 if not). */
    const series = (
      metric: Metric.Metric<number, unknown>,
      labels: (method: Method, status: number) => Record<string, string>
    ): (method: Method, status?: number) => Update => {
      const made = new Map<Method, Map<number, Update>>()
      return (method, status = 0) => {
        const known = made.get(method)?.get(status)
        if (known !== undefined) return known
        const { update } = bind(context, metric, { ...labels(method, status), host })
        made.set(method, (made.get(method) ?? new Map<number, Update>()).set(status, update))
        return update
      }
    }
    const codeOf = (status: number) => status === 0 ? "<error>" : String(status)
    const counted = series(requests, (method, status) => ({ code: codeOf(status), method }))
    const retried = series(retries, (verb, status) => ({ code: codeOf(status), verb }))
    const took = series(duration, (verb) => ({ verb }))
    const queued = series(waited, (verb) => ({ verb }))
    const bytesSent = series(requestSize, (verb) => ({ verb }))
    const bytesReceived = series(responseSize, (verb) => ({ verb }))
    return {
      tried: ({ isRetry, method, millis, received, sent, status }) => {
        counted(method, status)(1)
        if (isRetry) retried(method, status)(1)
        took(method)(millis / 1000)
        bytesSent(method)(sent)
        if (received !== undefined) bytesReceived(method)(received)
      },
      waited: (method, millis) => queued(method)(millis / 1000)
    }
  })
