/** Spans of requests, apart from those of controllers: the client stands below everything they know of. */
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** Effect's own tracer keeps spans to itself: it counts as none. */
export const isNative = (tracer: Tracer.Tracer): boolean => tracer === Tracer.nativeTracer

/** A request to the API server as a span, where the tracer is one that tells. */
export const requestSpan = <A, E, R>(
  tracer: Tracer.Tracer,
  span: () => { readonly name: string; readonly attributes: Record<string, unknown> },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (isNative(tracer)) return effect
  const { attributes, name } = span()
  return Effect.withSpan(effect, name, { kind: "client", attributes, captureStackTrace: false })
}
