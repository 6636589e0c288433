/**
 * `TestWebhooks`: an operator's webhooks without sockets and certificates, called by the in-memory server itself.
 *
 * Under this layer a `WebhookServer` stands behind its Service at once, in virtual time; the Service need not exist.
 * The configurations are ordinary objects: apply the operator's manifests, or use `Webhook.install`.
 *
 * ```ts
 * Manager.layer([controller]).pipe(Layer.provide(Webhook.layer(hooks, options)), Layer.provide(TestWebhooks.layer))
 * ```
 *
 * It is for an `ApiServer` that was not built with backends of its own. If such a server is also served over TCP, it
 * calls only these webhooks.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Handler, rejected } from "../webhook/Handler.ts"
import { Listener } from "../webhook/WebhookServer.ts"
import { ApiServer } from "./ApiServer.ts"
import type * as Backends from "./Backends.ts"
import * as InProcess from "./InProcess.ts"

/** A webhook server as a backend, for a map of your own. */
export const backend = (handler: Handler): Backends.Handler => (request) =>
  handler({
    ...request,
    body: request.body === undefined
      ? Effect.fail(rejected(400, "the body ended too soon"))
      : Effect.succeed(request.body)
  })

/** Webhook servers are called by the `ApiServer` in context. */
export const layer: Layer.Layer<never, never, ApiServer> = Layer.effect(
  Listener,
  Effect.gen(function*() {
    const serve = yield* InProcess.make(yield* ApiServer)
    return {
      listen: (handler, { service, url }) => serve(url ?? InProcess.keyOf(service), backend(handler))
    }
  })
)
