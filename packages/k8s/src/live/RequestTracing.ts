/**
 * `RequestTracing`: a span for every call to a server, under OpenTelemetry's names, and the header that tells the server
 * of it (W3C Trace Context): one that traces too continues the trace.
 *
 * A call is one span however many tries it takes. Where no tracer is installed there is none, and nothing is spent.
 * Neither queries nor headers nor bodies are shown.
 *
 * Source: OpenTelemetry semantic conventions for HTTP client spans; KEP-647 (API server tracing).
 */
import { FieldManager } from "@effect-operator/core/Client"
import type { Request, Response } from "@effect-operator/core/Transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { inRealTime } from "./realTime.ts"

/** What is the same for all tries of a call. */
export interface Call {
  /** Whose it is. */
  readonly lane: string
  /** The headers that tell the server of the call's span. */
  readonly trace: { readonly traceparent?: string }
}

/** Makes a call to a server, with a span of its own where there is a tracer. */
export const called = <A extends Response, E, R>(
  server: URL,
  request: Request,
  run: (call: Call) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const lane = Context.get(context, FieldManager)
    if (Context.get(context, Tracer.Tracer) === Tracer.nativeTracer) return run({ lane, trace: {} })
    return inRealTime(Effect.useSpan(
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
        const trace = { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` }
        return Effect.tap(
          Effect.withParentSpan(run({ lane, trace }), span),
          ({ status }) => Effect.sync(() => span.attribute("http.response.status_code", status))
        )
      }
    ))
  })
