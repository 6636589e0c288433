/**
 * `LiveBackends`: backends over HTTPS, for a server on a TCP port and the operators that run beside it.
 *
 * Guarantees:
 * - The certificate is verified against the caBundle (without one, against the system's authorities) and must be issued
 *   for `service.namespace.svc` or the host of the URL.
 * - Connections are kept and reused.
 * - A call that is interrupted or times out is aborted on the wire, in real time, whatever `Clock` is in context.
 * - Bodies are streamed.
 *
 * A Service resolves to the first of: its entry in `services`, its `externalName`, a ready address of its Endpoints. If
 * it has none of these the connection is refused, since cluster IPs are not routed here.
 *
 * Failures have the words of Go's client, as far as Node tells them apart.
 */
import Undici, { type Dispatcher } from "@effect/platform-node/Undici"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Net from "node:net"
import type { PeerCertificate } from "node:tls"
import * as Backends from "./Backends.ts"
import { arrayAt, at, stringAt } from "../api/Plain.ts"

export interface Options {
  /** Addresses of Services, by `namespace/name` or `namespace/name:port`: `https://127.0.0.1:9443`. */
  readonly services?: Readonly<Record<string, string>> | undefined
}

/** The origin of a call, or why there is none. */
type Address = Result.Result<string, string>

const serviceAddress = (
  reference: Backends.ServiceReference,
  directory: Backends.Directory,
  services: Readonly<Record<string, string>>
): Address => {
  const { name, namespace, port = Backends.defaultPort } = reference
  const mapped = services[`${namespace}/${name}:${port}`] ?? services[`${namespace}/${name}`]
  if (mapped !== undefined) return Result.succeed(new URL(mapped).origin)
  const service = directory.service(namespace, name)
  if (service === undefined) return Result.fail(Backends.serviceNotFound(name))
  if (stringAt(service, "spec", "type") === "ExternalName") {
    return Result.succeed(`https://${stringAt(service, "spec", "externalName")}:${port}`)
  }
  const servicePort = arrayAt(service, "spec", "ports").find((entry) => at(entry, "port") === port)
  if (servicePort === undefined) {
    return Result.fail(`no service port ${port} found for service ${JSON.stringify(name)}`)
  }
  const wanted = stringAt(servicePort, "name")
  for (const subset of arrayAt(directory.endpoints(namespace, name), "subsets")) {
    const ip = stringAt(arrayAt(subset, "addresses")[0], "ip")
    const target = at(arrayAt(subset, "ports").find((entry) => stringAt(entry, "name") === wanted), "port")
    if (ip !== "" && typeof target === "number") return Result.succeed(`https://${bracketed(ip)}:${target}`)
  }
  const clusterIp = stringAt(service, "spec", "clusterIP")
  return Result.fail(
    clusterIp === "None"
      ? "cannot route to service with ClusterIP \"None\""
      : Backends.nobody(`${bracketed(clusterIp)}:${port}`)
  )
}

const bracketed = (ip: string): string => Net.isIPv6(ip) ? `[${ip}]` : ip

/** Go's message for a failed connection or reply. */
const wording = (error: unknown, call: Backends.Call): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return wording(error.errors[0], call)
  if (!(error instanceof Error)) return String(error)
  const { address = "", cert, code = "", hostname = "", port, syscall } = error as NodeJS.ErrnoException & {
    readonly address?: string
    readonly port?: number
    readonly hostname?: string
    readonly cert?: PeerCertificate
  }
  const dialing = `dial tcp ${bracketed(address)}:${port}: connect:`
  if (syscall === "connect" && connecting[code] !== undefined) return `${dialing} ${connecting[code]}`
  if (unknownAuthority.has(code)) return certificateError("x509: certificate signed by unknown authority")
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `dial tcp: lookup ${hostname}: no such host`
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return certificateError("x509: certificate has expired or is not yet valid")
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return certificateError(`x509: ${wrongName(cert, call)}`)
    case "ECONNRESET":
      return "read: connection reset by peer"
    case "UND_ERR_SOCKET":
      return "EOF"
    case "UND_ERR_CONNECT_TIMEOUT":
      return "net/http: TLS handshake timeout"
  }
  return code === "EPROTO" || code.startsWith("ERR_SSL_WRONG_VERSION") || code.startsWith("ERR_SSL_PACKET_LENGTH")
    ? "http: server gave HTTP response to HTTPS client"
    : error.message
}

const connecting: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out"
}

const unknownAuthority: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE"
])

const certificateError = (text: string): string => `tls: failed to verify certificate: ${text}`

const wrongName = (certificate: PeerCertificate | undefined, { target }: Backends.Call): string => {
  const host = "url" in target ? new URL(target.url).hostname : Backends.serverName(target.service)
  const names = (certificate?.subjectaltname ?? "").split(", ").filter((entry) => entry !== "")
  const ip = Net.isIP(host.replace(/^\[|\]$/g, "")) !== 0
  const wanted = names
    .filter((entry) => entry.startsWith(ip ? "IP Address:" : "DNS:"))
    .map((entry) => entry.slice(entry.indexOf(":") + 1))
  if (wanted.length > 0) return `certificate is valid for ${wanted.join(", ")}, not ${host}`
  if (ip) return `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
  return names.length === 0 && certificate?.subject?.CN === host
    ? "certificate relies on legacy Common Name field, use SANs instead"
    : `certificate is not valid for any names, but wanted to match ${host}`
}

/** The connections of all calls with the same client certificate and trusted authorities. */
const agent = (call: Backends.Call): Dispatcher =>
  new Undici.Agent({
    allowH2: false,
    // The caller sets the time limit of a reply.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      allowH2: false,
      keepAlive: true,
      rejectUnauthorized: call.insecureSkipTlsVerify !== true,
      // As in Go, every certificate in the bundle is a trust anchor, even if it is not self-signed.
      allowPartialTrustChain: true,
      ...((call.caBundle ?? "") === "" ? {} : { ca: Backends.bundlePem(call.caBundle!) }),
      ...(call.certificate === undefined
        ? {}
        : { cert: call.certificate.certPem, key: call.certificate.keyPem }),
      ...("service" in call.target ? { servername: Backends.serverName(call.target.service) } : {})
    }
  })

const agentKey = ({ caBundle, certificate, insecureSkipTlsVerify, target }: Backends.Call): string =>
  JSON.stringify([
    "service" in target ? Backends.serverName(target.service) : "",
    caBundle ?? "",
    insecureSkipTlsVerify === true,
    certificate?.keyPem ?? ""
  ])

const realClock = Clock.Clock.defaultValue()

type Incoming = Dispatcher.ResponseData

const headersOf = (headers: Incoming["headers"]): Readonly<Record<string, string>> => {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) out[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ")
  }
  return out
}

/** Backends over HTTPS. Every connection is closed when the scope closes. */
export const make = (options: Options = {}): Effect.Effect<Backends.Service, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Map<string, Dispatcher>()),
      (agents) => Effect.promise(() => Promise.all([...agents.values()].map((each) => each.destroy())))
    ),
    (agents) => {
      const agentOf = (call: Backends.Call): Dispatcher => {
        const key = agentKey(call)
        let found = agents.get(key)
        if (found === undefined) agents.set(key, found = agent(call))
        return found
      }

      const addressOf = ({ target }: Backends.Call, directory: Backends.Directory): Address =>
        "url" in target
          ? Result.succeed(new URL(target.url).origin)
          : serviceAddress(target.service, directory, options.services ?? {})

      const send = (call: Backends.Call, origin: string, signal: AbortSignal): Promise<Incoming> =>
        agentOf(call).request({
          origin,
          path: Backends.pathOf(call),
          method: call.method,
          headers: { ...call.headers as Record<string, string | Array<string>>, host: Backends.hostOf(call.target) },
          signal,
          ...(call.body === undefined
            ? {}
            : { body: call.body instanceof Uint8Array ? call.body : JSON.stringify(call.body) })
        })

      /** Runs a call with its address, within its time limit. */
      const attempt = <A, R>(
        call: Backends.Call,
        directory: Backends.Directory,
        run: (origin: string) => Effect.Effect<A, Backends.BackendFailed, R>
      ): Effect.Effect<A, Backends.BackendFailed, R> =>
        Result.match(addressOf(call, directory), {
          onFailure: (error) => Effect.fail(Backends.failed(call, error)),
          onSuccess: (origin) =>
            call.timeout === undefined ? run(origin) : Effect.provideService(
              Effect.timeoutOrElse(run(origin), {
                duration: call.timeout,
                orElse: () => Effect.fail(Backends.failed(call, Backends.deadlineExceeded))
              }),
              Clock.Clock,
              realClock
            )
        })

      const failure = (call: Backends.Call) => (error: unknown) => Backends.failed(call, wording(error, call))

      return {
        call: (call, directory) =>
          attempt(call, directory, (origin) =>
            Effect.tryPromise({
              try: async (signal) => {
                const reply = await send(call, origin, signal)
                const bytes = new Uint8Array(await reply.body.arrayBuffer())
                return { status: reply.statusCode, headers: headersOf(reply.headers), body: { _tag: "Bytes", bytes } }
              },
              catch: failure(call)
            })),
        stream: Effect.fnUntraced(function*(call, directory) {
          const { signal } = yield* Effect.acquireRelease(
            Effect.sync(() => new AbortController()),
            (controller) => Effect.sync(() => controller.abort())
          )
          const reply = yield* attempt(call, directory, (origin) =>
            Effect.tryPromise({
              try: () => send(call, origin, signal),
              catch: failure(call)
            }))
          const chunks = Stream.fromAsyncIterable<Uint8Array, Backends.BackendFailed>(reply.body, failure(call))
          return { status: reply.statusCode, headers: headersOf(reply.headers), body: { _tag: "Chunks", chunks } }
        })
      } satisfies Backends.Service
    }
  )

/** Lets servers that are built on this layer make their calls over HTTPS. */
export const layerOptions = (options: Options): Layer.Layer<never> => Layer.effect(Backends.Backends, make(options))

/** `layerOptions` with the default options. */
export const layer: Layer.Layer<never> = layerOptions({})
