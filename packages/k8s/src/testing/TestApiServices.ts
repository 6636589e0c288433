/**
 * `TestApiServices`: an operator's own API servers without sockets and certificates, called by the in-memory server
 * itself.
 *
 * Under this layer an `ApiServiceServer` stands behind its Service at once, in virtual time. The aggregator still looks
 * for the Service: use `ApiService.install` with `localhost`, or apply the operator's manifests.
 *
 * It is for an `ApiServer` that was not built with backends of its own.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Listener } from "../apiservice/ApiServiceServer.ts"
import { ApiServer } from "./ApiServer.ts"
import * as InProcess from "./InProcess.ts"

/** API servers are called by the `ApiServer` in context. */
export const layer: Layer.Layer<never, never, ApiServer> = Layer.effect(
  Listener,
  Effect.gen(function*() {
    const serve = yield* InProcess.make(yield* ApiServer)
    return { listen: (handler, { service }) => serve(InProcess.keyOf(service), handler) }
  })
)
