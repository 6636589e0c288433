/**
 * `Dispatcher`: the connections to one cluster.
 *
 * There are two pools: one for ordinary requests, one for watches, each of which holds a connection for minutes.
 * (Processes, which are rare, open a connection each.) Connections are kept alive and reused. They speak HTTP/1.1: over
 * HTTP/2 all watches would share one socket, and one half-open socket would stall them all.
 *
 * The pools are bound to the TLS material: CA, client certificate and key. Material from files or from an exec plugin
 * is checked again as time goes by (`FileSource`). When it has changed, new requests use new pools, and the old pools
 * live until their requests are done, so a rotation fails no request. A certificate that does not match its key and a
 * truncated CA (a rotation in progress) are not used. Everything closes with the scope.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import { Transport } from "@effect-operator/core/KubeError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as NodeCrypto from "node:crypto"
import { setMaxListeners } from "node:events"
import * as Tls from "node:tls"
import type * as KubeConfig from "./KubeConfig.ts"
import * as Http from "./live/Connections.ts"
import * as FileSource from "./live/FileSource.ts"
import type * as Processes from "./live/Processes.ts"

/**
 * Defaults, unless `Options` override them. A timeout of zero, or longer than a timer can wait (24 days), is disabled.
 */
export const defaults = {
  /** TCP and TLS together. */
  connectTimeout: "10 seconds",
  /** From sending the request to the first byte of the response; twice as long for a watch. */
  headersTimeout: "60 seconds",
  /** Between two chunks of a response. Watches have no such limit: the reflector judges their silence. */
  bodyTimeout: "1 minute",
  /** How long an idle connection is kept; less than the 90 s after which an API server closes it. */
  idleTimeout: "30 seconds",
  /** How long a connection is silent before TCP sends a keep-alive probe. */
  keepAliveDelay: "15 seconds",
  /** How long after finding unusable new certificates the files are read again. */
  repairDelay: "1 second",
  /** Concurrent requests, not counting leases, watches and processes. */
  connections: 64
} as const

export interface Options {
  readonly connectTimeout?: Duration.Input | undefined
  readonly headersTimeout?: Duration.Input | undefined
  readonly bodyTimeout?: Duration.Input | undefined
  readonly idleTimeout?: Duration.Input | undefined
  readonly connections?: number | undefined
}

/** The pools for one CA, certificate and key. */
export interface Pools {
  readonly unary: Http.Connections
  readonly watch: Http.Connections
  /** For processes: each opens a connection of its own, and none is kept. */
  readonly processes: Processes.Settings
}

export interface Connections {
  /** The pools for the current TLS material. Completes synchronously if none of it is in a file. */
  readonly pools: () => Effect.Effect<Pools, Transport>
  /** Makes the next `pools` read the files again: outdated certificates may be the reason for a failure. */
  readonly doubt: () => void
}

type Cluster =
  & Pick<
    KubeConfig.ClusterConfig,
    "server" | "ca" | "cert" | "key" | "files" | "servername" | "skipTlsVerify" | "proxy"
  >
  & { readonly credentials?: KubeConfig.ClusterConfig["credentials"] }

/** The TLS material. */
interface Material {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

const same = (a: Material, b: Material): boolean => a.ca === b.ca && a.cert === b.cert && a.key === b.key

/** Opens no connection yet; the first request does. */
export const make = (cluster: Cluster, options: Options = {}): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.gen(function*() {
    const living = new Set<Pools>()
    const closing = new AbortController()
    // As many listeners as processes, without Node's warning of a leak.
    setMaxListeners(0, closing.signal)
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        closing.abort()
        return Promise.all([...living].flatMap(({ unary, watch }) => [unary.destroy(), watch.destroy()]))
      })
    )
    const { doubt, material } = source(cluster)
    const connect = yield* connector(cluster)
    let current: { readonly material: Material; readonly pools: Pools } | undefined
    let refused: { readonly material: Material; readonly until: number } | undefined

    const open = (material: Material): Pools => {
      const pools = openPools(cluster, material, options, connect, closing.signal)
      living.add(pools)
      current = { material, pools }
      return pools
    }

    /** A closed pool still finishes its requests. */
    const retire = (pools: Pools) =>
      Effect.promise(() => Promise.allSettled([pools.unary.close(), pools.watch.close()])).pipe(
        Effect.andThen(Effect.sync(() => living.delete(pools)))
      )

    /** The new certificate and key do not match yet, because one is written before the other: read again soon. */
    const notYet = (material: Material, fault: string) =>
      Effect.flatMap(Clock.Clock, (clock) => {
        const now = monotonicMillis(clock)
        const known = refused !== undefined && same(refused.material, material)
        if (known && now < refused!.until) return Effect.void
        refused = { material, until: now + Duration.toMillis(defaults.repairDelay) }
        doubt()
        return known
          ? Effect.void
          : Effect.logWarning(`the new certificates cannot be used (${fault}); still using the previous ones`)
      })

    const use = (next: Material): Effect.Effect<Pools> => {
      const last = current
      if (last === undefined) return Effect.succeed(open(next))
      if (same(last.material, next)) return Effect.succeed(last.pools)
      const fault = faultOf(next)
      if (fault !== undefined) return Effect.as(notYet(next, fault), last.pools)
      refused = undefined
      const opened = open(next)
      return Effect.as(Effect.forkDetach(retire(last.pools)), opened)
    }
    return { pools: () => Effect.flatMapEager(material, use), doubt }
  })

/** The source of the TLS material. Credentials take precedence over files, and files over inline values. */
const source = (cluster: Cluster): {
  readonly material: Effect.Effect<Material, Transport>
  readonly doubt: () => void
} => {
  const inline: Material = {
    ca: cluster.ca,
    cert: cluster.cert,
    key: cluster.key === undefined ? undefined : Redacted.value(cluster.key)
  }
  const { credentials, files = {} } = cluster
  const sources = (["ca", "cert", "key"] as const).flatMap((name) => {
    const file = files[name]
    if (file === undefined) return []
    const what = name === "ca" ? "CA file" : `client ${name === "key" ? "key" : "certificate"} file`
    const made = FileSource.make(file, { what, problem: FileSource.pemProblem, initial: inline[name] })
    return [{ name, source: made }]
  })
  const issued = credentials?.certificate
  if (sources.length === 0 && issued === undefined) return { material: Effect.succeed(inline), doubt: () => {} }
  const material = Effect.gen(function*() {
    let result = inline
    for (const { name, source } of sources) result = { ...result, [name]: yield* source.text }
    const certificate = issued === undefined ? undefined : yield* issued
    return certificate === undefined
      ? result
      : { ...result, cert: certificate.cert, key: Redacted.value(certificate.key) }
  })
  return { material, doubt: () => sources.forEach(({ source }) => source.doubt()) }
}

/** Whether a PEM text is truncated or has no readable certificate. TLS would not complain, and would trust nobody. */
const isBroken = (pem: string): boolean => {
  const [first, ...more] = pem.split("-----BEGIN ").slice(1)
  if (![first, ...more].every((block) => block?.includes("-----END "))) return true
  try {
    return new NodeCrypto.X509Certificate(`-----BEGIN ${first}`).raw.length === 0
  } catch {
    return true
  }
}

/** Why TLS could not use this material, if so: an error code, without details. */
const faultOf = ({ ca, cert, key }: Material): string | undefined => {
  if (ca !== undefined && isBroken(ca)) return "the CA file contains an incomplete certificate or none"
  try {
    Tls.createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key })
    })
    return undefined
  } catch (cause) {
    return FileSource.codeOf(cause)
  }
}

/** Makes a pool of any number of connections: `RequestQueue` limits the number of requests. */
type Connect = (options: Http.Options) => Http.Connections

/** Directly to the server, or through its proxy. */
const connector = ({ proxy }: Cluster): Effect.Effect<Connect> =>
  proxy === undefined
    ? Effect.succeed(Http.make)
    : Effect.map(
      Effect.promise(() => import("./live/Proxied.ts")),
      (proxied): Connect => (options) => proxied.make(Redacted.value(proxy), null, options)
    )

const openPools = (
  cluster: Cluster,
  { ca, cert, key }: Material,
  options: Options,
  connect: Connect,
  closing: AbortSignal
): Pools => {
  const millis = (name: "connectTimeout" | "headersTimeout" | "bodyTimeout" | "idleTimeout", times = 1) => {
    const wanted = times * Duration.toMillis(options[name] ?? defaults[name])
    return wanted > Http.defaults.longestTimer ? 0 : wanted
  }
  const settings: Http.Options = {
    origin: new URL(cluster.server),
    tls: {
      rejectUnauthorized: !cluster.skipTlsVerify,
      servername: cluster.servername,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key })
    },
    connectTimeout: millis("connectTimeout"),
    headersTimeout: millis("headersTimeout"),
    bodyTimeout: millis("bodyTimeout"),
    idleTimeout: millis("idleTimeout"),
    keepAliveDelay: Duration.toMillis(defaults.keepAliveDelay)
  }
  return {
    unary: connect(settings),
    // A proxy may hold back the headers until the first bytes of the body: a bookmark, which comes once a minute.
    watch: connect({ ...settings, headersTimeout: millis("headersTimeout", 2), bodyTimeout: 0 }),
    processes: {
      ...settings,
      proxy: cluster.proxy === undefined ? undefined : Redacted.value(cluster.proxy),
      closing
    }
  }
}
