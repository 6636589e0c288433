/**
 * An HTTPS server on loopback that answers with a handler: what a statement has servers call as a webhook or as an
 * aggregated API. It runs until the statement's scope closes, in real time.
 */
import type { Method, Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Https from "node:https"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { TLSSocket } from "node:tls"
import type * as Backends from "../../src/testing/Backends.ts"
import * as Certificates from "../../src/Certificates.ts"

/** A request as the backend got it. */
export interface Received extends Request {
  /** Common name of the caller's certificate, if it showed one. */
  readonly peer: string | undefined
}

export interface Backend {
  /** `https://127.0.0.1:PORT`, without a path. */
  readonly url: string
  readonly port: number
  /** As configurations have it: base64 of PEM. */
  readonly caBundle: string
  /** Every request so far, oldest first. */
  readonly received: ReadonlyArray<Received>
}

export interface BackendOptions {
  /** What the certificate is good for besides 127.0.0.1 and localhost: `name.namespace.svc`. */
  readonly hosts?: ReadonlyArray<string>
}

/** Starts one. */
export const start = (
  handler: (request: Received) => ReturnType<Backends.Handler>,
  options: BackendOptions = {}
): Effect.Effect<Backend, never, Scope.Scope> =>
  Effect.gen(function*() {
    const now = Clock.Clock.defaultValue().currentTimeMillisUnsafe()
    const authority = yield* Certificates.authority({ now, commonName: "backend-ca" })
    const { certPem, keyPem } = yield* Certificates.issue(authority, {
      now,
      commonName: "backend",
      hosts: ["127.0.0.1", "localhost", ...options.hosts ?? []]
    })
    const received: Array<Received> = []
    const services = yield* Effect.context()
    const run = Effect.runPromiseWith(services)
    const server = Https.createServer(
      { cert: certPem, key: keyPem, requestCert: true, rejectUnauthorized: false },
      (incoming, outgoing) => {
        const stop = new AbortController()
        outgoing.on("close", () => stop.abort())
        const answered = Effect.gen(function*() {
          const request = yield* Effect.promise(() => read(incoming))
          received.push(request)
          const { body, events, headers = {}, status } = yield* handler(request)
          if (events === undefined) return void outgoing.writeHead(status, contentType(body, headers)).end(bytes(body))
          outgoing.writeHead(status, { "content-type": "application/json", ...headers })
          outgoing.flushHeaders()
          yield* Stream.runForEach(events, (event) => Effect.sync(() => void outgoing.write(line(event))))
          outgoing.end()
        })
        run(answered, { signal: stop.signal }).catch((error: unknown) => fail(outgoing, error))
      }
    )
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const { port } = server.address() as AddressInfo
    const caBundle = Buffer.from(authority.certPem).toString("base64")
    return { url: `https://127.0.0.1:${port}`, port, caBundle, received }
  })

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

const bytes = (body: unknown): Uint8Array | string =>
  body instanceof Uint8Array || typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body)

const contentType = (body: unknown, headers: Readonly<Record<string, string>>) => ({
  "content-type": body instanceof Uint8Array || typeof body === "string" ? "text/plain" : "application/json",
  ...headers
})

/** A handler that dies hangs up. */
const fail = (outgoing: ServerResponse, error: unknown): void => {
  if (!outgoing.destroyed) outgoing.destroy(error instanceof Error ? error : new Error(String(error)))
}

const read = async (incoming: IncomingMessage): Promise<Received> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
  const text = Buffer.concat(chunks).toString("utf8")
  const url = new URL(incoming.url ?? "/", "https://backend")
  const certificate = incoming.socket instanceof TLSSocket ? incoming.socket.getPeerCertificate() : undefined
  const name = certificate?.subject?.CN
  return {
    method: (incoming.method ?? "GET") as Method,
    path: url.pathname,
    query: [...url.searchParams],
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value!])
    ),
    peer: typeof name === "string" ? name : undefined,
    ...(text === "" ? {} : { body: parsed(text) })
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
