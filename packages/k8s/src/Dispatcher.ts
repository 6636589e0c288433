/**
 * `Dispatcher`: the connections to one cluster.
 *
 * Two pools: one for requests that are answered and done, one for watches, which hold a connection each for minutes.
 * (Processes, which are rare, open one each.)
 * Connections are kept alive and reused, never made per request, and speak HTTP/1.1: over HTTP/2 all watches share one
 * socket, and one half-open socket would blind them all.
 *
 * The pools belong to what they prove themselves and their server with: CA, client certificate and key. Where these come
 * from files or from an exec plugin, they are looked at again as time goes by (`FileSource`); once they differ, new
 * requests get new pools, and the old ones live until what runs on them is over: a rotation fails no request. A
 * certificate that does not go with its key, and a CA that is not there as a whole (a rotation half done), is not used.
 * Everything closes with the scope.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import { Transport } from "@effect-operator/core/KubeError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as NodeCrypto from "node:crypto"
import * as Tls from "node:tls"
import type * as KubeConfig from "./KubeConfig.ts"
import * as Http from "./live/Connections.ts"
import * as FileSource from "./live/FileSource.ts"
import type * as Processes from "./live/Processes.ts"

/** Figures that hold unless `Options` say otherwise. Zero, or more than a timer can wait (24 days), switches a time-out off. */
export const defaults = {
  /** TCP and TLS together. */
  connectTimeout: "10 seconds",
  /** From the request sent to the first byte of the answer; twice as long for a watch. */
  headersTimeout: "60 seconds",
  /** Between two pieces of an answer. Watches have none: their silence is the reflector's to judge. */
  bodyTimeout: "1 minute",
  /** How long an idle connection is kept; below the 90 s after which an API server closes it. */
  idleTimeout: "30 seconds",
  /** Silence after which TCP asks whether the other side is still there. */
  keepAliveDelay: "15 seconds",
  /** After which new certificates that cannot be used are looked at again. */
  repairDelay: "1 second",
  /** Connections for requests other than watches. */
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
  /** For processes, which have a connection each, and none is kept. */
  readonly processes: Processes.Settings
}

export interface Connections {
  /** The pools for the certificates of now: over before it begins where these are in no file. */
  readonly pools: () => Effect.Effect<Pools, Transport>
  /** Makes the next `pools` look at the files: the certificates in use may be the reason of a failure. */
  readonly doubt: () => void
}

type Cluster =
  & Pick<
    KubeConfig.ClusterConfig,
    "server" | "ca" | "cert" | "key" | "files" | "servername" | "skipTlsVerify" | "proxy"
  >
  & { readonly credentials?: KubeConfig.ClusterConfig["credentials"] }

/** What TLS is done with. */
interface Material {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

const same = (a: Material, b: Material): boolean => a.ca === b.ca && a.cert === b.cert && a.key === b.key

/** Opens no connection yet: they come with the first request. */
export const make = (cluster: Cluster, options: Options = {}): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.gen(function*() {
    const living = new Set<Pools>()
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => Promise.all([...living].flatMap(({ unary, watch }) => [unary.destroy(), watch.destroy()])))
    )
    const { doubt, material } = source(cluster)
    const connect = yield* connector(cluster)
    let current: { readonly material: Material; readonly pools: Pools } | undefined
    let refused: { readonly material: Material; readonly until: number } | undefined

    const open = (material: Material): Pools => {
      const pools = openPools(cluster, material, options, connect)
      living.add(pools)
      current = { material, pools }
      return pools
    }

    /** Closed pools finish what runs on them. */
    const retire = (pools: Pools) =>
      Effect.promise(() => Promise.allSettled([pools.unary.close(), pools.watch.close()])).pipe(
        Effect.andThen(Effect.sync(() => living.delete(pools)))
      )

    /** A certificate is there before its key, or the other way round: look again soon. */
    const notYet = (material: Material, fault: string) =>
      Effect.flatMap(Clock.Clock, (clock) => {
        const now = monotonicMillis(clock)
        const known = refused !== undefined && same(refused.material, material)
        if (known && now < refused!.until) return Effect.void
        refused = { material, until: now + Duration.toMillis(defaults.repairDelay) }
        doubt()
        return known
          ? Effect.void
          : Effect.logWarning(`the new certificates cannot be used (${fault}); the last ones stay in use`)
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

/** Where certificates come from: what is inline, then files, then what the credentials say. */
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

/** Whether a text ends before the certificates in it do, or has none that can be read: TLS says nothing, and trusts nobody. */
const isBroken = (pem: string): boolean => {
  const [first, ...more] = pem.split("-----BEGIN ").slice(1)
  if (![first, ...more].every((block) => block?.includes("-----END "))) return true
  try {
    return new NodeCrypto.X509Certificate(`-----BEGIN ${first}`).raw.length === 0
  } catch {
    return true
  }
}

/** Why TLS would not work with this, if so. Tells no more than the code. */
const faultOf = ({ ca, cert, key }: Material): string | undefined => {
  if (ca !== undefined && isBroken(ca)) return "the CA file holds no whole certificate"
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

/** Makes a pool; of any number of connections at most where that is null. */
type Connect = (connections: number | null, options: Http.Options) => Http.Connections

/** Straight to the server, where the requests themselves are bounded (see `RequestQueue`), or through its proxy. */
const connector = ({ proxy }: Cluster): Effect.Effect<Connect> =>
  proxy === undefined
    ? Effect.succeed((_, options) => Http.make(options))
    : Effect.map(
      Effect.promise(() => import("./live/Proxied.ts")),
      (proxied): Connect => (connections, options) => proxied.make(Redacted.value(proxy), connections, options)
    )

const openPools = (
  cluster: Cluster,
  { ca, cert, key }: Material,
  options: Options,
  connect: Connect
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
    unary: connect(options.connections ?? defaults.connections, settings),
    // A proxy may hold back the head until something of the body comes: a bookmark, once a minute.
    watch: connect(null, { ...settings, headersTimeout: millis("headersTimeout", 2), bodyTimeout: 0 }),
    processes: { ...settings, proxy: cluster.proxy === undefined ? undefined : Redacted.value(cluster.proxy) }
  }
}
