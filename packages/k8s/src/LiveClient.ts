/**
 * `LiveClient`: the `KubeClient` of a real API server, over HTTP.
 *
 * What it adds to `KubeClient` is the `Transport`, which guarantees:
 * - A request is repeated only if that is safe, a few times, after a wait (see `live/Retry`). A watch is not repeated:
 *   the reflector does that. After any wait, a request is sent only if it may still be sent: a process that was stopped
 *   and has lost its lease meanwhile writes nothing when it continues. After a 401 the credentials' source is asked
 *   again; if it returns other credentials, the request is sent once more (the server did not process the first one).
 * - If a server asks for a pause (429 with Retry-After), all requests pause, not just the one it answered. Waiting
 *   requests take turns, one for each field manager (see `live/RequestQueue`).
 * - Every request ends. Interrupting it aborts it on the wire, each of its phases and the whole of it have a deadline,
 *   and closing a watch's scope closes its connection.
 * - Connections are pooled and reused, and follow rotated certificates (see `Dispatcher`). A watch is read only as fast
 *   as it is consumed.
 * - No answer at all, a connection lost inside an answer, and a watch cut off inside a line are `Transport` failures. A
 *   watch that the server ends between two events just ends.
 * - No error, log, metric or span shows credentials.
 *
 * Time is real time, whatever `Clock` is in context, because servers do not live in a test's time. Paths are sent
 * letter for letter. Redirects are not followed.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import * as KubeClient from "@effect-operator/core/KubeClient"
import { Transport as TransportFailed } from "@effect-operator/core/KubeError"
import { isStatus } from "@effect-operator/core/Status"
import { type Request, type Response, type StreamResponse, Transport } from "@effect-operator/core/Transport"
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import type { Headers } from "./Credentials.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as KubeConfig from "./KubeConfig.ts"
import * as Body from "./live/Body.ts"
import * as Documents from "./live/Documents.ts"
import * as Exchange from "./live/Exchange.ts"
import * as Incoming from "./live/Incoming.ts"
import * as Processes from "./live/Processes.ts"
import { clock as realClock, inRealTime } from "./live/realTime.ts"
import * as RequestMetrics from "./live/RequestMetrics.ts"
import * as RequestQueue from "./live/RequestQueue.ts"
import { traced, type TraceHeaders } from "./live/RequestTracing.ts"
import * as Retry from "./live/Retry.ts"
import * as TextLines from "./live/TextLines.ts"
import * as Warnings from "./live/Warnings.ts"
import { version } from "./Version.ts"
import * as WatchBody from "./WatchBody.ts"

export { version } from "./Version.ts"

/** Defaults, unless `Options` override them. See also those of `Dispatcher`, `WatchBody` and `live/*`. */
export const defaults = {
  userAgent: `effect-operator/${version}`,
  /** How long the body of a refused watch may take to arrive. */
  refusalTimeout: "30 seconds"
} as const

export interface Options extends Dispatcher.Options, WatchBody.Options {
  readonly userAgent?: string | undefined
  /** For a request and its whole response, watches excepted; 2 minutes by default. */
  readonly requestTimeout?: Duration.Input | undefined
  readonly retry?: Retry.Policy | undefined
  /** Rate limit: `qps` requests per second on average, `burst` at once after an idle period. No limit by default. */
  readonly qps?: number | undefined
  readonly burst?: number | undefined
}

/** The credentials of one attempt. */
interface Presented {
  readonly headers: Headers
  readonly pools: Dispatcher.Pools
}

/** What all attempts of a call share. */
interface Call {
  /** The lane in which it queues. */
  readonly lane: string
  readonly trace: TraceHeaders
}

/** One attempt of a call. */
interface Try extends Call {
  readonly presented: Presented
  /** Counted from 0. */
  readonly attempt: number
}

/** The transport to a cluster. Closing the scope closes every connection. */
export const makeTransport = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Effect.Effect<Transport["Service"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const { credentials } = cluster
    const server = new URL(cluster.server)
    const prefix = server.pathname.replace(/\/+$/, "")
    const describe = Exchange.failure(server.host)
    const connections = yield* Dispatcher.make(cluster, options)
    const metrics = yield* RequestMetrics.make(server.host)
    const warn = Warnings.make()
    const queue = yield* inRealTime(RequestQueue.make({
      concurrency: options.connections ?? Dispatcher.defaults.connections,
      qps: options.qps,
      burst: options.burst
    }))
    const own = { "user-agent": options.userAgent ?? defaults.userAgent }
    const ownUnary = cluster.compression === false ? own : { ...own, "accept-encoding": "gzip" }
    const timeout = Duration.toMillis(options.requestTimeout ?? Exchange.defaults.requestTimeout)

    const toWire = (
      { body, headers, method, path, permit, query }: Request,
      { presented, trace }: Try,
      own: Request["headers"]
    ) => ({
      path: prefix + path + queryString(query),
      method,
      headers: { ...own, ...trace, ...headers, ...beside(headers, Redacted.value(presented.headers)) },
      ...(body === undefined ? {} : { body: written(body, headers["content-type"]) }),
      ...(permit === undefined ? {} : { permit })
    })

    /** The current credentials. Completes synchronously, unless a source has to be asked. */
    const present = (): Effect.Effect<Presented, TransportFailed> =>
      Effect.flatMapEager(
        inRealTime(credentials.headers),
        (headers) => Effect.mapEager(inRealTime(connections.pools()), (pools) => ({ headers, pools }))
      )

    /** Handles what every response may carry: warnings, and a reason for all requests to pause. */
    const heed = (request: Request, { body, headers, status }: Response): Effect.Effect<void> => {
      // A server that sheds load answers before it looks at the request. A 429 with a Status concerns only this
      // request.
      if (status === 429 && !isStatus(body)) {
        const millis = Retry.retryAfter(headers, realClock.currentTimeMillisUnsafe())
        if (millis !== undefined) queue.pause(classOf(request), millis)
      }
      return warn(headers["warning"])
    }

    /** Records the metrics of an attempt: its response, or that there is none. */
    const counting = ({ method }: Request, { attempt }: Try, sent = 0) => {
      const before = monotonicMillis(realClock)
      return (status: number | undefined, received?: number) => {
        const millis = monotonicMillis(realClock) - before
        metrics.tried({ method, status, isRetry: attempt > 0, millis, sent, received })
      }
    }

    /**
     * Runs an attempt when it gets its turn. An attempt that had to wait uses the credentials that are current by then.
     */
    const inTurn = <A, E, R>(
      request: Request,
      asked: Try,
      isLasting: boolean,
      run: (one: Try) => Effect.Effect<A, E, R>
    ): Effect.Effect<A, E | Final, R> => {
      let leave = () => {}
      const turn = Effect.callback<Try, Final>((resume) => {
        let isLate = false
        leave = queue.enter({ lane: asked.lane, class: classOf(request), isLasting }, (waited) => {
          metrics.waited(request.method, waited)
          resume(
            isLate
              ? Effect.mapBoth(present(), { onSuccess: (presented) => ({ ...asked, presented }), onFailure: final })
              : Effect.succeed(asked)
          )
        })
        isLate = true
      })
      return Effect.onExit(Effect.flatMap(turn, run), () => {
        leave()
        return Effect.void
      })
    }

    /** Sends a request and reads the response. */
    const exchange = (request: Request, one: Try): Effect.Effect<Response, Exchange.Failure> =>
      Effect.callback((resume) => {
        const wire = toWire(request, one, ownUnary)
        const { reading } = request
        const unpack = request.headers["accept-encoding"] === undefined
        const tried = counting(request, one, wire.body === undefined ? 0 : Buffer.byteLength(wire.body))
        const { processes, unary } = one.presented.pools
        const told = (outcome: Exchange.Outcome) =>
          resume(Effect.matchEffect(outcome, {
            onSuccess: (answer) => {
              tried(answer.status, answer.bytes)
              return Effect.mapEager(heed(request, answer), () => answer)
            },
            onFailure: (failure) => {
              tried(undefined)
              if (Retry.isCertificateCode(failure.code)) {
                connections.doubt()
              }
              return Effect.fail(failure)
            }
          }))
        const giveUp = request.process === undefined
          ? Exchange.begin(unary, wire, { timeout, describe, unpack, reading }, told)
          : Processes.begin(processes, wire, request.process, describe, told)
        return Effect.sync(giveUp)
      })

    /** Sends with the current credentials. If they are refused and there are others, sends once more with those. */
    const authorized = <A extends Response, E extends { readonly error: TransportFailed }, R>(
      one: Try,
      send: (one: Try) => Effect.Effect<A, E, R>
    ): Effect.Effect<A, E | Final, R> =>
      Effect.flatMap(send(one), (answer) => {
        if (answer.status !== 401) {
          return Effect.succeed(answer)
        }
        return Effect.flatMap(Effect.mapError(renewed(one.presented), final), (presented) =>
          presented === undefined
            ? Effect.succeed(answer)
            : send({ ...one, presented, attempt: one.attempt + 1 }))
      })

    /** Credentials that differ from the refused ones, if there are any. */
    const renewed = (refused: Presented): Effect.Effect<Presented | undefined, TransportFailed> =>
      Effect.gen(function*() {
        connections.doubt()
        // Another request may have refreshed them already.
        const known = yield* present()
        const headers = isSame(known.headers, refused.headers)
          ? yield* inRealTime(credentials.fresh)
          : known.headers
        const { pools } = yield* present()
        return isSame(headers, refused.headers) && pools === refused.pools ? undefined : { headers, pools }
      })

    const attempts = (
      request: Request,
      by: Call,
      attempt: number
    ): Effect.Effect<Response, TransportFailed> =>
      Effect.flatMapEager(present(), (presented) => {
        const settle = (result: Result.Result<Response, Exchange.Failure | Final>) =>
          Effect.flatMap(decide(request, result, attempt, presented.pools), (decision) => {
            if (decision._tag === "Again") {
              return Effect.flatMap(inRealTime(Effect.sleep(decision.after)), () => attempts(request, by, attempt + 1))
            }
            return Result.isSuccess(result) ? Effect.succeed(result.success) : Effect.fail(result.failure.error)
          })
        const run = (one: Try) => authorized(one, (one) => exchange(request, one))
        return Effect.matchEffect(inTurn(request, { ...by, presented, attempt }, request.process !== undefined, run), {
          onSuccess: (answer) =>
            answer.status === 429 || answer.status >= 500 ? settle(Result.succeed(answer)) : Effect.succeed(answer),
          onFailure: (failure) => settle(Result.fail(failure))
        })
      })

    const decide = (
      request: Request,
      result: Result.Result<Response, Exchange.Failure | Final>,
      attempt: number,
      before: Dispatcher.Pools
    ): Effect.Effect<Retry.Decision, TransportFailed> =>
      Effect.flatMap(Random.next, (random) => {
        const by = (outcome: Retry.Outcome) =>
          Effect.succeed(Retry.decide(Retry.isRepeatable(request), outcome, attempt, random, options.retry))
        if (Result.isSuccess(result)) {
          const { headers, status } = result.success
          const retryAfter = Retry.retryAfter(headers, realClock.currentTimeMillisUnsafe())
          return by({ _tag: "Answered", status, retryAfter })
        }
        const { failure } = result
        if (failure._tag === "Final") return Effect.succeed({ _tag: "Return" })
        const { code, sent } = failure
        if (!Retry.isHandshakeFailure(failure) || attempt > 0) return by({ _tag: "Failed", sent, code })
        // The certificates may have been rotated while the request was in flight.
        return Effect.map(
          inRealTime(connections.pools()),
          (pools): Retry.Decision => pools === before ? { _tag: "Return" } : { _tag: "Again", after: 0 }
        )
      })

    const called = <A extends Response, E, R>(request: Request, run: (by: Call) => Effect.Effect<A, E, R>) =>
      Effect.contextWith((context: Context.Context<never>) => {
        const lane = Context.get(context, KubeClient.FieldManager)
        return traced(Context.get(context, Tracer.Tracer), server, request, (trace) => run({ lane, trace }))
      })

    const request: Transport["Service"]["request"] = (request) => called(request, (by) => attempts(request, by, 0))

    /** Opens a watch, until the server accepts or refuses it. */
    const watch = (request: Request, one: Try) =>
      Effect.gen(function*() {
        const tried = counting(request, one)
        const answer = yield* Incoming.open(one.presented.pools.watch, toWire(request, one, own)).pipe(
          Effect.mapError((cause) => {
            tried(undefined)
            if (Retry.isCertificateCode((cause as NodeJS.ErrnoException | undefined)?.code)) connections.doubt()
            return final(describe(cause))
          })
        )
        tried(answer.status)
        const headers = Exchange.toHeaders(answer.headers)
        const type = headers["content-type"]
        if (answer.status === 200 && request.lines !== true && type !== undefined && !Exchange.isJson(type)) {
          const message = `${server.host}: the answer is not a watch, but ${type}: is this an API server's address?`
          return yield* Effect.fail(final(new TransportFailed({ message })))
        }
        const response: StreamResponse = answer.status === 200
          ? { status: 200, headers, values: values(answer.body, request) }
          : yield* refusal(answer)
        yield* heed(request, response)
        return response
      })

    const stream: Transport["Service"]["stream"] = (request) =>
      called(request, (by) =>
        inRealTime(Effect.flatMap(present(), (presented) =>
          Effect.mapError(
            // A watch holds its place in the queue only until it is accepted or refused.
            inTurn(request, { ...by, presented, attempt: 0 }, true, (one) =>
              authorized(one, (one) =>
                watch(request, one))),
            ({ error }) =>
              error
          ))))

    const values = (body: Body.Body, { lines, reading }: Request): StreamResponse["values"] =>
      lines === true ? TextLines.stream(body, describe) : Stream.mapError(
        WatchBody.stream(body, describe, { ...options, read: Documents.line(reading) }),
        (error) =>
          error._tag === "Transport" ? error : new TransportFailed({ message: error.message, cause: error })
      )

    const refusal = (answer: Incoming.Incoming): Effect.Effect<StreamResponse, Final> =>
      Effect.mapError(Body.text(answer.body), describe).pipe(
        Effect.timeoutOrElse({
          duration: defaults.refusalTimeout,
          orElse: () =>
            Effect.fail(new TransportFailed({ message: `no complete answer within ${defaults.refusalTimeout}` }))
        }),
        Effect.flatMap((text) =>
          Effect.try({
            try: () => Exchange.toResponse(answer.status, Exchange.toHeaders(answer.headers), text),
            catch: describe
          })
        ),
        Effect.mapBoth({ onFailure: final, onSuccess: (response) => ({ ...response, values: Stream.empty }) })
      )

    return Transport.of({ request, stream })
  })

/** A failure that is passed on unchanged. */
interface Final {
  readonly _tag: "Final"
  readonly error: TransportFailed
}

const final = (error: TransportFailed): Final => ({ _tag: "Final", error })

/** The credentials of a request. If it names a user, that takes the place of one in the kubeconfig (`as`). */
const beside = (headers: Request["headers"], credentials: Redacted.Redacted.Value<Headers>) =>
  headers["impersonate-user"] === undefined
    ? credentials
    : Object.fromEntries(Object.entries(credentials).filter(([name]) => !name.startsWith("impersonate-")))

const isSame = (a: Headers, b: Headers): boolean => a === b || Equal.equals(Redacted.value(a), Redacted.value(b))

/** The server gives leader election a priority of its own, and so does this client. */
const classOf = ({ path }: Request): RequestQueue.Class =>
  path.startsWith("/apis/coordination.k8s.io/") ? "leases" : "others"

/**
 * The body as JSON. JSON is valid YAML, except for some characters that a YAML parser refuses or replaces by a space:
 * if the server reads the body as YAML, they are escaped.
 */
const written = (body: unknown, type: string | undefined): string => {
  const text = JSON.stringify(body)
  return type?.endsWith("yaml") !== true
    ? text
    : text.replace(notInYaml, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

const notInYaml = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

const queryString = (query: Request["query"]): string =>
  query.length === 0
    ? ""
    : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`

/** The transport to a given cluster. */
export const transportLayerCluster = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Layer.Layer<Transport> => Layer.effect(Transport, makeTransport(cluster, options))

/** The transport to the cluster that the options select. */
export const transportLayerOptions = (
  options: KubeConfig.Options & Options
): Layer.Layer<Transport, KubeConfig.KubeConfigError> =>
  Layer.unwrap(Effect.map(KubeConfig.load(options), (cluster) => transportLayerCluster(cluster, options)))

/** The transport to the cluster of the default configuration (see `KubeConfig`). */
export const transportLayer: Layer.Layer<Transport, KubeConfig.KubeConfigError> = transportLayerOptions({})

/** The client of a given cluster. */
export const layerCluster = (
  cluster: KubeConfig.ClusterConfig,
  options: Options = {}
): Layer.Layer<KubeClient.KubeClient> => KubeClient.KubeClient.layerOver(transportLayerCluster(cluster, options))

/** The client of the cluster that the options select. */
export const layerOptions = (
  options: KubeConfig.Options & Options
): Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError> =>
  KubeClient.KubeClient.layerOver(transportLayerOptions(options))

/** The client of the cluster of the default configuration (see `KubeConfig`). */
export const layer: Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError> = layerOptions({})

/** The client of the cluster that configuration selects. `KubeConfig.config` reads the usual variables. */
export const layerConfig = (
  config: Config.Config<KubeConfig.Options & Options>
): Layer.Layer<KubeClient.KubeClient, KubeConfig.KubeConfigError | Config.ConfigError> =>
  Layer.unwrap(Effect.map(config, layerOptions))
