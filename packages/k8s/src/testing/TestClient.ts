/**
 * `TestClient`: a `KubeClient` whose server is the `ApiServer` in the same process.
 *
 * Requests and answers are handed over as they are: no text, no socket, no promise, and so no time passes that a
 * `TestClock` does not know of. What is read is deep-frozen: a program that changes an object it was given throws.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { Transport } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { ApiServer } from "./ApiServer.ts"

/** The transport alone, for programs that put something between it and the client (faults, counters). */
export const transportLayer: Layer.Layer<Transport, never, ApiServer> = Layer.effect(
  Transport,
  Effect.map(ApiServer, (server) =>
    Transport.of({
      request: (request) => server.handle(request),
      stream: (request) =>
        Effect.map(server.handle(request), ({ events, ...response }) => ({
          ...response,
          values: events ?? Stream.empty
        }))
    }))
)

/** The client every program uses, on the server in context. */
export const layer: Layer.Layer<KubeClient.KubeClient, never, ApiServer> = Layer.provide(
  KubeClient.KubeClient.layer,
  transportLayer
)
