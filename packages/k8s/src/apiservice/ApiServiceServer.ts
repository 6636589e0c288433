/**
 * `ApiServiceServer`: serves an `Api` behind the cluster's aggregator, for as long as its layer lives.
 *
 * | request | response |
 * |---|---|
 * | without the aggregator's certificate, or before the cluster has published its authority | 401 |
 * | not allowed by the cluster's RBAC | 403 |
 * | any other | as a kube-apiserver responds for a custom resource |
 *
 * Like the webhook server it keeps its certificates in a Secret that all replicas share, renews them in time and
 * maintains the caBundle of its APIService, or it uses certificates that somebody else maintains in files. After
 * SIGTERM it lingers (see `Linger`). On shutdown every watch ends cleanly, and requests in flight are finished.
 *
 * The `Listener` in context decides how it is reached: over HTTPS or, in tests, by a call of the in-memory API server.
 * It registers the check `api GROUP/VERSION` on the `Board`.
 */
import * as Informers from "@effect-operator/core/Informers"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as Supervisor from "@effect-operator/core/Supervisor"
import type { Request } from "@effect-operator/core/Transport"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as HttpRequest from "../api/HttpRequest.ts"
import * as Reply from "../api/Reply.ts"
import * as Representation from "../api/Representation.ts"
import * as RequestBody from "../api/RequestBody.ts"
import * as StatusError from "../api/StatusError.ts"
import { APIService } from "../kinds/apiregistration.v1.ts"
import { ConfigMap } from "../kinds/core.v1.ts"
import * as TlsServer from "../TlsServer.ts"
import * as Serving from "../webhook/Serving.ts"
import type { Api } from "./Api.ts"
import * as Authorization from "./Authorization.ts"
import * as Engine from "./Engine.ts"
import * as FrontProxy from "./FrontProxy.ts"
import * as Registration from "./Registration.ts"

export const defaults = {
  address: ":8443",
  beside: "127.0.0.1:0"
} as const

export interface Options {
  /** The prefix of the Secret's name, followed by `-api-tls`. */
  readonly name: string
  /** The Service through which the aggregator reaches the operator. */
  readonly service: Registration.ServiceReference
  /**
   * Whether the operator runs beside the cluster, on the host of its API server. It then registers itself while it
   * runs, with a Service that leads to this host. Otherwise the manifests register it.
   */
  readonly localhost?: boolean | undefined
  /** `host:port` or `:port`; `:8443` by default, beside the cluster a free port of this host. */
  readonly address?: string | undefined
  /** The name of the Secret. */
  readonly secret?: string | undefined
  readonly certificates?: Serving.Certificates | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeout?: Duration.Input | undefined
  /** How long it is served after SIGTERM; by default `EFFECT_OPERATOR_LINGER`, or 5 s if that is not set. */
  readonly linger?: Duration.Input | undefined
  /** How long requests in flight may take on shutdown. */
  readonly closeGrace?: Duration.Input | undefined
}

export class ApiServiceServer
  extends Context.Service<ApiServiceServer, Serving.Served>()("@effect-operator/k8s/apiservice/ApiServiceServer")
{}

/** Responds to requests without a socket. */
export type Handler = (request: Request) => Effect.Effect<Representation.ApiResponse>

/** A way to reach the API without a socket, and so without certificates: the headers name the user. */
export interface Listener {
  readonly listen: (handler: Handler, options: Options) => Effect.Effect<void, never, Scope.Scope>
}

/** The listener in context; HTTPS if there is none. */
export const Listener: Context.Reference<Listener | undefined> = Context.Reference<Listener | undefined>(
  "@effect-operator/k8s/apiservice/Listener",
  { defaultValue: () => undefined }
)

export const secretName = ({ name, secret }: Pick<Options, "name" | "secret">): string => secret ?? `${name}-api-tls`

/** Serves an API. Building the layer does not wait for certificates: see `ready`. */
export const layer = <R>(api: Api<R>, options: Options): Layer.Layer<ApiServiceServer, never, KubeClient | R> =>
  Layer.effect(ApiServiceServer, make(api, options))

/** A caller in this process is the user in the aggregator's usual headers. */
const inProcess: FrontProxy.Trust = {
  clientAuthorityPem: "",
  allowedNames: [],
  username: ["x-remote-user"],
  uid: ["x-remote-uid"],
  group: ["x-remote-group"],
  extraPrefix: ["x-remote-extra-"]
}

const unauthorized: Representation.ApiResponse = (() => {
  const { headers, ...answer } = Representation.refused(StatusError.unauthorized)
  // The next request opens a connection of its own, which may be trusted by then.
  return { ...answer, headers: { ...headers, connection: "close" } }
})()

const decoded = (request: Request, bytes: Effect.Effect<Uint8Array, StatusError.StatusError>) => (kind: string) =>
  Effect.flatMap(bytes, (bytes) =>
    Effect.flatMap(
      RequestBody.decode({
        method: request.method,
        contentType: request.headers["content-type"],
        bytes,
        kind: Effect.succeed(kind)
      }),
      Effect.fromResult
    ))

const local = (engine: Engine.Engine): Handler => (request) => {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, value.split(", ")])
  )
  const user = FrontProxy.identify(inProcess, "", headers)
  if (user === undefined) return Effect.succeed(unauthorized)
  const { body } = request
  return engine.handle({
    request,
    user,
    ...(body instanceof Uint8Array ? { body: decoded(request, Effect.succeed(body)) } : {})
  })
}

const remote = (
  engine: Engine.Engine,
  trust: () => FrontProxy.Trust | undefined,
  closing: Deferred.Deferred<void>
): TlsServer.App =>
  Effect.gen(function*() {
    const http = yield* HttpServerRequest.HttpServerRequest
    const request = HttpRequest.requestOf(http)
    const refused = (answer: Representation.ApiResponse) =>
      Reply.make(answer, { method: "GET", path: "", query: [], headers: http.headers }, closing)
    const trusted = trust()
    const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(http)
    const user = trusted === undefined
      ? undefined
      : FrontProxy.identify(trusted, TlsServer.peerOf(http), FrontProxy.headersOf(rawHeaders))
    if (user === undefined) return yield* refused(unauthorized)
    const answer = yield* engine.handle({ request, user, body: decoded(request, HttpRequest.readBytes(http)) })
    return yield* Reply.make(answer, request, closing)
  }).pipe(Effect.interruptible)

const make = Effect.fnUntraced(function*<R>(api: Api<R>, options: Options) {
  const what = `api ${api.groupVersion}`
  const listener = yield* Listener
  const client = yield* KubeClient
  const supervisor = yield* Supervisor.make
  const closing = yield* Deferred.make<void>()
  const informers = Context.get(yield* Layer.build(Informers.layer(supervisor)), Informers.Informers)
  const engine = yield* Engine.make(api, { informers, authorize: Authorization.make(client) })
  const context = yield* Effect.context<R>()
  for (const [plural, { run }] of engine.views) {
    yield* supervisor.run(`${what}: ${plural}`, Effect.provideContext(run as Effect.Effect<never, never, R>, context))
  }

  const registered = yield* informers.get({ resource: APIService, fields: `metadata.name=${api.name}` })
  let server: TlsServer.Server | undefined
  let trust: FrontProxy.Trust | undefined
  if (listener === undefined) {
    const { name, namespace } = FrontProxy.configMap
    const config = yield* informers.get({ resource: ConfigMap, namespace, fields: `metadata.name=${name}` })
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    yield* config.subscribe(() => {
      const stored = config.store.get(`${namespace}/${name}`) as ConfigMap | undefined
      trust = stored === undefined ? undefined : FrontProxy.read(stored)
      if (server !== undefined) fork(server.trust(trust?.clientAuthorityPem ?? ""))
    })
  }
  // The Secret is in that namespace, so it must exist before the API can be registered.
  const room = Registration.makeRoom(options.service)
  if (options.localhost === true) yield* Effect.ignore(room)
  // Runs before the sockets are closed, so that ended watches leave idle connections.
  const ending = Effect.andThen(engine.endWatches, Deferred.succeed(closing, undefined))
  const { closeGrace, requestTimeout } = options
  const serving: Serving.Serving = listener === undefined
    ? yield* Serving.make(supervisor, {
      what,
      address: options.address ?? (options.localhost === true ? defaults.beside : defaults.address),
      remedy: "give `ApiService.layer` another `address`",
      certificates: options.certificates ?? {},
      secret: { namespace: options.service.namespace, name: secretName(options) },
      hosts: Serving.hostsOf(options),
      targets: [{ resource: APIService, name: api.name }],
      reachable: { service: options.service },
      linger: options.linger,
      listen: (certificate, address) =>
        TlsServer.make(remote(engine, () => trust, closing), {
          ...certificate,
          what,
          address,
          clientAuthorityPem: trust?.clientAuthorityPem ?? "",
          closeGrace,
          requestTimeout
        }).pipe(
          Effect.tap((made) => {
            server = made
            // The authority may have become known while the server started to listen.
            return made.trust(trust?.clientAuthorityPem ?? "")
          }),
          Effect.tap(() => Effect.addFinalizer(() => ending))
        )
    })
    : yield* listener.listen(local(engine), options).pipe(
      Effect.andThen(Effect.addFinalizer(() => ending)),
      Effect.andThen(Serving.within(what, options))
    )
  if (options.localhost === true) {
    const register = Effect.ignore(Effect.retry(room, Schedule.spaced(Registration.defaults.retry))).pipe(
      Effect.andThen(Effect.orDie(serving.ready)),
      Effect.flatMap(({ port }) => Registration.beside(api, { ...options.service, port }))
    )
    const scope = yield* Effect.scope
    yield* supervisor.run(`${what}: registration`, Effect.andThen(Scope.provide(register, scope), Effect.never))
  }

  return ApiServiceServer.of(
    yield* Serving.show(what, serving, supervisor, () =>
      listener === undefined && trust === undefined
        ? `ConfigMap ${FrontProxy.configMap.namespace}/${FrontProxy.configMap.name} does not name the CA of the front proxy yet: ` +
          `is the operator's service account bound to the role ${FrontProxy.readerRole}?`
        : Registration.fault(registered.store.get(api.name) as APIService | undefined, api, options.service))
  )
})
