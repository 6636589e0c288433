/**
 * `HttpFacade`: the in-memory API server on a TCP port, for kubectl and any other client.
 *
 * Guarantees: listens on 127.0.0.1 only; HTTPS with a certificate of an authority made for this facade (or plain HTTP
 * on request); every request carries a bearer token it knows, or is answered 401 (`/version` and the health endpoints
 * are open to all); bodies are JSON or YAML, both ways, and protobuf on the way in; a watch is one chunked line of JSON
 * per event, written as the event happens; a client that goes away ends its watch; closing the layer's scope ends every
 * watch cleanly and closes every connection.
 *
 * The facade only translates between bytes and values. Everything a request means is decided by the `ApiServer`, which
 * runs on the Clock and Random in context as always. Two things are the facade's own: `/openapi/...` (see
 * `OpenApiEndpoint`), and impersonation headers, which only members of `system:masters` may use.
 *
 * Not there: HTTP/2, websockets, client certificates, answers in protobuf (clients that offer JSON beside it get that).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as ByteSize from "effect/ByteSize"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { Method, Request } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as NodeCrypto from "node:crypto"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Zlib from "node:zlib"
import * as Yaml from "yaml"
import { type ApiResponse, ApiServer, type UserInfo } from "./ApiServer.ts"
import * as Certificates from "./Certificates.ts"
import * as Negotiation from "./http/Negotiation.ts"
import * as OpenApiEndpoint from "./http/OpenApiEndpoint.ts"
import * as RequestBody from "./http/RequestBody.ts"
import * as StatusError from "./StatusError.ts"

export const defaults = {
  /** The largest request body in bytes, as in a real server. */
  maxBodyBytes: 3 * 1024 * 1024,
  /** Answers longer than this many bytes are compressed for clients that accept gzip, as in a real server. */
  gzipAboveBytes: 128 * 1024,
  /** The name of the cluster, the user and the context in the kubeconfig. */
  contextName: "effect-operator",
  /** How long an orderly close waits for clients to hang up before it cuts them off. */
  closeGrace: "200 millis"
} as const

export interface Options {
  /** 0, the default: a free one. */
  readonly port?: number | undefined
  /** The token of the administrator (`kubernetes-admin`, `system:masters`); a random one by default. */
  readonly token?: string | undefined
  /** Further tokens and whom they stand for. */
  readonly tokens?: Readonly<Record<string, UserInfo>> | undefined
  /** Plain HTTP instead of HTTPS. */
  readonly http?: boolean | undefined
}

/** The port cannot be listened on. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly port: number
  readonly message: string
}> {}

export class HttpFacade extends Context.Service<HttpFacade, {
  /** `https://127.0.0.1:PORT`, without a slash at its end. */
  readonly url: string
  readonly port: number
  /** The authority to trust; empty for plain HTTP. */
  readonly caPem: string
  /** The administrator's token. */
  readonly token: string
  /** A kubeconfig for the administrator, as YAML. */
  readonly kubeconfig: string
}>()("@effect-operator/k8s/testing/HttpFacade") {}

/** Serves the `ApiServer` in context until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<HttpFacade, ListenFailed, ApiServer> =>
  Layer.effect(HttpFacade, make(options))

const admin: UserInfo = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] }
const anonymous: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] }

/** Certificates and sockets take real time, whatever the Clock in context says. */
const realClock = Clock.Clock.defaultValue()

const make = Effect.fnUntraced(function*(options: Options) {
  const server = yield* ApiServer
  const token = options.token ?? NodeCrypto.randomBytes(16).toString("hex")
  const users = new Map<string, UserInfo>(Object.entries({ ...options.tokens, [token]: admin }))
  const closing = yield* Deferred.make<void>()

  const now = realClock.currentTimeMillisUnsafe()
  const authority = options.http === true ? undefined : yield* Certificates.authority({ now })
  const node = authority === undefined
    ? Http.createServer()
    : Https.createServer(yield* serverOptions(authority, now))
  const parts: Parts = { server, users, closing, openApi: OpenApiEndpoint.make(server) }
  const port = yield* listen(node, options.port ?? 0, respond(parts))
  yield* Effect.addFinalizer(() => Effect.andThen(Deferred.succeed(closing, undefined), hangUp(node)))

  const url = `${authority === undefined ? "http" : "https"}://127.0.0.1:${port}`
  const caPem = authority?.certPem ?? ""
  return HttpFacade.of({ url, port, caPem, token, kubeconfig: kubeconfig({ url, caPem, token }) })
})

const serverOptions = (authority: Certificates.Authority, now: number): Effect.Effect<Https.ServerOptions> =>
  Certificates.issue(authority, {
    now,
    commonName: "kube-apiserver",
    hosts: ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
  }).pipe(Effect.map(({ certPem, keyPem }) => ({ cert: certPem, key: keyPem, minVersion: "TLSv1.2" })))

const listen = (
  node: Http.Server,
  port: number,
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>
): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    // The adapter's own shutdown waits on the Clock in context, which may be a test's: `hangUp` does its work.
    const server = yield* NodeHttpServer.make(() => node, { port, host: "127.0.0.1", disablePreemptiveShutdown: true })
    yield* server.serve(app)
    return "port" in server.address ? server.address.port : port
  }).pipe(Effect.mapError((error) => new ListenFailed({ port, message: listenMessage(port, error.cause) })))

const listenMessage = (port: number, cause: unknown): string => {
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return code === "EADDRINUSE"
    ? `port ${port} of 127.0.0.1 is in use`
    : code === "EACCES"
    ? `port ${port} may not be opened by this user`
    : `cannot listen on port ${port} of 127.0.0.1: ${String(cause)}`
}

/** Stops listening, lets answers under way go out, then cuts off whoever is still connected. */
const hangUp = (node: Http.Server): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    node.close(() => Deferred.doneUnsafe(closed, Effect.void))
    yield* Effect.timeoutOption(Deferred.await(closed), defaults.closeGrace)
    node.closeAllConnections()
    yield* Deferred.await(closed)
  }).pipe(Effect.provideService(Clock.Clock, realClock))

/** A kubeconfig with one cluster, one user and one context. */
export const kubeconfig = (access: {
  readonly url: string
  readonly caPem: string
  readonly token: string
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
    users: [{ name, user: { token: access.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name
  }, { lineWidth: 0 })
}

/** The paths anybody may read: the role `system:public-info-viewer` of a real server. */
const isPublic = (path: string): boolean => /^\/(?:healthz|livez|readyz|version)(?:\/|$)/.test(path)

/** Whom the request comes from, or the refusal. */
const authenticate = (
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  users: ReadonlyMap<string, UserInfo>
): UserInfo | StatusError.StatusError => {
  const token = /^bearer\s+(.+)$/i.exec(request.headers["authorization"] ?? "")?.[1]
  if (token === undefined) return isPublic(path) ? anonymous : StatusError.unauthorized
  const user = users.get(token.trim())
  if (user === undefined) return StatusError.unauthorized
  const as = request.headers["impersonate-user"]
  if (as === undefined) return user
  if (!user.groups.includes("system:masters")) {
    return StatusError.forbidden(
      { group: "", plural: "users" },
      as,
      `User ${JSON.stringify(user.username)} cannot impersonate resource "users" in API group "" at the cluster scope`
    )
  }
  const groups = request.headers["impersonate-group"]?.split(",").map((group) => group.trim()) ?? []
  return { username: as, groups: [...new Set([...groups, "system:authenticated"])] }
}

const methods: ReadonlySet<string> = new Set<Method>(["GET", "POST", "PUT", "PATCH", "DELETE"])

type Answer = ApiResponse | StatusError.StatusError

/** What requests are answered with. */
interface Parts {
  readonly server: ApiServer["Service"]
  readonly users: ReadonlyMap<string, UserInfo>
  readonly openApi: ReturnType<typeof OpenApiEndpoint.make>
  /** Done when the facade closes. */
  readonly closing: Deferred.Deferred<void>
}

/** One request: bytes to a value, the server's answer, a value to bytes. */
const respond = (
  parts: Parts
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function*() {
    const http = yield* HttpServerRequest.HttpServerRequest
    const target = splitTarget(http.url)
    const auditId = http.headers["audit-id"] ?? (yield* uuid)
    const answer = yield* answerTo(parts, http, target)
    const options: WriteOptions = {
      auditId,
      accept: http.headers["accept"],
      gzip: /\bgzip\b/.test(http.headers["accept-encoding"] ?? ""),
      pretty: wantsPretty(http, target.query)
    }
    return "events" in answer && answer.events !== undefined
      ? watchResponse(answer, answer.events, options, parts.closing)
      : yield* unaryResponse(answer, options)
  }).pipe(Effect.interruptible)

interface Target {
  readonly path: string
  readonly query: Request["query"]
}

const splitTarget = (url: string): Target => {
  const mark = url.indexOf("?")
  return mark < 0
    ? { path: url, query: [] }
    : { path: url.slice(0, mark), query: [...new URLSearchParams(url.slice(mark + 1))] }
}

/** People at a terminal get indented JSON, as from a real server. */
const wantsPretty = (http: HttpServerRequest.HttpServerRequest, query: Request["query"]): boolean => {
  const asked = query.find(([name]) => name === "pretty")?.[1]
  return asked === undefined
    ? /^(?:curl|Wget|Mozilla\/5\.0)/.test(http.headers["user-agent"] ?? "")
    : asked === "true" || asked === "1"
}

/** A version 4 UUID. */
const uuid: Effect.Effect<string> = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, 0xffff), 8),
  (words) => {
    const hex = words.map((word, at) =>
      (at === 3 ? (word & 0x0fff) | 0x4000 : at === 4 ? (word & 0x3fff) | 0x8000 : word).toString(16).padStart(4, "0")
    )
    return `${hex[0]}${hex[1]}-${hex[2]}-${hex[3]}-${hex[4]}-${hex[5]}${hex[6]}${hex[7]}`
  }
)

const isWatch = (query: Request["query"]): boolean =>
  query.some(([name, value]) => name === "watch" && value !== "" && value !== "false" && value !== "0")

const answerTo = Effect.fnUntraced(function*(
  { openApi, server, users }: Parts,
  http: HttpServerRequest.HttpServerRequest,
  { path, query }: Target
): Effect.fn.Return<Answer> {
  const user = authenticate(http, path, users)
  if ("body" in user) return user
  if (!methods.has(http.method)) return StatusError.methodNotAllowed
  const method = http.method as Method
  const accept = http.headers["accept"]
  const watch = method === "GET" && isWatch(query)
  if (/^\/apis?\//.test(path) && Negotiation.acceptable(accept, watch) === undefined) {
    return notAcceptable(path, watch)
  }
  const request: Request = { method, path, query, headers: http.headers }
  if (method === "GET" && OpenApiEndpoint.isOpenApi(path)) {
    return (yield* openApi(path, http.headers)) ?? (yield* server.handle(request, user))
  }
  if (method === "GET") return yield* server.handle(request, user)

  const bytes = yield* readBody(http)
  if ("body" in bytes) return bytes
  const body = yield* RequestBody.decode({
    method,
    contentType: http.headers["content-type"],
    bytes,
    kind: kindAt(server, path, user)
  })
  if (Result.isFailure(body)) return body.failure
  return yield* server.handle(body.success === undefined ? request : { ...request, body: body.success }, user)
})

const readBody = (
  http: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array | StatusError.StatusError> =>
  http.arrayBuffer.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(defaults.maxBodyBytes)),
    Effect.catch(({ reason }) =>
      Effect.succeed(
        reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
          ? StatusError.requestEntityTooLarge(`limit is ${defaults.maxBodyBytes}`)
          : StatusError.badRequest("unexpected EOF")
      )
    )
  )

/** Built-in kinds are refused by the router in front of a real server, custom ones by their handler. */
const notAcceptable = (path: string, watch: boolean): StatusError.StatusError => {
  if (watch) return StatusError.notAcceptableWatch
  const group = /^\/apis\/([^/]+)/.exec(path)?.[1] ?? ""
  return group.includes(".") && !group.endsWith(".k8s.io")
    ? StatusError.notAcceptableTypes(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"])
    : StatusError.notAcceptable
}

/** The kind a path speaks of, from discovery. */
const kindAt = Effect.fnUntraced(function*(server: ApiServer["Service"], path: string, user: UserInfo) {
  const match = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/[^/]+(?:\/(.+))?)?$/
    .exec(path)
  if (match === null) return undefined
  const [, root = "", plural, subresource] = match
  const headers = { accept: "application/json" }
  const { body } = yield* server.handle({ method: "GET", path: root, query: [], headers }, user)
  const { resources = [] } = (body ?? {}) as {
    readonly resources?: ReadonlyArray<{ readonly name: string; readonly kind: string }>
  }
  const name = subresource === undefined ? plural : `${plural}/${subresource}`
  return resources.find((resource) => resource.name === name)?.kind
})

interface WriteOptions {
  readonly auditId: string
  readonly accept: string | undefined
  readonly gzip: boolean
  readonly pretty: boolean
}

const commonHeaders = (answer: Answer, { auditId }: WriteOptions): Record<string, string> => ({
  "cache-control": "no-cache, private",
  ...answer.headers,
  "audit-id": auditId
})

/** The body as bytes, and what they are. Bytes and text are sent as they came; what JSON it is, the server may say. */
const encodeBody = (body: unknown, said: string | undefined, options: WriteOptions): readonly [Uint8Array, string] => {
  if (body instanceof Uint8Array) return [body, said ?? "application/octet-stream"]
  if (typeof body === "string" && !said?.startsWith("application/json")) {
    return [Buffer.from(body, "utf8"), said ?? "text/plain; charset=utf-8"]
  }
  const encoding = Negotiation.errorEncoding(options.accept)
  const contentType = encoding === "json" && said?.startsWith("application/json") === true
    ? said
    : Negotiation.contentTypes[encoding]
  return [Buffer.from(Negotiation.encode(encoding, body, options.pretty), "utf8"), contentType]
}

const unaryResponse = (
  answer: Answer,
  options: WriteOptions
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { "content-type": said, ...headers } = commonHeaders(answer, options)
  if (answer.body === undefined) {
    return Effect.succeed(HttpServerResponse.empty({ status: answer.status, headers }))
  }
  const [bytes, contentType] = encodeBody(answer.body, said, options)
  const send = (content: Uint8Array, more: Record<string, string>) =>
    HttpServerResponse.uint8Array(content, { status: answer.status, headers: { ...headers, ...more }, contentType })
  return options.gzip && bytes.length > defaults.gzipAboveBytes
    ? Effect.map(gzip(bytes), (zipped) => send(zipped, { "content-encoding": "gzip", vary: "Accept-Encoding" }))
    : Effect.succeed(send(bytes, {}))
}

/** The fastest level, as in a real server. */
const gzip = (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.callback((resume) => {
    Zlib.gzip(
      bytes,
      { level: 1 },
      (error, zipped) => resume(error === null ? Effect.succeed(zipped) : Effect.die(error))
    )
  })

const watchResponse = (
  answer: ApiResponse,
  events: Stream.Stream<WireEvent>,
  options: WriteOptions,
  closing: Deferred.Deferred<void>
): HttpServerResponse.HttpServerResponse => {
  const lines = events.pipe(
    Stream.mapArray((chunk) => [Buffer.from(chunk.map((event) => `${JSON.stringify(event)}\n`).join(""), "utf8")]),
    Stream.interruptWhen(Deferred.await(closing))
  )
  // The empty first chunk sends the headers: a client waits for them before it believes that the watch stands.
  return HttpServerResponse.stream(Stream.concat(Stream.make(Buffer.alloc(0)), lines), {
    status: answer.status,
    headers: commonHeaders(answer, options),
    contentType: Negotiation.contentTypes.json
  })
}
