/**
 * `WebhookServer`: serves hooks, with certificates of its own making, for as long as its layer lives.
 *
 * What it does besides answering: keeps certificates in a Secret that all replicas share, shows them, replaces them in
 * time, and puts the caBundle that goes with them into its webhook configurations and definitions, and back if somebody
 * takes it out (see `CertificateKeeper`). Or it shows certificates that somebody else keeps in files, such as
 * cert-manager, reads them again when they change, and leaves every caBundle alone.
 *
 * Provide it to the manager, so that it starts before and ends after it: `Manager.layer([…]).pipe(Layer.provide(server))`.
 * It listens as soon as it has a certificate. On a `Board` it has a check, `webhooks`: whether it serves.
 *
 * How it is reached is the `Listener` in context: HTTPS, or, in tests, a call of the in-memory API server.
 */
import * as Informers from "@effect-operator/core/Informers"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as Manager from "@effect-operator/core/Manager"
import * as Supervisor from "@effect-operator/core/Supervisor"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Endpoints from "../Endpoints.ts"
import * as CaBundle from "./CaBundle.ts"
import * as CertificateFiles from "./CertificateFiles.ts"
import * as CertificateKeeper from "./CertificateKeeper.ts"
import * as Handler from "./Handler.ts"
import type { Any, Hook } from "./Hook.ts"
import * as HttpsServer from "./HttpsServer.ts"
import type * as Keyring from "./Keyring.ts"
import type * as TlsServer from "../TlsServer.ts"

export interface Options {
  /** Of the webhook configurations, and, with `-webhook-tls`, of the Secret. */
  readonly name: string
  /** The Service through which the API server comes. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
  /** `https://host:port` where the API server comes from outside the cluster, instead of the Service. */
  readonly url?: string | undefined
  /** `host:port` or `:port`; `:9443` by default. */
  readonly address?: string | undefined
  /** The Secret's name. */
  readonly secret?: string | undefined
  readonly certificates?: Omit<Keyring.Policy, "hosts"> | CertificateFiles.Options | undefined
  /** The largest body in bytes. */
  readonly maxBodyBytes?: number | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeout?: Duration.Input | undefined
  /** How long answers under way may take on close. */
  readonly closeGrace?: Duration.Input | undefined
}

export interface Status {
  /** Where it listens; nothing until it does. */
  readonly address: Endpoints.Address | undefined
  /** What is wrong; nothing if all is well. */
  readonly trouble: string | undefined
}

export class WebhookServer extends Context.Service<WebhookServer, {
  /** Completes when it serves. */
  readonly ready: Effect.Effect<Endpoints.Address, Endpoints.ListenFailed>
  readonly status: Effect.Effect<Status>
  /** Fails when a part of it has ended, which none should. */
  readonly failure: Effect.Effect<never, Supervisor.PartFailed>
}>()("@effect-operator/k8s/webhook/WebhookServer") {}

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

/** Every name a Service goes by, and the host of a URL. */
export const hosts = (
  { service: { name, namespace }, url }: Pick<Options, "service" | "url">
): ReadonlyArray<string> => [
  `${name}.${namespace}.svc`,
  `${name}.${namespace}.svc.cluster.local`,
  `${name}.${namespace}`,
  ...(url === undefined ? [] : [new URL(url).hostname.replace(/^\[|\]$/g, "")])
]

/** Serves the hooks. Building it does not wait for certificates: see `ready`. */
export const layer = <const Hs extends ReadonlyArray<Any>>(
  hooks: Hs,
  options: Options
): Layer.Layer<WebhookServer, never, KubeClient | (Hs[number] extends Hook<infer R> ? R : never)> =>
  Layer.effect(WebhookServer, make(hooks, options))

const make = Effect.fnUntraced(function*<R>(hooks: ReadonlyArray<Hook<R>>, options: Options) {
  const handler = yield* Handler.make(hooks)
  const listener = yield* Listener
  const board = yield* Manager.Board
  const supervisor = yield* Supervisor.make
  const ready = yield* Deferred.make<Endpoints.Address, Endpoints.ListenFailed>()
  let address: Endpoints.Address | undefined
  let trouble: () => string | undefined = () => undefined

  const listening = (at: Endpoints.Address) =>
    Effect.gen(function*() {
      address = at
      yield* Deferred.succeed(ready, at)
      yield* Effect.logInfo(`webhooks: served on ${at.host ?? ""}:${at.port}`)
    })

  /** Listens with the first certificate, and shows those that follow. */
  const serve = (certificates: Stream.Stream<TlsServer.Shown>) => {
    const text = options.address ?? HttpsServer.defaults.address
    const parsed = Endpoints.parseAddress(text)
    if (parsed === undefined || parsed === "off") {
      return Effect.die(new Error(`WebhookServer: address: ${JSON.stringify(text)}: must be host:port or :port`))
    }
    let server: TlsServer.Server | undefined
    return Stream.runForEach(certificates, (certificate) =>
      Effect.gen(function*() {
        if (server !== undefined) return yield* server.renew(certificate)
        const { closeGrace, maxBodyBytes, requestTimeout } = options
        server = yield* HttpsServer.make(handler, {
          ...certificate,
          address: parsed,
          closeGrace,
          maxBodyBytes,
          requestTimeout
        })
        yield* listening(server.address)
      })).pipe(Effect.tapError((error) => Deferred.fail(ready, error)))
  }

  const { certificates = {} } = options
  if (listener !== undefined) {
    yield* listener.listen(handler, options)
    yield* listening({ host: options.service.name, port: options.service.port ?? 443 })
  } else if ("cert" in certificates) {
    const files = CertificateFiles.make(certificates)
    trouble = files.trouble
    yield* supervisor.run("webhooks", serve(files.changes))
  } else {
    const client = yield* KubeClient
    const informers = Context.get(yield* Layer.build(Informers.layer(supervisor)), Informers.Informers)
    const keeper = yield* CertificateKeeper.make(informers, client, {
      secret: { namespace: options.service.namespace, name: secretName(options) },
      policy: { ...certificates, hosts: hosts(options) },
      targets: CaBundle.targets(hooks, options.name),
      reachable: reachable(options)
    })
    trouble = keeper.trouble
    const shown = SubscriptionRef.changes(keeper.current).pipe(
      Stream.flatMap((keyring) => keyring === undefined ? Stream.empty : Stream.succeed(keyring.serving)),
      Stream.changesWith((a, b) => a.certPem === b.certPem)
    )
    yield* supervisor.run("webhook certificates", keeper.run)
    yield* supervisor.run("webhooks", serve(shown))
  }

  const status = Effect.sync((): Status => ({
    address,
    trouble: supervisor.failed()?.message ?? trouble()
  }))
  if (board?.check !== undefined) {
    yield* board.check({
      name: "webhooks",
      ready: Effect.map(
        status,
        ({ address, trouble }) =>
          supervisor.failed()?.message ?? (address === undefined ? trouble ?? "there is no certificate yet" : undefined)
      ),
      alive: Effect.sync(() => supervisor.failed()?.message)
    })
  }
  return WebhookServer.of({ ready: Deferred.await(ready), status, failure: supervisor.failure })
})
