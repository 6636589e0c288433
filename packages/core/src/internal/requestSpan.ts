/** Spans of requests, apart from those of controllers: the client stands below everything they know of. */
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** Effect's own tracer keeps spans to itself: it counts as none. */
export const isNative = (tracer: Tracer.Tracer): boolean => tracer === Tracer.nativeTracer

/** A request to the API server as a span, where there is a tracer. */
export const requestSpan = <A, E, R>(
  name: string,
  attributes: () => Record<string, unknown>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Tracer.Tracer, (tracer) =>
    isNative(tracer)
      ? effect
      : Effect.withSpan(effect, name, { kind: "client", attributes: attributes(), captureStackTrace: false }))
