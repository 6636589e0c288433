/**
 * `TlsServer`: an app on a TCP port over TLS, by `effect/http` over node's https.
 *
 * TLS 1.2 at least. The certificate can be changed while it serves: handshakes from then on show the new one, and
 * connections that are open go on. A request must be there in time, headers and body. A client that goes away interrupts
 * the effect that answers it. On close nobody new is let in, answers under way go out, and then whoever is still
 * connected is cut off, in real time.
 *
 * Where clients show certificates, the server says of each connection whether an authority has signed them that was
 * trusted when it was made (`peerOf`); nobody is turned away for that. A change of the authorities ends idle connections,
 * and the peers of all others are nobody from then on.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Https from "node:https"
import * as Tls from "node:tls"
import type { Certificate } from "./Certificates.ts"
import * as Endpoints from "./Endpoints.ts"
import * as HangUp from "./HangUp.ts"

export const defaults = {
  /** How long a whole request may take to arrive. */
  requestTimeout: "10 seconds",
  /** How long answers under way may take on close. */
  closeGrace: "10 seconds"
} as const

export interface Options extends Certificate {
  /** For messages: `webhooks`. */
  readonly what: string
  readonly address: Endpoints.Address
  /** Who signs the certificates of clients, PEM, `""` for nobody yet; without it none are asked for. */
  readonly clientAuthorityPem?: string | undefined
  readonly requestTimeout?: Duration.Input | undefined
  readonly closeGrace?: Duration.Input | undefined
}

export interface Server {
  readonly address: Endpoints.Address
  /** Shows another certificate from now on. */
  readonly renew: (certificate: Certificate) => Effect.Effect<void>
  /** From now on every answer ends its connection: the next request comes by another, and finds who is meant by then. */
  readonly leave: Effect.Effect<void>
  /** Trusts other authorities of clients from now on. */
  readonly trust: (clientAuthorityPem: string) => Effect.Effect<void>
}

export type App = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

/** Connections made under authorities that are not trusted any more. */
const distrusted = new WeakSet<Tls.TLSSocket>()

/** The common name of a connection's client, if a trusted authority has signed its certificate; nothing otherwise. */
export const peerOf = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
  if (!(socket instanceof Tls.TLSSocket) || !socket.authorized || distrusted.has(socket)) return undefined
  const name: unknown = socket.getPeerCertificate().subject?.CN
  return typeof name === "string" ? name : undefined
}

/** Serves until the scope closes. */
export const make = Effect.fnUntraced(function*(app: App, options: Options) {
  const { address, what } = options
  const requestTimeout = Duration.toMillis(Duration.fromInputUnsafe(options.requestTimeout ?? defaults.requestTimeout))
  const { headersTimeout, idleTimeout, maxHeaderSize } = Endpoints.defaults
  let shown: Certificate = options
  let { clientAuthorityPem } = options
  const tls = (): Tls.SecureContextOptions => ({
    minVersion: "TLSv1.2",
    cert: shown.certPem,
    key: shown.keyPem,
    ...(clientAuthorityPem === undefined ? {} : { ca: clientAuthorityPem === "" ? [] : clientAuthorityPem })
  })
  const node = Https.createServer({
    ...tls(),
    ...(clientAuthorityPem === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
    maxHeaderSize,
    keepAliveTimeout: idleTimeout,
    requestTimeout,
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    connectionsCheckingInterval: Math.max(50, Math.min(1000, requestTimeout / 4))
  })
  const { closeIdle, hangUp } = HangUp.make(node)
  let leaving = false
  node.on("request", (_, answer) => {
    if (leaving) answer.shouldKeepAlive = false
  })
  // An error of one connection is that connection's; the server goes on.
  node.on("tlsClientError", () => {})
  const sockets = new Set<Tls.TLSSocket>()
  node.on("secureConnection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const failed = (cause: unknown) =>
    new Endpoints.ListenFailed({
      address: `${address.host ?? ""}:${address.port}`,
      message: `${what}: ${
        (cause as { readonly code?: unknown } | undefined)?.code === "EADDRINUSE"
          ? `port ${address.port} is in use`
          : String(cause)
      }`
    })
  const listening = NodeHttpServer.make(() => node, { ...address, disablePreemptiveShutdown: true }).pipe(
    Effect.mapError((error) => failed(error.cause)),
    Effect.tap((server) => server.serve(app))
  )
  // What has begun to listen cannot be told to stop until it does.
  const server = yield* Effect.acquireRelease(
    listening,
    () => hangUp(options.closeGrace ?? defaults.closeGrace)
  )
  return {
    address: { host: address.host, port: "port" in server.address ? server.address.port : address.port },
    renew: (certificate) =>
      Effect.sync(() => {
        shown = certificate
        node.setSecureContext(tls())
      }),
    leave: Effect.sync(() => {
      leaving = true
    }),
    trust: (authorities) =>
      Effect.suspend(() => {
        if (authorities === clientAuthorityPem) return Effect.void
        clientAuthorityPem = authorities
        for (const socket of sockets) distrusted.add(socket)
        node.setSecureContext(tls())
        return closeIdle
      })
  } satisfies Server
})
