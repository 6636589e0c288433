/**
 * `Serving`: a TLS server with its certificates: its own, kept in a Secret by all replicas, with the caBundles that
 * trust them (see `CertificateKeeper`), or those that somebody else maintains in files.
 *
 * It listens once it has the first certificate, and switches to later ones. After SIGTERM it lingers (see `Linger`).
 * Its parts run under the supervisor.
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

/** How certificates are issued, or the files that contain them. */
export type Certificates = Omit<Keyring.Policy, "hosts"> | CertificateFiles.Options

export interface Options {
  /** `webhooks`: used in messages and in the names of its parts. */
  readonly what: string
  /** `host:port` or `:port`. */
  readonly address: string
  /** What to do if the address cannot be listened on; printed after a colon. */
  readonly remedy: string
  readonly certificates: Certificates
  /** The Secret for its own certificates. */
  readonly secret: { readonly namespace: string; readonly name: string }
  readonly hosts: ReadonlyArray<string>
  readonly targets: ReadonlyArray<CaBundle.Target>
  readonly reachable: CaBundle.Reachable
  /** How long it is served after SIGTERM. */
  readonly linger: Duration.Input | undefined
  /** Starts to listen. */
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

/** The status of a server. */
export interface Status {
  /** The address it listens on; undefined before. */
  readonly address: Endpoints.Address | undefined
  /** What is wrong; undefined if all is well. */
  readonly trouble: string | undefined
}

/** A server as seen from outside. */
export interface Served {
  /** Completes when it listens. */
  readonly ready: Effect.Effect<Endpoints.Address, Endpoints.ListenFailed>
  readonly status: Effect.Effect<Status>
  /** Fails when one of its parts has ended, which should not happen. */
  readonly failure: Effect.Effect<never, Supervisor.PartFailed>
}

/**
 * Exposes a server, and registers it with the manager's checks under a name: ready while it listens and the process has
 * not been asked to stop, alive while all of its parts are. `more` reports trouble other than that of the server and
 * its certificates.
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

/** All DNS names of a Service, and the host of a URL. */
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

/** A server that is called within this process, without a socket: always ready. */
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

/** A server that starts to listen as soon as it has a certificate. */
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
        yield* Effect.logInfo(`${what}: serving on ${server.address.host ?? ""}:${server.address.port}`)
      })).pipe(Effect.tapError((error) => Deferred.fail(ready, error)))
  const serving = { ready: Deferred.await(ready), address: () => server?.address }

  if ("cert" in certificates) {
    const files = CertificateFiles.make(certificates)
    yield* supervisor.run(
      what,
      serve(Stream.tap(files.changes, ({ until }) => Metrics.certificateShown(certificates.cert, until)))
    )
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
