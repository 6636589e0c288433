/** Spans of requests, apart from those of controllers, on which the client must not depend. */
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** Effect's own tracer exports no spans: it counts as none. */
export const isNative = (tracer: Tracer.Tracer): boolean => tracer === Tracer.nativeTracer

/** Runs a request to the API server in a span, if the tracer exports spans. */
export const requestSpan = <A, E, R>(
  tracer: Tracer.Tracer,
  span: () => { readonly name: string; readonly attributes: Record<string, unknown> },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (isNative(tracer)) return effect
  const { attributes, name } = span()
  return Effect.withSpan(effect, name, { kind: "client", attributes, captureStackTrace: false })
}
