/**
 * `RequestTracing`: a span for every call to a server, under OpenTelemetry's names, and the header that tells the server
 * of it (W3C Trace Context): one that traces too continues the trace.
 *
 * A call is one span however many tries it takes. Where no tracer is installed there is none, and nothing is spent.
 * Neither queries nor headers nor bodies are shown.
 *
 * Source: OpenTelemetry semantic conventions for HTTP client spans; KEP-647 (API server tracing).
 */
import type { Request, Response } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

const prefix = "http.client "

export const traced = <A extends Response, E, R>(
  server: URL,
  request: Request,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Tracer.Tracer, (tracer) =>
    tracer === Tracer.nativeTracer
      ? call
      : call.pipe(
        Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
        Effect.withSpan(`${prefix}${request.method}`, {
          kind: "client",
          attributes: {
            "http.request.method": request.method,
            "server.address": server.hostname,
            "server.port": Number(server.port) || (server.protocol === "https:" ? 443 : 80),
            "url.path": request.path,
            "url.scheme": server.protocol.slice(0, -1)
          }
        })
      ))

export type TraceHeaders = { readonly traceparent?: string }

/** The headers to send inside `traced`. */
export const traceHeaders: Effect.Effect<TraceHeaders> = Effect.match(Effect.currentSpan, {
  onFailure: () => ({}),
  onSuccess: ({ name, sampled, spanId, traceId }) =>
    name.startsWith(prefix) ? { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` } : {}
})
