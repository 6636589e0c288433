/**
 * `Dispatcher`: the connections to one cluster.
 *
 * Two pools that live as long as their scope: one for requests that are answered and done, one for watches, which hold
 * a connection each for minutes. Connections are kept alive and reused, never made per request, and speak HTTP/1.1: over
 * HTTP/2 all watches share one socket, and one half-open socket would blind them all.
 */
import Undici, { type Dispatcher } from "@effect/platform-node/Undici"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { ClusterConfig } from "./KubeConfig.ts"

/** Figures that hold unless `Options` say otherwise. Zero switches a time-out off. */
export const defaults = {
  /** TCP and TLS together. */
  connectTimeout: "10 seconds",
  /** From the request sent to the first byte of the answer. */
  headersTimeout: "60 seconds",
  /** Between two pieces of an answer. Watches have none: their silence is the reflector's to judge. */
  bodyTimeout: "1 minute",
  /** How long an idle connection is kept; below the 90 s after which an API server closes it. */
  idleTimeout: "30 seconds",
  /** Silence after which TCP asks whether the other side is still there. */
  keepAliveDelay: "15 seconds",
  /** Connections for requests other than watches; what comes on top of them waits. */
  connections: 64
} as const

export interface Options {
  readonly connectTimeout?: Duration.Input | undefined
  readonly headersTimeout?: Duration.Input | undefined
  readonly bodyTimeout?: Duration.Input | undefined
  readonly idleTimeout?: Duration.Input | undefined
  readonly connections?: number | undefined
}

export interface Dispatchers {
  readonly unary: Dispatcher
  readonly watch: Dispatcher
}

/** Opens the pools (connections come with the first request); closing the scope destroys them and what runs on them. */
export const make = (
  cluster: Omit<ClusterConfig, "credentials">,
  options: Options = {}
): Effect.Effect<Dispatchers, never, Scope.Scope> => {
  const millis = (name: "connectTimeout" | "headersTimeout" | "bodyTimeout" | "idleTimeout") =>
    Duration.toMillis(options[name] ?? defaults[name])
  const tls = {
    allowH2: false,
    timeout: millis("connectTimeout"),
    keepAlive: true,
    keepAliveInitialDelay: Duration.toMillis(defaults.keepAliveDelay),
    rejectUnauthorized: !cluster.skipTlsVerify,
    ...(cluster.ca === undefined ? {} : { ca: cluster.ca }),
    ...(cluster.cert === undefined || cluster.key === undefined
      ? {}
      : { cert: cluster.cert, key: Redacted.value(cluster.key) }),
    ...(cluster.servername === undefined ? {} : { servername: cluster.servername })
  }
  const pool = (connections: number | null, bodyTimeout: number) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        connect(cluster.proxy, tls, {
          allowH2: false,
          connections,
          bodyTimeout,
          headersTimeout: millis("headersTimeout"),
          keepAliveTimeout: millis("idleTimeout")
        })
      ),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
  return Effect.all({
    unary: pool(options.connections ?? defaults.connections, millis("bodyTimeout")),
    watch: pool(null, 0)
  })
}

const connect = (
  proxy: Redacted.Redacted | undefined,
  tls: Undici.buildConnector.BuildOptions,
  pool: Omit<Undici.Pool.Options, "connect">
): Dispatcher => {
  if (proxy === undefined) return new Undici.Agent({ ...pool, connect: tls })
  const uri = Redacted.value(proxy)
  return uri.startsWith("socks")
    ? new Undici.Socks5ProxyAgent(uri, { ...pool, requestTls: tls })
    : new Undici.ProxyAgent({ ...pool, uri, requestTls: tls })
}
