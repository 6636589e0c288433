/**
 * `WebhookServer`: serves hooks, with certificates that it issues itself, for as long as its layer lives.
 *
 * Besides handling requests it keeps its certificates in a Secret that all replicas share, renews them in time, and
 * maintains the matching caBundle in its webhook configurations and definitions (see `CertificateKeeper`). Or it uses
 * certificates that somebody else, such as cert-manager, maintains in files, reads them again when they change, and
 * leaves every caBundle alone.
 *
 * Provide it to the manager, so that it starts before and ends after it:
 * `Manager.layer([…]).pipe(Layer.provide(server))`. It listens as soon as it has a certificate. If it cannot listen, or
 * ends, the manager's `launch` fails. On a `Board` it has the check `webhooks`: whether it serves.
 *
 * The `Listener` in context decides how it is reached: over HTTPS or, in tests, by a call of the in-memory API server.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import * as Supervisor from "@effect-operator/core/Supervisor"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as CaBundle from "./CaBundle.ts"
import * as Handler from "./Handler.ts"
import type { Any, Hook } from "./Hook.ts"
import * as HttpsServer from "./HttpsServer.ts"
import * as Serving from "./Serving.ts"
import * as WebhookAddress from "./WebhookAddress.ts"

export interface Options {
  /** The name of the webhook configurations and, with `-webhook-tls` appended, of the Secret. */
  readonly name: string
  /** The Service through which the API server reaches the hooks. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
  /** `https://host:port`, instead of the Service, if the API server must reach the hooks from outside the cluster. */
  readonly url?: string | undefined
  /** `host:port` or `:port`; by default `EFFECT_OPERATOR_WEBHOOKS_ADDRESS`, or `:9443` if that is not set. */
  readonly address?: string | undefined
  /** The name of the Secret. */
  readonly secret?: string | undefined
  readonly certificates?: Serving.Certificates | undefined
  /** The largest body in bytes. */
  readonly maxBodyBytes?: number | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeout?: Duration.Input | undefined
  /** How long it is served after SIGTERM; by default `EFFECT_OPERATOR_LINGER`, or 5 s if that is not set. */
  readonly linger?: Duration.Input | undefined
  /** How long requests in flight may take on shutdown. */
  readonly closeGrace?: Duration.Input | undefined
}

export class WebhookServer
  extends Context.Service<WebhookServer, Serving.Served>()("@effect-operator/k8s/webhook/WebhookServer")
{}

/** A way to reach the hooks without a socket, and so without certificates. */
export interface Listener {
  readonly listen: (handler: Handler.Handler, options: Options) => Effect.Effect<void, never, Scope.Scope>
}

/** The listener in context; HTTPS if there is none. */
export const Listener: Context.Reference<Listener | undefined> = Context.Reference<Listener | undefined>(
  "@effect-operator/k8s/webhook/Listener",
  { defaultValue: () => undefined }
)

export const secretName = ({ name, secret }: Pick<Options, "name" | "secret">): string =>
  secret ?? `${name}-webhook-tls`

/** How the API server reaches the hooks. */
export const reachable = ({ service, url }: Pick<Options, "service" | "url">): CaBundle.Reachable =>
  url === undefined ? { service } : { url }

/** Serves the hooks. Building the layer does not wait for certificates: see `ready`. */
export const layer = <const Hs extends ReadonlyArray<Any>>(
  hooks: Hs,
  options: Options
): Layer.Layer<WebhookServer, never, KubeClient | (Hs[number] extends Hook<infer R> ? R : never)> =>
  Layer.effect(WebhookServer, make(hooks, options))

const limits = ({ closeGrace, maxBodyBytes, requestTimeout }: Options) => ({ closeGrace, maxBodyBytes, requestTimeout })

const make = Effect.fnUntraced(function*<R>(hooks: ReadonlyArray<Hook<R>>, options: Options) {
  const handler = yield* Handler.make(hooks)
  const listener = yield* Listener
  const supervisor = yield* Supervisor.make
  const serving: Serving.Serving = listener === undefined
    ? yield* Serving.make(supervisor, {
      what: "webhooks",
      address: options.address ?? (yield* WebhookAddress.WebhookAddress) ?? HttpsServer.defaults.address,
      remedy: options.address === undefined
        ? `set ${WebhookAddress.variable} to another address, or give \`Webhook.layer\` an \`address\``
        : "give `Webhook.layer` another `address`",
      certificates: options.certificates ?? {},
      secret: { namespace: options.service.namespace, name: secretName(options) },
      hosts: Serving.hostsOf(options),
      targets: CaBundle.targets(hooks, options.name),
      reachable: reachable(options),
      linger: options.linger,
      listen: (certificate, address) => HttpsServer.make(handler, { ...certificate, ...limits(options), address })
    })
    : yield* Effect.andThen(listener.listen(handler, options), Serving.within("webhooks", options))

  return WebhookServer.of(yield* Serving.show("webhooks", serving, supervisor))
})
