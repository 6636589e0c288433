/**
 * `Backends`: how the server calls admission and conversion webhooks and aggregated API servers.
 *
 * The server does not know what answers. It names a Service of the cluster or a URL, and gets a reply or a failure in
 * the words of Go's HTTP client, which a real server passes on. What answers is set once per server:
 * - `none`, the default: nothing listens anywhere, and every call fails as it would at an unused port.
 * - `handlers`: functions in this process, by Service or URL. They use no socket and no time but the `Clock`'s, so an
 *   operator's own webhooks run deterministically. They have the type of `ApiServer.handle`, so another in-memory
 *   server can be the backend of an aggregated API.
 * - `LiveBackends`: HTTPS.
 *
 * The body of a reply is a JSON value if the backend is in this process, and bytes otherwise; `json` reads both.
 *
 * Source: k8s.io/apiserver/pkg/util/webhook/client.go, pkg/util/proxy/proxy.go; net/http and net/url of Go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Method, Request } from "@effect-operator/core/Transport"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { storageKey } from "../api/Identity.ts"
import { at, stringAt } from "../api/Plain.ts"
import type { Storage } from "../api/Storage.ts"

/** A reference to a Service, as in webhook configurations. */
export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  /** 443 by default. */
  readonly port?: number | undefined
  readonly path?: string | undefined
}

export type Target = { readonly service: ServiceReference } | { readonly url: string }

/** One call. */
export interface Call {
  readonly target: Target
  /** The trusted authorities: PEM, or base64 of PEM as in webhook configurations. By default those of the system. */
  readonly caBundle?: string | undefined
  /** Trusts any certificate. */
  readonly insecureSkipTlsVerify?: boolean | undefined
  /** The client certificate. */
  readonly certificate?: { readonly certPem: string; readonly keyPem: string } | undefined
  readonly method: Method
  /** Appended to the target's own path. */
  readonly path?: string | undefined
  /** Not encoded. */
  readonly query?: Request["query"] | undefined
  /** Names in lower case. Several values are sent as several headers. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Bytes are sent as they are, any other value as JSON. */
  readonly body?: unknown
  /** The time limit for the whole reply or, if it is streamed, for its beginning. None by default. */
  readonly timeout?: Duration.Input | undefined
}

/** A body that is complete. */
export type Whole =
  /** Must not be mutated. */
  | { readonly _tag: "Json"; readonly value: unknown }
  | { readonly _tag: "Bytes"; readonly bytes: Uint8Array }

/** A body that arrives in pieces. */
export type Streamed =
  /** A sequence of JSON values: a watch. */
  | { readonly _tag: "Values"; readonly values: Stream.Stream<unknown> }
  | { readonly _tag: "Chunks"; readonly chunks: Stream.Stream<Uint8Array, BackendFailed> }

export interface Reply<Body = Whole> {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** The call got no reply. */
export class BackendFailed extends Data.TaggedError("BackendFailed")<{
  /** `POST`. */
  readonly method: Method
  readonly url: string
  /** `dial tcp 127.0.0.1:9443: connect: connection refused`. */
  readonly error: string
}> {
  /** In the words of Go's client: `Post "https://…": context deadline exceeded`. */
  override get message(): string {
    const verb = this.method[0] + this.method.slice(1).toLowerCase()
    return `${verb} ${JSON.stringify(this.url)}: ${this.error}`
  }
}

/** The server's view of Services. */
export interface Directory {
  readonly service: (namespace: string, name: string) => KubeObject | undefined
  readonly endpoints: (namespace: string, name: string) => KubeObject | undefined
}

/** How calls leave the server. */
export interface Service {
  readonly call: (call: Call, directory: Directory) => Effect.Effect<Reply, BackendFailed>
  /** The call ends when the scope closes. */
  readonly stream: (
    call: Call,
    directory: Directory
  ) => Effect.Effect<Reply<Whole | Streamed>, BackendFailed, Scope.Scope>
}

/** The calls of one server. */
export interface Calls {
  readonly call: (call: Call) => Effect.Effect<Reply, BackendFailed>
  readonly stream: (call: Call) => Effect.Effect<Reply<Whole | Streamed>, BackendFailed, Scope.Scope>
}

export const defaultPort = 443

/** The Host header of a call: for a Service its name in the cluster, whatever address it resolves to. */
export const hostOf = (target: Target): string =>
  "url" in target
    ? new URL(target.url).host
    : `${serverName(target.service)}:${target.service.port ?? defaultPort}`

/** The name that the certificate of a Service must have. */
export const serverName = ({ name, namespace }: ServiceReference): string => `${name}.${namespace}.svc`

const encoded = (query: Request["query"]): string =>
  query.length === 0 ?
    "" :
    `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`

/** Path and query of a call. The target's own path is joined and cleaned as by Go's `path.Join`. */
export const pathOf = ({ path = "", query = [], target }: Call): string => {
  const own = "url" in target ? new URL(target.url).pathname : target.service.path ?? ""
  const whole = `${own.replace(/\/+/g, "/").replace(/\/$/, "")}/${path.replace(/^\/+/, "")}`
  return (path === "" && whole.length > 1 ? whole.slice(0, -1) : whole) + encoded(query)
}

/** The URL of a call, as failures print it. */
export const urlOf = (call: Call): string => {
  const scheme = "url" in call.target ? new URL(call.target.url).protocol : "https:"
  return `${scheme}//${hostOf(call.target)}${pathOf(call)}`
}

export const failed = (call: Call, error: string): BackendFailed =>
  new BackendFailed({ method: call.method, url: urlOf(call), error })

/** The error of a call without a reply within its time limit. */
export const deadlineExceeded = "context deadline exceeded"

/** The target of a `clientConfig`. */
export const targetOf = (config: unknown): Target => {
  const service = at(config, "service")
  if (service === undefined) return { url: stringAt(config, "url") }
  const [path, port] = [at(service, "path"), at(service, "port")]
  return {
    service: {
      namespace: stringAt(service, "namespace"),
      name: stringAt(service, "name"),
      ...(typeof port === "number" ? { port } : {}),
      ...(typeof path === "string" ? { path } : {})
    }
  }
}

/** The error of a call to a Service that does not exist. */
export const serviceNotFound = (name: string): string => `service ${JSON.stringify(name)} not found`

/** A caBundle as PEM, whichever way it is given. */
export const bundlePem = (bundle: string): string =>
  bundle.includes("-----BEGIN") ? bundle : Buffer.from(bundle, "base64").toString("utf8")

/** Why a caBundle cannot be used; undefined if it can. */
export const bundleFault = (bundle: string): string | undefined =>
  bundle === "" || /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(bundlePem(bundle))
    ? undefined
    : "unable to load root certificates: unable to parse bytes as PEM block"

const refused = (call: Call, directory: Directory): Effect.Effect<never, BackendFailed> => {
  const { target } = call
  if ("url" in target) return Effect.fail(failed(call, nobody(withPort(new URL(target.url)))))
  const { name, namespace, port = defaultPort } = target.service
  const service = directory.service(namespace, name)
  if (service === undefined) return Effect.fail(failed(call, serviceNotFound(name)))
  const host = stringAt(service, "spec", "externalName") || stringAt(service, "spec", "clusterIP")
  return Effect.fail(failed(call, nobody(`${host}:${port}`)))
}

const withPort = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port === "" ? (protocol === "http:" ? 80 : defaultPort) : port}`

/** The error of a call to an address at which nothing listens. */
export const nobody = (address: string): string => `dial tcp ${address}: connect: connection refused`

/** Nothing listens anywhere. */
export const none: Service = { call: refused, stream: refused }

/** A backend in this process; `ApiServer.handle` is one. */
export type Handler = (request: Request) => Effect.Effect<{
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly events?: Stream.Stream<unknown> | undefined
}>

/** A handler that answers 200 with the result of a function of the body: enough for a webhook. */
export const answering =
  (answer: (body: unknown, request: Request) => Effect.Effect<unknown> | unknown): Handler => (request) =>
    Effect.map(
      Effect.suspend(() => {
        const made = answer(request.body, request)
        return Effect.isEffect(made) ? made as Effect.Effect<unknown> : Effect.succeed(made)
      }),
      (body) => ({ status: 200, headers: { "content-type": "application/json" }, body })
    )

/**
 * Handlers in this process. Keys are `namespace/name` of a Service, optionally with `:port`, or the beginning of a URL.
 * The map is read at every call, so its owner may add and remove entries. Calls without an entry go to `otherwise`.
 */
export const handlers = (
  known: ReadonlyMap<string, Handler> | Readonly<Record<string, Handler>>,
  otherwise: Service = none
): Service => {
  const map = known instanceof Map ? known as ReadonlyMap<string, Handler> : new Map(Object.entries(known))
  return finding(among(map), () => otherwise)
}

/** The handler of a target, if there is one. */
export type Find = (target: Target) => Handler | undefined

/** Looks up the handler in a map with the keys of `handlers`. */
export const among = (known: ReadonlyMap<string, Handler>): Find => (target) => {
  if ("service" in target) {
    const { name, namespace, port = defaultPort } = target.service
    return known.get(`${namespace}/${name}:${port}`) ?? known.get(`${namespace}/${name}`)
  }
  let best: string | undefined
  for (const key of known.keys()) if (target.url.startsWith(key) && key.length > (best?.length ?? 0)) best = key
  return best === undefined ? undefined : known.get(best)
}

/** Looks up the handler of a target at every call. Calls without a handler go to `otherwise`. */
export const finding = (find: Find, otherwise: () => Service): Service => {
  const request = (call: Call): Request => ({
    method: call.method,
    path: pathOf({ ...call, query: [] }),
    query: call.query ?? [],
    headers: Object.fromEntries(
      Object.entries(call.headers).map(([name, value]) => [name, typeof value === "string" ? value : value.join(", ")])
    ),
    ...(call.body === undefined ? {} : { body: call.body })
  })
  const ask = (handler: Handler, call: Call) =>
    call.timeout === undefined ? handler(request(call)) : Effect.timeoutOrElse(handler(request(call)), {
      duration: call.timeout,
      orElse: () => Effect.fail(failed(call, deadlineExceeded))
    })
  const whole = (body: unknown): Whole =>
    body instanceof Uint8Array
      ? { _tag: "Bytes", bytes: body }
      : typeof body === "string"
      ? { _tag: "Bytes", bytes: new TextEncoder().encode(body) }
      : { _tag: "Json", value: body }
  return {
    call: (call, directory) =>
      Effect.suspend(() => {
        const handler = find(call.target)
        return handler === undefined
          ? otherwise().call(call, directory)
          : Effect.map(ask(handler, call), ({ body, headers = {}, status }) => ({ status, headers, body: whole(body) }))
      }),
    stream: (call, directory) =>
      Effect.suspend(() => {
        const handler = find(call.target)
        return handler === undefined
          ? otherwise().stream(call, directory)
          : Effect.map(ask(handler, call), ({ body, events, headers = {}, status }) => ({
            status,
            headers,
            body: events === undefined ? whole(body) : { _tag: "Values", values: events } as const
          }))
      })
  }
}

/** The body as a JSON value, or the text if it is not JSON. */
export const json = (body: Whole): Result.Result<unknown, string> => {
  if (body._tag === "Json") return Result.succeed(body.value)
  const text = new TextDecoder().decode(body.bytes)
  try {
    return Result.succeed(JSON.parse(text) as unknown)
  } catch {
    return Result.fail(text)
  }
}

/** What an `ApiServer` calls if it is built with this in context. */
export const Backends: Context.Reference<Service> = Context.Reference<Service>(
  "@effect-operator/k8s/testing/Backends",
  { defaultValue: () => none }
)

/** Lets servers that are built on this layer call these handlers; see `handlers`. */
export const layerHandlers = (known: Parameters<typeof handlers>[0], otherwise?: Service): Layer.Layer<never> =>
  Layer.succeed(Backends, handlers(known, otherwise))

const directory = (storage: Storage): Directory => ({
  service: (namespace, name) => storage.get("services", storageKey(namespace, name)),
  endpoints: (namespace, name) => storage.get("endpoints", storageKey(namespace, name))
})

/** The calls of one server. `current` is read at every call. */
export const calls = (storage: Storage, current: () => Service): Calls => {
  const known = directory(storage)
  return {
    call: (call) => Effect.suspend(() => current().call(call, known)),
    stream: (call) => Effect.suspend(() => current().stream(call, known))
  }
}
