/**
 * `TestApiServices`: an operator's own API servers without sockets and certificates, called by the in-memory server
 * itself.
 *
 * Under this layer an `ApiServiceServer` is reachable behind its Service at once, in virtual time. The aggregator still
 * requires the Service to exist: use `ApiService.install` with `localhost`, or apply the operator's manifests.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Listener } from "../apiservice/ApiServiceServer.ts"
import { ApiServer } from "./ApiServer.ts"
import * as InProcess from "./InProcess.ts"

/** Lets the `ApiServer` in context call the program's API servers. */
export const layer: Layer.Layer<never, never, ApiServer> = Layer.effect(
  Listener,
  Effect.gen(function*() {
    const serve = yield* InProcess.make(yield* ApiServer)
    return { listen: (handler, { service }) => serve(InProcess.keyOf(service), handler) }
  })
)
