/**
 * `RequestTracing`: a span for every call to a server, under OpenTelemetry's names, and the header that propagates it
 * to the server (W3C Trace Context), so that a server with tracing continues the trace.
 *
 * A call is one span, however many attempts it takes. Without a tracer there are no spans and no cost. Spans contain no
 * queries, headers or bodies.
 *
 * Source: OpenTelemetry semantic conventions for HTTP client spans; KEP-647 (API server tracing).
 */
import { isNative } from "@effect-operator/core/internal/requestSpan"
import type { Request, Response } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import { inRealTime } from "./realTime.ts"

export type TraceHeaders = { readonly traceparent?: string }

/** Makes a call to a server, with the headers that propagate the call's span. */
export const traced = <A extends Response, E, R>(
  tracer: Tracer.Tracer,
  server: URL,
  request: Request,
  call: (headers: TraceHeaders) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  isNative(tracer)
    ? call({})
    : inRealTime(Effect.useSpan(
      `http.client ${request.method}`,
      {
        kind: "client",
        attributes: {
          "http.request.method": request.method,
          "server.address": server.hostname,
          "server.port": Number(server.port) || (server.protocol === "https:" ? 443 : 80),
          "url.path": request.path,
          "url.scheme": server.protocol.slice(0, -1)
        }
      },
      (span) => {
        const { sampled, spanId, traceId } = span
        const headers = { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` }
        return Effect.map(Effect.withParentSpan(call(headers), span), (answer) => {
          span.attribute("http.response.status_code", answer.status)
          return answer
        })
      }
    ))
