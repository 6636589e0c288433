/**
 * `LiveClient`: the `KubeClient` of a real API server, over HTTP.
 *
 * What it adds to `KubeClient` is the `Transport`, which guarantees:
 * - a request is repeated only where that is safe, a few times, after a wait (see `live/Retry`); a watch is not: that is
 *   the reflector's to do. An answer 401 asks the credentials' source again, and if that gives other credentials, the
 *   request goes out once more (the server did not look at the first one);
 * - a server that asks for a pause (429 with Retry-After) gets it from all requests, not just from the one it answered;
 *   who has to wait for a turn is served fairly, a turn for each field manager (see `live/RequestQueue`);
 * - every request has an end: interrupting it aborts it on the wire, and each of its phases, and the whole of it, has a
 *   deadline; closing a watch's scope closes its connection;
 * - connections are pooled and reused, and follow rotated certificates (see `Dispatcher`); a watch is read only as fast
 *   as it is consumed;
 * - no answer at all, a connection lost inside an answer, and a watch cut off inside a line are `Transport` failures.
 *   A watch that the server ends between two events just ends;
 * - no error, log, metric or span shows credentials.
 *
 * Time is real time, whatever `Clock` is in context: servers do not live in a test's. Paths go out letter for letter.
 * Redirects are not followed.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { Transport as TransportFailed } from "@effect-operator/core/KubeError"
import { isStatus } from "@effect-operator/core/Status"
import {
  type Reading,
  type Request,
  type Response,
  type StreamResponse,
  Transport
} from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import type * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Headers } from "./Credentials.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as KubeConfig from "./KubeConfig.ts"
import * as Body from "./live/Body.ts"
import * as Documents from "./live/Documents.ts"
import * as Exchange from "./live/Exchange.ts"
import * as Incoming from "./live/Incoming.ts"
import * as RequestMetrics from "./live/RequestMetrics.ts"
import * as RequestQueue from "./live/RequestQueue.ts"
import { traced, type TraceHeaders, traceHeaders } from "./live/RequestTracing.ts"
import * as Retry from "./live/Retry.ts"
import * as Warnings from "./live/Warnings.ts"
import { version } from "./Version.ts"
import * as WatchBody from "./WatchBody.ts"

export { version } from "./Version.ts"

/** Figures that hold unless `Options` say otherwise; see also those of `Dispatcher`, `WatchBody` and `live/*`. */
export const defaults = {
  userAgent: `effect-operator/${version}`,
  /** How long the refusal of a watch may take to arrive. */
  refusalTimeout: "30 seconds"
} as const

export interface Options extends Dispatcher.Options, WatchBody.Options {
  readonly userAgent?: string | undefined
  /** For a request and its whole answer, watches excepted; 2 minutes by default. */
  readonly requestTimeout?: Duration.Input | undefined
  readonly retry?: Retry.Policy | undefined
  /** Requests per second on average, and at once after a quiet time; no limit by default. */
  readonly qps?: number | undefined
  readonly burst?: number | undefined
}

/** What a request gets in with. */
interface Presented {
  readonly headers: Headers
  readonly pools: Dispatcher.Pools
}

/** One try; `attempt` counts from 0. */
interface Try extends Presented {
  readonly attempt: number
}

const realClock = Clock.Clock.defaultValue()

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
    const queue = yield* RequestQueue.make({
      concurrency: options.connections ?? Dispatcher.defaults.connections,
      qps: options.qps,
      burst: options.burst
    })
    const own = { "user-agent": options.userAgent ?? defaults.userAgent }
    const ownUnary = cluster.compression === false ? own : { ...own, "accept-encoding": "gzip" }
    const timeout = Duration.toMillis(options.requestTimeout ?? Exchange.defaults.requestTimeout)

    const toWire = (request: Request, headers: Headers, trace: TraceHeaders, isWatch: boolean) => ({
      path: prefix + request.path + queryString(request.query),
      method: request.method,
      headers: { ...(isWatch ? own : ownUnary), ...trace, ...request.headers, ...Redacted.value(headers) },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) })
    })

    /** Runs when the turn of a request has come. */
    const inTurn = <A, E, R>(request: Request, isWatch: boolean, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(KubeClient.FieldManager, (lane) =>
        queue.within({ lane, class: classOf(request), isWatch }, (waited) => {
          metrics.waited(request.method, waited)
          return run
        }))

    /** What is common to every answer: warnings, and the shared pause that it may call for. */
    const heed = (request: Request, { body, headers, status }: Response): Effect.Effect<void> => {
      const warned = warn(headers["warning"])
      // A server that sheds load says so before it looks at the request. One with a Status is about the request.
      if (status !== 429 || isStatus(body)) {
        return warned
      }
      const millis = Retry.retryAfter(headers, realClock.currentTimeMillisUnsafe())
      return millis === undefined ? warned : Effect.andThen(warned, queue.pause(classOf(request), millis))
    }

    /** Sends with the credentials at hand, and once more with others if they were refused and there are any. */
    const authorized = <A extends Response, E extends { readonly error: TransportFailed }, R>(
      attempt: number,
      send: (one: Try) => Effect.Effect<A, E, R>
    ): Effect.Effect<A, E | Final, R> =>
      Effect.flatMap(presented, (first) =>
        Effect.filterOrElse(
          send({ ...first, attempt }),
          ({ status }) =>
            status !== 401,
          (answer) =>
            again(first, answer, (next) => send({ ...next, attempt: attempt + 1 }))
        ))

    /** What to get in with now. */
    const presented: Effect.Effect<Presented, Final> = Effect.mapError(
      Effect.flatMap(credentials.headers, (headers) => Effect.map(connections.pools, (pools) => ({ headers, pools }))),
      final
    )

    const again = <A, E, R>(first: Presented, refused: A, send: (next: Presented) => Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        connections.doubt()
        // Others may have asked the source since.
        const known = yield* presented
        const headers = isSame(known.headers, first.headers)
          ? yield* Effect.mapError(credentials.fresh, final)
          : known.headers
        const { pools } = yield* presented
        return isSame(headers, first.headers) && pools === first.pools ? refused : yield* send({ headers, pools })
      })

    const exchange = (request: Request) => ({ attempt, headers, pools }: Try) =>
      Effect.flatMap(traceHeaders, (trace) => {
        const wire = toWire(request, headers, trace, false)
        const unpack = request.headers["accept-encoding"] === undefined
        const before = realClock.currentTimeMillisUnsafe()
        const tried = (status: number | undefined, received?: number) =>
          metrics.tried({
            method: request.method,
            status,
            isRetry: attempt > 0,
            millis: realClock.currentTimeMillisUnsafe() - before,
            sent: wire.body === undefined ? 0 : Buffer.byteLength(wire.body),
            received
          })
        return Effect.matchEffect(
          Exchange.send(pools.unary, wire, { timeout, describe, unpack, reading: request.reading }),
          {
            onSuccess: (answer) => {
              tried(answer.status, answer.bytes)
              return Effect.as(heed(request, answer), answer)
            },
            onFailure: (failure) => {
              tried(undefined)
              if (Retry.isCertificateCode(failure.code)) {
                connections.doubt()
              }
              return Effect.fail(failure)
            }
          }
        )
      })

    const attempts = (request: Request, attempt: number): Effect.Effect<Response, TransportFailed> =>
      Effect.flatMap(connections.pools, (before) => {
        const settle = (result: Result.Result<Response, Exchange.Failure | Final>) =>
          Effect.flatMap(decide(request, result, attempt, before), (decision) =>
            decision._tag === "Again"
              ? Effect.delay(attempts(request, attempt + 1), decision.after)
              : Result.isSuccess(result)
              ? Effect.succeed(result.success)
              : Effect.fail(result.failure.error))
        return Effect.matchEffect(inTurn(request, false, authorized(attempt, exchange(request))), {
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
        // Certificates may have been rotated while the request was on its way.
        return Effect.map(
          connections.pools,
          (pools): Retry.Decision => pools === before ? { _tag: "Return" } : { _tag: "Again", after: 0 }
        )
      })

    const request: Transport["Service"]["request"] = (request) =>
      inRealTime(traced(server, request, attempts(request, 0)))

    const watch = (request: Request) => ({ attempt, headers, pools }: Try) =>
      Effect.gen(function*() {
        const wire = toWire(request, headers, yield* traceHeaders, true)
        const before = yield* Clock.currentTimeMillis
        const tried = (status: number | undefined) =>
          Effect.map(
            Clock.currentTimeMillis,
            (now) =>
              metrics.tried({ method: request.method, status, isRetry: attempt > 0, millis: now - before, sent: 0 })
          )
        const answer = yield* Incoming.open(pools.watch, wire).pipe(
          Effect.mapError(describe),
          Effect.tap(({ status }) => tried(status)),
          Effect.tapError(({ cause }) => {
            if (Retry.isCertificateCode((cause as NodeJS.ErrnoException | undefined)?.code)) connections.doubt()
            return tried(undefined)
          }),
          Effect.mapError(final)
        )
        const headersOfAnswer = Exchange.toHeaders(answer.headers)
        const response: StreamResponse = answer.status === 200
          ? { status: 200, headers: headersOfAnswer, values: values(answer.body, request.reading) }
          : yield* refusal(answer)
        yield* heed(request, response)
        return response
      })

    const stream: Transport["Service"]["stream"] = (request) =>
      inRealTime(traced(
        server,
        request,
        Effect.mapError(
          // A watch has had its turn when it is accepted or refused.
          inTurn(request, true, authorized(0, watch(request))),
          ({ error }) => error
        )
      ))

    const values = (body: Body.Body, reading: Reading | undefined) =>
      Stream.mapError(
        WatchBody.stream(body, describe, { ...options, read: Documents.line(reading) }),
        (error) => error._tag === "Transport" ? error : new TransportFailed({ message: error.message, cause: error })
      )

    const refusal = (answer: Incoming.Incoming): Effect.Effect<StreamResponse, Final> =>
      Effect.mapError(Body.text(answer.body), describe).pipe(
        Effect.timeoutOrElse({
          duration: defaults.refusalTimeout,
          orElse: () =>
            Effect.fail(new TransportFailed({ message: `no whole answer within ${defaults.refusalTimeout}` }))
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

/** A failure that is passed on as it is. */
interface Final {
  readonly _tag: "Final"
  readonly error: TransportFailed
}

const final = (error: TransportFailed): Final => ({ _tag: "Final", error })

const inRealTime = Effect.provideService(Clock.Clock, realClock)

const isSame = (a: Headers, b: Headers): boolean => a === b || Equal.equals(Redacted.value(a), Redacted.value(b))

/** Leader election has its own place in the server's priorities, and gets one here. */
const classOf = ({ path }: Request): RequestQueue.Class =>
  path.startsWith("/apis/coordination.k8s.io/") ? "leases" : "others"

const queryString = (query: Request["query"]): string =>
  query.length === 0
    ? ""
    : `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`

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
