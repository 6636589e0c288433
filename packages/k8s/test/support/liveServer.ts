/** A small HTTP server that plays the API server, and what the tests of the live client have in common. */
import { KubeClient, type KubeObject, Resource } from "@effect-operator/core"
import { Transport } from "@effect-operator/core/Transport"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import * as Http from "node:http"
import * as Https from "node:https"
import type * as Net from "node:net"
import * as Credentials from "../../src/Credentials.ts"
import type { ClusterConfig } from "../../src/KubeConfig.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import type * as Certificates from "../../src/Certificates.ts"

export interface ConfigMap extends KubeObject.KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
export const ConfigMap = Resource.make<ConfigMap>()({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced"
})

export const object = (name: string, resourceVersion = "1"): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", uid: `uid-${name}`, resourceVersion, creationTimestamp: "2026-01-01T00:00:00Z" }
})

export const key = { namespace: "ns", name: "a" }

export interface Server {
  readonly url: string
  readonly requests: Array<
    { readonly method: string; readonly url: string; readonly headers: Http.IncomingHttpHeaders }
  >
  readonly sockets: Array<Net.Socket>
  /** Another certificate, for connections from now on. */
  readonly renew: (tls: Certificates.Certificate) => void
}

/** A server for the length of the scope; what it saw is recorded. */
export const serve = (
  handle: (request: Http.IncomingMessage, response: Http.ServerResponse, nth: number) => void,
  tls?: Certificates.Certificate,
  { port = 0, ...options }: Https.ServerOptions & { readonly port?: number } = {}
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const requests: Server["requests"] = []
      const sockets: Server["sockets"] = []
      const listener = (request: Http.IncomingMessage, response: Http.ServerResponse) => {
        requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers })
        handle(request, response, requests.length)
      }
      const server = tls === undefined
        ? Http.createServer(listener)
        : Https.createServer({ ...options, cert: tls.certPem, key: tls.keyPem }, listener)
      server.on("connection", (socket: Net.Socket) => sockets.push(socket))
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
      const address = server.address() as Net.AddressInfo
      const renew = (next: Certificates.Certificate) => {
        if (server instanceof Https.Server) {
          server.setSecureContext({ ...options, cert: next.certPem, key: next.keyPem })
        }
      }
      return {
        server,
        requests,
        sockets,
        renew,
        url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${address.port}`
      }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
      })
  )

export const json = (
  response: Http.ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {}
) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

export const status = (code: number, reason: string, more: object = {}) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `it is ${reason}`,
  reason,
  code,
  ...more
})

export const cluster = (server: string, more: Partial<ClusterConfig> = {}): ClusterConfig => ({
  context: "test",
  server,
  namespace: "default",
  skipTlsVerify: false,
  credentials: Credentials.token(Redacted.make("s3cret")),
  ...more
})

export const connect = (config: ClusterConfig, options?: LiveClient.Options) =>
  Effect.map(
    Layer.build(Layer.provideMerge(KubeClient.KubeClient.layer, LiveClient.transportLayerCluster(config, options))),
    (context) => ({ client: Context.get(context, KubeClient.KubeClient), transport: Context.get(context, Transport) })
  )

/** What is under way between sockets of this process arrives: that takes turns of its event loop, not time. */
export const arrive = Effect.repeat(Effect.sleep("5 millis"), { times: 20 })

/** Completes once the socket is closed. */
export const closed = (socket: Net.Socket) =>
  Effect.promise(() => socket.destroyed ? Promise.resolve() : new Promise((resolve) => socket.once("close", resolve)))
