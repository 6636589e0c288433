/**
 * `Serving`: a TLS server with the certificates that go with it: its own, kept in a Secret by all replicas, with the
 * caBundles that trust them (see `CertificateKeeper`), or those that somebody else keeps in files.
 *
 * It listens with the first certificate, and shows those that follow. After SIGTERM it lingers (see `Linger`). Its parts
 * run under the supervisor.
 */
import * as Informers from "@effect-operator/core/Informers"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as Manager from "@effect-operator/core/Manager"
import type * as Supervisor from "@effect-operator/core/Supervisor"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as CertificateFiles from "../CertificateFiles.ts"
import type { Certificate } from "../Certificates.ts"
import * as Endpoints from "../Endpoints.ts"
import * as Linger from "../Linger.ts"
import { Termination } from "../Termination.ts"
import type * as TlsServer from "../TlsServer.ts"
import type * as CaBundle from "./CaBundle.ts"
import * as CertificateKeeper from "./CertificateKeeper.ts"
import type * as Keyring from "./Keyring.ts"
import * as Metrics from "./WebhookMetrics.ts"

/** How certificates are made, or which files hold them. */
export type Certificates = Omit<Keyring.Policy, "hosts"> | CertificateFiles.Options

export interface Options {
  /** `webhooks`: of messages and of its parts. */
  readonly what: string
  /** `host:port` or `:port`. */
  readonly address: string
  /** What to do if that cannot be listened on, after a colon. */
  readonly remedy: string
  readonly certificates: Certificates
  /** Where its own are kept. */
  readonly secret: { readonly namespace: string; readonly name: string }
  readonly hosts: ReadonlyArray<string>
  readonly targets: ReadonlyArray<CaBundle.Target>
  readonly reachable: CaBundle.Reachable
  /** How long it is served after SIGTERM. */
  readonly linger: Duration.Input | undefined
  /** Begins to listen. */
  readonly listen: (
    certificate: Certificate,
    address: Endpoints.Address
  ) => Effect.Effect<TlsServer.Server, Endpoints.ListenFailed, Scope.Scope>
}

export interface Serving {
  /** Completes when it listens. */
  readonly ready: Effect.Effect<Endpoints.Address, Endpoints.ListenFailed>
  readonly address: () => Endpoints.Address | undefined
  readonly trouble: () => string | undefined
}

/** What is to be told of a server. */
export interface Status {
  /** Where it listens; nothing until it does. */
  readonly address: Endpoints.Address | undefined
  /** What is wrong; nothing if all is well. */
  readonly trouble: string | undefined
}

/** A server as others see it. */
export interface Served {
  /** Completes when it listens. */
  readonly ready: Effect.Effect<Endpoints.Address, Endpoints.ListenFailed>
  readonly status: Effect.Effect<Status>
  /** Fails when a part of it has ended, which none should. */
  readonly failure: Effect.Effect<never, Supervisor.PartFailed>
}

/**
 * Shows a server to others, and to the manager's checks under a name: ready as long as it listens and nobody has asked
 * the process to end, alive as long as all of its parts are. `more` tells of trouble besides that of the server and its
 * certificates.
 */
export const show = Effect.fnUntraced(function*(
  name: string,
  serving: Serving,
  supervisor: Supervisor.Supervisor,
  more: () => string | undefined = () => undefined
) {
  const board = yield* Manager.Board
  const termination = yield* Termination
  const failed = () => supervisor.failed()?.message
  const status = (): Status => ({ address: serving.address(), trouble: failed() ?? serving.trouble() ?? more() })
  if (board?.check !== undefined) {
    yield* board.check({
      name,
      ready: Effect.sync(() => {
        const { address, trouble } = status()
        if (termination.isRequested()) return "the process is stopping"
        return failed() ?? (address === undefined ? trouble ?? "there is no certificate yet" : undefined)
      }),
      alive: Effect.sync(failed)
    })
  }
  return { ready: serving.ready, status: Effect.sync(status), failure: supervisor.failure } satisfies Served as Served
})

/** Every name a Service goes by, and the host of a URL. */
export const hostsOf = (
  { service: { name, namespace }, url }: {
    readonly service: { readonly namespace: string; readonly name: string }
    readonly url?: string | undefined
  }
): ReadonlyArray<string> => [
  `${name}.${namespace}.svc`,
  `${name}.${namespace}.svc.cluster.local`,
  `${name}.${namespace}`,
  ...(url === undefined ? [] : [new URL(url).hostname.replace(/^\[|\]$/g, "")])
]

/** What is reached within this process from now on, without a socket: always ready. */
export const within = Effect.fnUntraced(function*(
  what: string,
  { linger, service: { name, port = 443 } }: {
    readonly service: { readonly name: string; readonly port?: number | undefined }
    readonly linger?: Duration.Input | undefined
  }
) {
  yield* Linger.hold(what, { linger })
  return {
    ready: Effect.succeed({ host: name, port }),
    address: () => ({ host: name, port }),
    trouble: () => undefined
  } satisfies Serving as Serving
})

/** A server that listens as soon as it has a certificate. */
export const make = Effect.fnUntraced(function*(supervisor: Supervisor.Supervisor, options: Options) {
  const { certificates, what } = options
  const ready = yield* Deferred.make<Endpoints.Address, Endpoints.ListenFailed>()
  const parsed = Endpoints.parseAddress(options.address)
  if (parsed === undefined || parsed === "off") {
    return yield* Effect.die(
      new Error(`${what}: address: ${JSON.stringify(options.address)}: must be host:port or :port`)
    )
  }
  let server: TlsServer.Server | undefined
  const serve = (shown: Stream.Stream<Certificate>) =>
    Stream.runForEach(shown, (certificate) =>
      Effect.gen(function*() {
        if (server !== undefined) return yield* server.renew(certificate)
        server = yield* Effect.mapError(
          options.listen(certificate, parsed),
          ({ address, message }) => new Endpoints.ListenFailed({ address, message: `${message}: ${options.remedy}` })
        )
        yield* Linger.hold(what, { linger: options.linger, leave: server.leave })
        yield* Deferred.succeed(ready, server.address)
        yield* Effect.logInfo(`${what}: served on ${server.address.host ?? ""}:${server.address.port}`)
      })).pipe(Effect.tapError((error) => Deferred.fail(ready, error)))
  const serving = { ready: Deferred.await(ready), address: () => server?.address }

  if ("cert" in certificates) {
    const files = CertificateFiles.make(certificates)
    yield* supervisor.run(what, serve(Stream.tap(files.changes, ({ until }) => Metrics.certificateShown(until))))
    return { ...serving, trouble: files.trouble } satisfies Serving as Serving
  }
  const client = yield* KubeClient
  const informers = Context.get(yield* Layer.build(Informers.layer(supervisor)), Informers.Informers)
  const { hosts, reachable, secret, targets } = options
  const keeper = yield* CertificateKeeper.make(informers, client, {
    secret,
    policy: { ...certificates, hosts },
    targets,
    reachable
  })
  const shown = SubscriptionRef.changes(keeper.current).pipe(
    Stream.flatMap((keyring) => keyring === undefined ? Stream.empty : Stream.succeed(keyring.serving)),
    Stream.changesWith((a, b) => a.certPem === b.certPem)
  )
  yield* supervisor.run(`${what}: certificates`, keeper.run)
  yield* supervisor.run(what, serve(shown))
  return { ...serving, trouble: keeper.trouble } satisfies Serving as Serving
})
