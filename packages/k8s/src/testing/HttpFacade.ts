/**
 * `HttpFacade`: the in-memory API server on a TCP port, for kubectl and any other client.
 *
 * Guarantees:
 * - It listens only on 127.0.0.1, with HTTPS and a certificate from an authority made for this facade (or with plain
 *   HTTP on request).
 * - The user of a request is that of its client certificate or bearer token, or else `system:anonymous`, which the
 *   cluster's roles allow to see little.
 * - Bodies are JSON or YAML in both directions; request bodies may also be protobuf.
 * - A watch sends one line of JSON per event, chunked, as the event happens. It ends when the client disconnects.
 * - Closing the layer's scope ends every watch cleanly and closes every connection.
 *
 * The facade only translates between bytes and values. The `ApiServer` decides what a request means and who may make
 * it, and runs on the Clock and Random in context as always. Only `/openapi/...` is answered by the facade itself (see
 * `OpenApiEndpoint`).
 *
 * A watch may also use a WebSocket. Not supported: HTTP/2, and responses in protobuf (clients that also accept JSON get
 * that).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeCrypto from "node:crypto"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Yaml from "yaml"
import { ApiServer, type Arrival, type UserInfo } from "./ApiServer.ts"
import * as FrontProxy from "./aggregation/FrontProxy.ts"
import * as Certificates from "../Certificates.ts"
import * as Endpoints from "../Endpoints.ts"
import * as HangUp from "../HangUp.ts"
import * as Arrivals from "./http/Arrival.ts"
import * as HttpRequest from "../api/HttpRequest.ts"
import * as OpenApiEndpoint from "./http/OpenApiEndpoint.ts"
import * as Reply from "../api/Reply.ts"
import * as ProcessSocket from "./http/ProcessSocket.ts"
import * as WatchSocket from "./http/WatchSocket.ts"
import * as LiveBackends from "./LiveBackends.ts"
import * as Representation from "../api/Representation.ts"
import * as StatusError from "../api/StatusError.ts"
import { administrator } from "../api/UserInfo.ts"

export const defaults = {
  /** The largest request body in bytes, as in a real server. */
  maxBodyBytes: HttpRequest.maxBodyBytes,
  /** Responses longer than this many bytes are compressed for clients that accept gzip, as by a real server. */
  gzipAboveBytes: Reply.gzipAboveBytes,
  /** The name of the cluster, user and context in the kubeconfig. */
  contextName: "effect-operator",
  /** How long a graceful close waits for clients to disconnect before it closes their connections. */
  closeGrace: "200 millis"
} as const

export interface Options {
  /** The port; by default 0, which chooses a free one. */
  readonly port?: number | undefined
  /** The token of the administrator (`kubernetes-admin`, `system:masters`); a random one by default. */
  readonly token?: string | undefined
  /** Further tokens and their users. */
  readonly tokens?: Readonly<Record<string, UserInfo>> | undefined
  /** Plain HTTP instead of HTTPS. */
  readonly http?: boolean | undefined
}

/** The server cannot listen on the port. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly port: number
  readonly message: string
}> {}

export class HttpFacade extends Context.Service<HttpFacade, {
  /** `https://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string
  readonly port: number
  /** The certificate authority to trust, as PEM; empty for plain HTTP. */
  readonly caPem: string
  /** The administrator's token. */
  readonly token: string
  /** A kubeconfig for the administrator, as YAML. */
  readonly kubeconfig: string
  /** A kubeconfig for another user: with a client certificate, or over plain HTTP with a token. */
  readonly kubeconfigFor: (user: UserInfo) => Effect.Effect<string>
}>()("@effect-operator/k8s/testing/HttpFacade") {}

/** Serves the `ApiServer` in context until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<HttpFacade, ListenFailed, ApiServer> =>
  Layer.effect(HttpFacade, make(options))

/** Certificates and sockets take real time, whatever the Clock in context says. */
const realClock = Clock.Clock.defaultValue()

const make = Effect.fnUntraced(function*(options: Options) {
  const server = yield* ApiServer
  // Clients that reach the server over TCP have webhooks that are reached over TCP.
  yield* server.reach(yield* LiveBackends.make())
  const token = options.token ?? NodeCrypto.randomBytes(16).toString("hex")
  const scope = yield* Effect.scope
  const trust = (word: string, user: UserInfo) => Scope.provide(server.trust(word, user), scope)
  yield* Effect.forEach(
    Object.entries({ ...options.tokens, [token]: administrator }),
    ([word, user]) => trust(word, user),
    {
      discard: true
    }
  )
  const closing = yield* Deferred.make<void>()

  const now = realClock.currentTimeMillisUnsafe()
  const authority = options.http === true ? undefined : yield* Certificates.authority({ now })
  const node = authority === undefined
    ? Http.createServer(limits)
    : Https.createServer({ ...limits, ...(yield* serverOptions(authority, now)) })
  const { hangUp } = HangUp.make(node)
  // A server in Go does not send these headers.
  node.prependListener("request", (_, response) => response.removeHeader("connection"))
  if (authority !== undefined) yield* server.introduce(yield* FrontProxy.make(now, authority.certPem))
  // A server that has begun to listen can be closed only once it listens.
  const port = yield* Effect.acquireRelease(
    listen(node, options.port ?? 0, respond({ server, closing, document: documents(server) })),
    () => Effect.andThen(Deferred.succeed(closing, undefined), hangUp(defaults.closeGrace))
  )
  yield* server.publish(port)

  const url = `${authority === undefined ? "http" : "https"}://127.0.0.1:${port}`
  const caPem = authority?.certPem ?? ""
  const kubeconfigFor = Effect.fnUntraced(function*(user: UserInfo) {
    if (authority !== undefined) {
      const { groups: organizations, username: commonName } = user
      const certificate = yield* Certificates.issue(authority, { now, commonName, organizations })
      return kubeconfig({ url, caPem, certificate })
    }
    const word = NodeCrypto.randomBytes(16).toString("hex")
    yield* trust(word, user)
    return kubeconfig({ url, caPem, token: word })
  })
  return HttpFacade.of({ url, port, caPem, token, kubeconfig: kubeconfig({ url, caPem, token }), kubeconfigFor })
})

/** The limits of a real server, in milliseconds and bytes: a client may keep a connection for later use. */
const limits: Http.ServerOptions = {
  keepAliveTimeout: Endpoints.defaults.idleTimeout,
  headersTimeout: Endpoints.defaults.headersTimeout,
  maxHeaderSize: Endpoints.defaults.maxHeaderSize,
  requestTimeout: 0
}

const serverOptions = (authority: Certificates.Authority, now: number): Effect.Effect<Https.ServerOptions> =>
  Certificates.issue(authority, {
    now,
    commonName: "kube-apiserver",
    hosts: ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
  }).pipe(Effect.map(({ certPem, keyPem }) => ({
    cert: certPem,
    key: keyPem,
    minVersion: "TLSv1.2",
    // A client without a certificate may have a token; a client with a wrong one gets 401.
    ca: authority.certPem,
    requestCert: true,
    rejectUnauthorized: false
  })))

const listen = (
  node: Http.Server,
  port: number,
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>
): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    // The adapter's own shutdown waits on the Clock in context, which may be a test's: `hangUp` does that work instead.
    const server = yield* NodeHttpServer.make(() => node, { port, host: "127.0.0.1", disablePreemptiveShutdown: true })
    yield* server.serve(app)
    return "port" in server.address ? server.address.port : port
  }).pipe(Effect.mapError((error) => new ListenFailed({ port, message: listenMessage(port, error.cause) })))

const listenMessage = (port: number, cause: unknown): string => {
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return code === "EADDRINUSE"
    ? `port ${port} of 127.0.0.1 is in use: choose another, or 0 for any free port`
    : code === "EACCES"
    ? `this user may not listen on port ${port}: choose one from 1024, or 0 for any free port`
    : `cannot listen on port ${port} of 127.0.0.1: ${String(cause)}`
}

/** A kubeconfig with one cluster, one user and one context. */
export const kubeconfig = (access: {
  readonly url: string
  readonly caPem: string
  readonly token?: string | undefined
  readonly certificate?: Certificates.Certificate | undefined
}): string => {
  const name = defaults.contextName
  return Yaml.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name,
      cluster: {
        server: access.url,
        ...(access.caPem === ""
          ? {}
          : { "certificate-authority-data": Buffer.from(access.caPem).toString("base64") })
      }
    }],
    users: [{
      name,
      user: access.certificate === undefined ? { token: access.token ?? "" } : {
        "client-certificate-data": Buffer.from(access.certificate.certPem).toString("base64"),
        "client-key-data": Buffer.from(access.certificate.keyPem).toString("base64")
      }
    }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name
  }, { lineWidth: 0 })
}

/** What answering a request needs. */
interface Parts {
  readonly server: ApiServer["Service"]
  readonly document: NonNullable<Arrival["document"]>
  /** Completed when the facade closes. */
  readonly closing: Deferred.Deferred<void>
}

/** Answers one request: decodes its bytes, calls the server, and encodes the response. */
const respond = (
  { closing, document, server }: Parts
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function*() {
    const http = yield* HttpServerRequest.HttpServerRequest
    const request = HttpRequest.requestOf(http)
    const answer = yield* Effect.catchDefect(
      server.receive(request, Arrivals.make(http, request, document)),
      (defect) =>
        Effect.as(Effect.logError(`${request.method} ${request.path} made the server panic`, defect), panicked)
    )
    if (answer.process !== undefined) {
      return WatchSocket.isWanted(http)
        ? yield* ProcessSocket.serve(http, request.query, answer.process)
        : yield* Reply.make(unspoken, request, closing)
    }
    return answer.events !== undefined && WatchSocket.isWanted(http)
      ? yield* WatchSocket.serve(http, answer.events, closing)
      : yield* Reply.make(answer, request, closing)
  }).pipe(Effect.interruptible)

/** The response to a process request over anything but a WebSocket. */
const unspoken: Representation.ApiResponse = Representation.refused(
  StatusError.badRequest("this server supports WebSockets only, not SPDY: use kubectl 1.31 or later")
)

/** A defect of the server ends the request but not the connection, like a panic in a real server. */
const panicked: Representation.ApiResponse = {
  status: 500,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: "This request caused apiserver to panic. Look in the logs for details.\n"
}

/** The documents that the facade adds to the server's, and the refusals if the client accepts none of their types. */
const documents = (server: ApiServer["Service"]): Parts["document"] => {
  const openApi = OpenApiEndpoint.make(server)
  return (request) => {
    const { path } = request
    return OpenApiEndpoint.isOpenApi(path) ? openApi(request) : Effect.undefined
  }
}
