/**
 * `LiveClient`: the `KubeClient` of a real API server, over HTTP.
 *
 * What it adds to `KubeClient` is the `Transport`, which guarantees:
 * - a request is sent exactly once, with one exception: an answer 401 asks the credentials' source again, and if that
 *   gives other credentials, the request goes out once more (the server did not look at the first one);
 * - interrupting a request aborts it on the wire; closing a watch's scope closes its connection;
 * - connections are pooled and reused (see `Dispatcher`); a watch is read only as fast as it is consumed;
 * - no answer at all, a connection lost inside an answer, and a watch cut off inside a line are `Transport` failures.
 *   A watch that the server ends between two events just ends;
 * - no error, log or span shows credentials.
 *
 * Paths go out letter for letter. Redirects are not followed.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { Transport as TransportFailed } from "@effect-operator/core/KubeError"
import { type Request, type Response, type StreamResponse, Transport } from "@effect-operator/core/Transport"
import type Undici from "@effect/platform-node/Undici"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Headers } from "./Credentials.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as KubeConfig from "./KubeConfig.ts"
import * as WatchBody from "./WatchBody.ts"

/** Of this package; a test keeps it equal to package.json. */
export const version = "0.1.0"

/** Figures that hold unless `Options` say otherwise; see also `Dispatcher.defaults` and `WatchBody.defaults`. */
export const defaults = {
  userAgent: `effect-operator/${version}`,
  /** How long the refusal of a watch may take to arrive. */
  refusalTimeout: "30 seconds"
} as const

export interface Options extends Dispatcher.Options, WatchBody.Options {
  readonly userAgent?: string | undefined
}

/** The transport to a cluster. Closing the scope closes every connection. */
export const makeTransport = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Effect.Effect<Transport["Service"], never, Scope.Scope> =>
  Effect.map(Dispatcher.make(cluster, options), (dispatchers) => {
    const { credentials } = cluster
    const server = new URL(cluster.server)
    const prefix = server.pathname.replace(/\/+$/, "")
    const userAgent = options.userAgent ?? defaults.userAgent

    const toWire = (request: Request, headers: Headers, signal: AbortSignal): Undici.Dispatcher.RequestOptions => ({
      origin: server.origin,
      path: prefix + request.path + queryString(request.query),
      method: request.method,
      headers: { "user-agent": userAgent, ...request.headers, ...copy(headers) },
      signal,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) })
    })

    /** Sends with the credentials at hand, and once more with fresh ones if they were refused and differ. */
    const authorized = <A extends Response, R>(
      send: (headers: Headers) => Effect.Effect<A, TransportFailed, R>
    ): Effect.Effect<A, TransportFailed, R> =>
      Effect.gen(function*() {
        const first = yield* credentials.headers
        const answer = yield* send(first)
        if (answer.status !== 401) return answer
        const second = yield* credentials.fresh
        return Equal.equals(Redacted.value(first), Redacted.value(second)) ? answer : yield* send(second)
      })

    const request: Transport["Service"]["request"] = (request) =>
      authorized((headers) =>
        Effect.tryPromise({
          try: async (signal) => {
            const answer = await dispatchers.unary.request(toWire(request, headers, signal))
            return toResponse(answer, await answer.body.text())
          },
          catch: failure(server)
        })
      )

    const stream: Transport["Service"]["stream"] = (request) =>
      Effect.flatMap(
        Effect.acquireRelease(
          Effect.sync(() => new AbortController()),
          (controller) => Effect.sync(() => controller.abort())
        ),
        ({ signal }) =>
          authorized((headers) =>
            Effect.flatMap(
              Effect.tryPromise({
                try: () => dispatchers.watch.request(toWire(request, headers, signal)),
                catch: failure(server)
              }),
              (answer): Effect.Effect<StreamResponse, TransportFailed> =>
                answer.statusCode === 200
                  ? Effect.sync(() => ({
                    status: 200,
                    headers: toHeaders(answer.headers),
                    values: values(answer.body)
                  }))
                  : refusal(answer)
            )
          )
      )

    const values = (body: WatchBody.Body) =>
      Stream.mapError(
        WatchBody.stream(body, failure(server), options),
        (error) => error._tag === "Transport" ? error : new TransportFailed({ message: error.message, cause: error })
      )

    const refusal = (answer: Undici.Dispatcher.ResponseData): Effect.Effect<StreamResponse, TransportFailed> =>
      Effect.tryPromise({ try: () => answer.body.text(), catch: failure(server) }).pipe(
        Effect.timeoutOrElse({
          duration: defaults.refusalTimeout,
          orElse: () =>
            Effect.fail(new TransportFailed({ message: `no whole answer within ${defaults.refusalTimeout}` }))
        }),
        Effect.flatMap((text) => Effect.try({ try: () => toResponse(answer, text), catch: failure(server) })),
        Effect.map((response) => ({ ...response, values: Stream.empty }))
      )

    return Transport.of({ request, stream })
  })

const queryString = (query: Request["query"]): string =>
  query.length === 0
    ? ""
    : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`

const copy = (headers: Headers): Record<string, string | Array<string>> =>
  Object.fromEntries(
    Object.entries(Redacted.value(headers)).map(([name, value]) =>
      [name, typeof value === "string" ? value : [...value]] as const
    )
  )

const toHeaders = (headers: Undici.Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> => {
  const result: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) result[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ")
  }
  return result
}

/** Throws where an answer says it is JSON and is none. */
const toResponse = (answer: Undici.Dispatcher.ResponseData, text: string): Response => {
  const headers = toHeaders(answer.headers)
  if (text === "") return { status: answer.statusCode, headers }
  const type = headers["content-type"]
  const isJson = type === undefined ? /^\s*[{[]/.test(text) : /\bjson\b/.test(type)
  return { status: answer.statusCode, headers, body: isJson ? parse(text) : text }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the document, which may hold a Secret.
    throw new Error(`the answer says it is JSON, but is not (${text.length} characters)`)
  }
}

/** Why there is no answer: undici's message and code, with the address. The cause is kept; it holds no headers. */
const failure = (server: URL) => (cause: unknown): TransportFailed => {
  const text = describe(cause)
  return new TransportFailed({ message: text.includes(server.host) ? text : `${server.host}: ${text}`, cause })
}

const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { code, message } = cause as NodeJS.ErrnoException
  // Several addresses tried (localhost): the error of the whole has no message, those of its parts do.
  const parts = cause instanceof AggregateError ? cause.errors.map(describe).join("; ") : ""
  const text = message !== "" ? message : parts !== "" ? parts : cause.name
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}

/** The transport to a given cluster. */
export const transportLayerCluster = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Layer.Layer<Transport> => Layer.effect(Transport, makeTransport(cluster, options))

/** The transport to the cluster the options lead to. */
export const transportLayerOptions = (
  options: KubeConfig.Options & Options
): Layer.Layer<Transport, KubeConfig.KubeConfigError> =>
  Layer.unwrap(Effect.map(KubeConfig.load(options), (cluster) => transportLayerCluster(cluster, options)))

/** The transport to the cluster that the default configuration leads to (see `KubeConfig`). */
export const transportLayer: Layer.Layer<Transport, KubeConfig.KubeConfigError> = transportLayerOptions({})

/** The client of a given cluster. */
export const layerCluster = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Layer.Layer<KubeClient.KubeClient> =>
  Layer.provide(KubeClient.KubeClient.layer, transportLayerCluster(cluster, options))

/** The client of the cluster the options lead to. */
export const layerOptions = (
  options: KubeConfig.Options & Options
): Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError> =>
  Layer.provide(KubeClient.KubeClient.layer, transportLayerOptions(options))

/** The client of the cluster that the default configuration leads to (see `KubeConfig`). */
export const layer: Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError> = layerOptions({})

/** The client of the cluster that configuration leads to; `KubeConfig.config` reads the usual names. */
export const layerConfig = (
  config: Config.Config<KubeConfig.Options & Options>
): Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError | Config.ConfigError> =>
  Layer.unwrap(Effect.map(config, layerOptions))
