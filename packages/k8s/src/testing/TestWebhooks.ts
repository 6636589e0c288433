/**
 * `TestWebhooks`: an operator's webhooks without sockets and certificates, called by the in-memory server itself, in
 * virtual time. There are two ways to have them.
 *
 * As part of the cluster, whether or not the operator runs; `TestCluster` and `Simulation` install them:
 *
 * ```ts
 * TestCluster.layer({ resources: [Database], webhooks: [validating, mutating] })
 * TestCluster.layer({ resources: [Database], webhooks: TestWebhooks.served([readsQuotas], Cache.layer([Quota])) })
 * ```
 *
 * Or as part of the operator, as in production. Under `layer` a `WebhookServer` is reachable behind its Service at once;
 * the Service need not exist. The webhook configurations are ordinary objects: apply the operator's manifests, or use
 * `Webhook.install`.
 *
 * ```ts
 * Manager.layer([controller]).pipe(Layer.provide(Webhook.layer(hooks, options)), Layer.provide(TestWebhooks.layer))
 * ```
 *
 * Webhooks of others, at other Services, are called as they would be without this layer, also over TCP.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Configurations from "../webhook/Configurations.ts"
import * as Handler from "../webhook/Handler.ts"
import type { Any, Hook, RequirementsOf } from "../webhook/Hook.ts"
import { Listener } from "../webhook/WebhookServer.ts"
import { ApiServer } from "./ApiServer.ts"
import * as InProcess from "./InProcess.ts"

export { backend } from "./InProcess.ts"

/** Hooks with what they need besides a client; made by `served`. */
export interface Served {
  readonly hooks: ReadonlyArray<Any>
  readonly layer: Layer.Layer<never, unknown, KubeClient>
}

/** The hooks of a cluster. Those that need more than a client are given with a layer: see `served`. */
export type Webhooks = ReadonlyArray<Hook<KubeClient>> | Served

/** Hooks with what they need, such as `Cache.layer([Quota])`. The layer lives as long as the cluster. */
export const served = <const Hs extends ReadonlyArray<Any>>(
  hooks: Hs,
  layer: Layer.Layer<Exclude<RequirementsOf<Hs[number]>, KubeClient>, unknown, KubeClient>
): Served => ({ hooks, layer })

const isServed = (webhooks: Webhooks): webhooks is Served => "hooks" in webhooks

export const hooksOf = (webhooks: Webhooks): ReadonlyArray<Any> => isServed(webhooks) ? webhooks.hooks : webhooks

/** Not `default`, because hooks for built-in kinds are not called in the operator's own namespace. */
const service = { namespace: "kube-system", name: "webhooks" }

/** Registers the hooks. */
export const install = (webhooks: Webhooks): Effect.Effect<void, KubeError, KubeClient> =>
  Configurations.install(hooksOf(webhooks), { name: "webhooks", reachable: { service } })

/** Serves the hooks until the scope closes. A layer that cannot be built is a defect. */
export const serve = (webhooks: Webhooks): Effect.Effect<void, never, ApiServer | KubeClient | Scope.Scope> =>
  Effect.gen(function*() {
    // A program without hooks has no metrics of any.
    if (hooksOf(webhooks).length === 0) return
    const listen = yield* InProcess.make(yield* ApiServer)
    const needed = isServed(webhooks) ? webhooks.layer : Layer.empty
    const context = yield* Effect.orDie(Layer.build(needed))
    const handler = yield* Effect.provideContext(Handler.make(hooksOf(webhooks) as ReadonlyArray<Hook>), context)
    yield* listen(InProcess.keyOf(service), InProcess.backend(handler))
  })

/** Lets the `ApiServer` in context call the program's webhook servers. */
export const layer: Layer.Layer<never, never, ApiServer> = Layer.effect(
  Listener,
  Effect.gen(function*() {
    const listen = yield* InProcess.make(yield* ApiServer)
    return {
      listen: (handler, { service, url }) => listen(url ?? InProcess.keyOf(service), InProcess.backend(handler))
    }
  })
)
