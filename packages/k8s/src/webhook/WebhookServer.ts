/**
 * `WebhookServer`: serves hooks, with certificates of its own making, for as long as its layer lives.
 *
 * What it does besides answering: keeps certificates in a Secret that all replicas share, shows them, replaces them in
 * time, and puts the caBundle that goes with them into its webhook configurations and definitions, and back if somebody
 * takes it out (see `CertificateKeeper`). Or it shows certificates that somebody else keeps in files, such as
 * cert-manager, reads them again when they change, and leaves every caBundle alone.
 *
 * Provide it to the manager, so that it starts before and ends after it:
 * `Manager.layer([…]).pipe(Layer.provide(server))`. It listens as soon as it has a certificate. If it cannot, or ends
 * otherwise, the manager's `launch` fails. On a `Board` it has a check, `webhooks`: whether it serves.
 *
 * How it is reached is the `Listener` in context: HTTPS, or, in tests, a call of the in-memory API server.
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
  /** Of the webhook configurations, and, with `-webhook-tls`, of the Secret. */
  readonly name: string
  /** The Service through which the API server comes. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
  /** `https://host:port` where the API server comes from outside the cluster, instead of the Service. */
  readonly url?: string | undefined
  /** `host:port` or `:port`; what `EFFECT_OPERATOR_WEBHOOKS_ADDRESS` says by default, and `:9443` if that is silent. */
  readonly address?: string | undefined
  /** The Secret's name. */
  readonly secret?: string | undefined
  readonly certificates?: Serving.Certificates | undefined
  /** The largest body in bytes. */
  readonly maxBodyBytes?: number | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeout?: Duration.Input | undefined
  /** How long it is served after SIGTERM; what `EFFECT_OPERATOR_LINGER` says by default, and 5 s if that is silent. */
  readonly linger?: Duration.Input | undefined
  /** How long answers under way may take on close. */
  readonly closeGrace?: Duration.Input | undefined
}

export class WebhookServer
  extends Context.Service<WebhookServer, Serving.Served>()("@effect-operator/k8s/webhook/WebhookServer")
{}

/** A way to be reached without a socket, and so without certificates. */
export interface Listener {
  readonly listen: (handler: Handler.Handler, options: Options) => Effect.Effect<void, never, Scope.Scope>
}

/** HTTPS where there is none. */
export const Listener: Context.Reference<Listener | undefined> = Context.Reference<Listener | undefined>(
  "@effect-operator/k8s/webhook/Listener",
  { defaultValue: () => undefined }
)

export const secretName = ({ name, secret }: Pick<Options, "name" | "secret">): string =>
  secret ?? `${name}-webhook-tls`

/** How the API server reaches the hooks. */
export const reachable = ({ service, url }: Pick<Options, "service" | "url">): CaBundle.Reachable =>
  url === undefined ? { service } : { url }

/** Serves the hooks. Building it does not wait for certificates: see `ready`. */
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
        ? `set ${WebhookAddress.variable} to another, or give \`Webhook.layer\` an \`address\``
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
