/**
 * `TlsServer`: an `effect/http` app on a TCP port over TLS, on top of Node's https.
 *
 * TLS 1.2 or later. The certificate can be replaced while serving: new handshakes use it, and open connections go on. A
 * request must arrive within a time limit, headers and body. A client that disconnects interrupts the effect that
 * handles its request. On shutdown no new connection is accepted, requests in flight are finished, and after a grace
 * period of real time all remaining connections are closed.
 *
 * If client certificates are requested, `peerOf` tells whether an authority that was trusted when the connection was
 * made has signed the client's. Nobody is turned away without one. When the authorities change, idle connections are
 * closed, and all other connections made before no longer have a peer.
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
  /** How long requests in flight may take on shutdown. */
  closeGrace: "10 seconds"
} as const

export interface Options extends Certificate {
  /** Used in messages: `webhooks`. */
  readonly what: string
  readonly address: Endpoints.Address
  /**
   * The authorities of client certificates, PEM; `""` for none yet. If absent, no client certificates are requested.
   */
  readonly clientAuthorityPem?: string | undefined
  readonly requestTimeout?: Duration.Input | undefined
  readonly closeGrace?: Duration.Input | undefined
}

export interface Server {
  readonly address: Endpoints.Address
  /** Replaces the certificate for new handshakes. */
  readonly renew: (certificate: Certificate) => Effect.Effect<void>
  /**
   * From now on every response closes its connection: the next request opens a new one, which the Service may route to
   * another pod.
   */
  readonly leave: Effect.Effect<void>
  /** Replaces the authorities of client certificates. */
  readonly trust: (clientAuthorityPem: string) => Effect.Effect<void>
}

export type App = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

/** Connections made under authorities that are no longer trusted. */
const distrusted = new WeakSet<Tls.TLSSocket>()

/** The common name in the client's certificate if a trusted authority has signed it; otherwise undefined. */
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
  // An error of one connection must not end the server.
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
  // Not interruptible: a server cannot be closed before it listens.
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
