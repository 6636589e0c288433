/**
 * `HttpsServer`: a `Handler` on a TCP port, by `effect/http` over node's https.
 *
 * TLS 1.2 at least. The certificate can be changed while it serves: handshakes from then on show the new one, and
 * connections that are open go on. A request has limits: its headers and body must be there in time, its body may have
 * seven MiB, which is what controller-runtime allows. A client that goes away interrupts the hook that works for it. On close
 * nobody new is let in, answers under way go out, and then whoever is still connected is cut off, in real time.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Http from "node:http"
import * as Https from "node:https"
import * as Endpoints from "../Endpoints.ts"
import { type Answer, type Arrived, type Handler, rejected } from "./Handler.ts"

export const defaults = {
  /** As controller-runtime's. */
  address: ":9443",
  maxBodyBytes: 7 * 1024 * 1024,
  /** How long a whole request may take to arrive. */
  requestTimeout: "10 seconds",
  /** How long answers under way may take on close. */
  closeGrace: "10 seconds"
} as const

/** A certificate that is shown, and its key, in PEM. */
export interface Shown {
  readonly certPem: string
  readonly keyPem: string
}

export interface Options extends Shown {
  readonly address: Endpoints.Address
  readonly maxBodyBytes?: number | undefined
  readonly requestTimeout?: Duration.Input | undefined
  readonly closeGrace?: Duration.Input | undefined
}

export interface Server {
  readonly address: Endpoints.Address
  /** Shows another certificate from now on. */
  readonly renew: (certificate: Shown) => Effect.Effect<void>
}

const realClock = Clock.Clock.defaultValue()

/** Serves until the scope closes. */
export const make = Effect.fnUntraced(function*(handler: Handler, options: Options) {
  const { address, certPem: cert, keyPem: key, maxBodyBytes = defaults.maxBodyBytes } = options
  const requestTimeout = Duration.toMillis(Duration.fromInputUnsafe(options.requestTimeout ?? defaults.requestTimeout))
  const { headersTimeout, idleTimeout, maxHeaderSize } = Endpoints.defaults
  const tls = { minVersion: "TLSv1.2" } as const
  const node = Https.createServer({
    ...tls,
    cert,
    key,
    maxHeaderSize,
    keepAliveTimeout: idleTimeout,
    requestTimeout,
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    connectionsCheckingInterval: Math.max(50, Math.min(1000, requestTimeout / 4))
  })
  // An error of one connection is that connection's; the server goes on.
  node.on("tlsClientError", () => {})
  const failed = (cause: unknown) =>
    new Endpoints.ListenFailed({
      address: `${address.host ?? ""}:${address.port}`,
      message: `webhooks: ${
        (cause as { readonly code?: unknown } | undefined)?.code === "EADDRINUSE"
          ? `port ${address.port} is in use`
          : String(cause)
      }`
    })
  const server = yield* NodeHttpServer.make(() => node, { ...address, disablePreemptiveShutdown: true }).pipe(
    Effect.mapError((error) => failed(error.cause))
  )
  yield* server.serve(respond(handler, maxBodyBytes))
  yield* Effect.addFinalizer(() => hangUp(node, options.closeGrace ?? defaults.closeGrace))
  return {
    address: { host: address.host, port: "port" in server.address ? server.address.port : address.port },
    renew: ({ certPem, keyPem }) => Effect.sync(() => node.setSecureContext({ ...tls, cert: certPem, key: keyPem }))
  } satisfies Server
})

const respond = (
  handler: Handler,
  maxBodyBytes: number
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function*() {
    const http = yield* HttpServerRequest.HttpServerRequest
    const at = http.url.indexOf("?")
    const arrived: Arrived = {
      method: http.method,
      path: at < 0 ? http.url : http.url.slice(0, at),
      query: at < 0 ? [] : [...new URLSearchParams(http.url.slice(at + 1))],
      headers: http.headers,
      body: read(http, maxBodyBytes)
    }
    return toResponse(yield* handler(arrived))
  }).pipe(Effect.interruptible)

const read = (http: HttpServerRequest.HttpServerRequest, maxBodyBytes: number): Arrived["body"] =>
  http.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? rejected(413, `the body is longer than ${maxBodyBytes} bytes`)
        : rejected(400, "the body ended too soon")
    ),
    Effect.flatMap((text) =>
      Effect.try({
        try: () => JSON.parse(text) as unknown,
        catch: (error) =>
          rejected(400, `the body is no JSON: ${error instanceof Error ? error.message : String(error)}`)
      })
    )
  )

const toResponse = ({ body, headers, status }: Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers,
    contentType: headers["content-type"] ?? "application/json"
  })

const hangUp = (node: Http.Server, grace: Duration.Input): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    node.close(() => Deferred.doneUnsafe(closed, Effect.void))
    node.closeIdleConnections()
    yield* Effect.timeoutOption(Deferred.await(closed), grace)
    node.closeAllConnections()
    yield* Deferred.await(closed)
  }).pipe(Effect.provideService(Clock.Clock, realClock))
