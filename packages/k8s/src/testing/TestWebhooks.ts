/**
 * `TestWebhooks`: an operator's webhooks without sockets and certificates, called by the in-memory server itself.
 *
 * Under this layer a `WebhookServer` is reachable behind its Service at once, in virtual time. The Service need not
 * exist. The webhook configurations are ordinary objects: apply the operator's manifests, or use `Webhook.install`.
 *
 * ```ts
 * Manager.layer([controller]).pipe(Layer.provide(Webhook.layer(hooks, options)), Layer.provide(TestWebhooks.layer))
 * ```
 *
 * Webhooks of others, at other Services, are called as they would be without this layer, also over TCP.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Handler, rejected } from "../webhook/Handler.ts"
import { Listener } from "../webhook/WebhookServer.ts"
import { ApiServer } from "./ApiServer.ts"
import type * as Backends from "./Backends.ts"
import * as InProcess from "./InProcess.ts"

/** A webhook server as a backend, for use with `Backends.handlers`. */
export const backend = (handler: Handler): Backends.Handler => (request) =>
  handler({
    ...request,
    body: request.body === undefined
      ? Effect.fail(rejected(400, "the body is incomplete"))
      : Effect.succeed(request.body)
  })

/** Lets the `ApiServer` in context call the program's webhook servers. */
export const layer: Layer.Layer<never, never, ApiServer> = Layer.effect(
  Listener,
  Effect.gen(function*() {
    const serve = yield* InProcess.make(yield* ApiServer)
    return {
      listen: (handler, { service, url }) => serve(url ?? InProcess.keyOf(service), backend(handler))
    }
  })
)
