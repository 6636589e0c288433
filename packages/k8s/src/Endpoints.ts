/**
 * `Endpoints`: what an operator serves about itself over HTTP, on two addresses as in controller-runtime.
 *
 * | address | paths |
 * |---|---|
 * | metrics, `:8080` | `/metrics` (Prometheus), `/debug/operator` (JSON) |
 * | probes, `:8081` | `/readyz`, `/livez`, `/healthz`, each with `?verbose`, `?exclude=` and single checks; `/readyz/serving` |
 *
 * They open with the first manager and close after everything else: while a stopping operator drains, `/readyz` says
 * so. `runMain` serves them; any other program provides `layer` to its managers. Tests have none.
 *
 * With a certificate the metrics address speaks HTTPS. The certificate's files are followed (`CertificateFiles`), and
 * handshakes show the current one, so a renewal needs no restart. If it cannot be used at the start, that is a failure;
 * later, the previous one stays.
 *
 * An address is `host:port`, `:port` for all interfaces, or `0` for none. If a default port is taken, the operator runs
 * without that endpoint and says so. If an address that somebody chose is not available, that is a failure.
 */
import * as Manager from "@effect-operator/core/Manager"
import * as Settings from "@effect-operator/core/Settings"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Http from "node:http"
import type * as Https from "node:https"
import * as CertificateFiles from "./CertificateFiles.ts"
import { type Answer, type Asked, notFound, text } from "./endpoints/Answer.ts"
import * as Authentication from "./endpoints/Authentication.ts"
import * as Debug from "./endpoints/Debug.ts"
import * as Metrics from "./endpoints/Metrics.ts"
import * as Probes from "./endpoints/Probes.ts"
import * as HangUp from "./HangUp.ts"

export const defaults = {
  metrics: ":8080",
  probes: ":8081",
  /** The values of controller-runtime's servers, in milliseconds and bytes. */
  idleTimeout: 90_000,
  headersTimeout: 32_000,
  maxHeaderSize: 1_048_576,
  /** How long requests in flight may take on shutdown, in milliseconds. */
  closeGrace: 1_000
} as const

export interface Options {
  /** `host:port`, `:port`, or `0` for none. */
  readonly metrics?: string | undefined
  readonly probes?: string | undefined
  /** Whether `/debug/operator` is served; true by default. */
  readonly debug?: boolean | undefined
  /** Whether reading metrics needs the API server's permission (TokenReview, SubjectAccessReview); false by default. */
  readonly authentication?: boolean | undefined
  /** Certificate and key files: with them, metrics are served over HTTPS. They are read again when they change. */
  readonly tls?: CertificateFiles.Options | undefined
}

/** The variables that `config` reads, in addition to those of `Settings.variables`. */
export const variables = [
  { name: "EFFECT_OPERATOR_METRICS_ADDRESS", sets: "the address of metrics: host:port, :port, or 0 to serve none" },
  { name: "EFFECT_OPERATOR_PROBES_ADDRESS", sets: "the address of probes: host:port, :port, or 0 to serve none" },
  { name: "EFFECT_OPERATOR_DEBUG", sets: "whether /debug/operator is served on the metrics address" },
  { name: "EFFECT_OPERATOR_METRICS_AUTHENTICATION", sets: "whether the metrics address requires a token" },
  { name: "EFFECT_OPERATOR_METRICS_CERT", sets: "the PEM file with the certificate of the metrics address" },
  { name: "EFFECT_OPERATOR_METRICS_KEY", sets: "the PEM file with the key of that certificate" }
] as const satisfies ReadonlyArray<Settings.Variable>

type Name = (typeof variables)[number]["name"]

const maybe = <A>(config: Config.Config<A>): Config.Config<A | undefined> =>
  Config.map(Config.option(config), Option.getOrUndefined)

const text_ = (name: Name) => maybe(Config.NonEmptyString(name))
const flag = (name: Name) => maybe(Config.Boolean(name))

const address = (name: Name) =>
  maybe(Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) =>
        parseAddress(text) !== undefined || "must be host:port, :port, or 0 to serve none"
      )
    ),
    name
  ))

type Pair = { readonly cert?: string | undefined; readonly key?: string | undefined }

/** Both files or neither. With only one, metrics and tokens would silently travel in plain text. */
const pair = ({ cert, key }: Pair): Effect.Effect<Options["tls"], Config.ConfigError> => {
  if (cert !== undefined && key !== undefined) return Effect.succeed({ cert, key })
  if (cert === undefined && key === undefined) return Effect.undefined
  const names: readonly [Name, Name] = ["EFFECT_OPERATOR_METRICS_CERT", "EFFECT_OPERATOR_METRICS_KEY"]
  const [set, missing] = cert === undefined ? [names[1], names[0]] : names
  const message = `${set}: ${JSON.stringify(cert ?? key)}: without ${missing} metrics would be served in plain text: ` +
    "set both, or neither"
  return Effect.fail(new Config.ConfigError(new Schema.SchemaError(new SchemaIssue.InvalidValue({ message }))))
}

/** The options from a `ConfigProvider`, usually the environment. */
export const config: Config.Config<Options> = Config.mapEffect(
  Config.all({
    metrics: address("EFFECT_OPERATOR_METRICS_ADDRESS"),
    probes: address("EFFECT_OPERATOR_PROBES_ADDRESS"),
    debug: flag("EFFECT_OPERATOR_DEBUG"),
    authentication: flag("EFFECT_OPERATOR_METRICS_AUTHENTICATION"),
    cert: text_("EFFECT_OPERATOR_METRICS_CERT"),
    key: text_("EFFECT_OPERATOR_METRICS_KEY")
  }),
  ({ cert, key, ...options }) => Effect.map(pair({ cert, key }), (tls) => ({ ...options, tls }))
)

/** The server cannot listen on an address. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly address: string
  readonly message: string
}> {}

export interface Address {
  /** All interfaces if absent. */
  readonly host: string | undefined
  readonly port: number
}

/** Parses `host:port`. `"off"` for `0`; undefined if the text is not an address. */
export const parseAddress = (address: string): Address | "off" | undefined => {
  if (address === "0" || address === "") return "off"
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) return undefined
  return { host: bracketed ?? (plain === "" ? undefined : plain), port }
}

export interface Endpoints {
  readonly board: Manager.Board
  readonly answer: (asked: Asked) => Effect.Effect<Answer>
  /**
   * The addresses that are served. Empty until the first manager registers, and without an entry for what is not
   * served.
   */
  readonly addresses: () => { readonly metrics?: Address; readonly probes?: Address }
}

/** Endpoints that are served from the first manager's registration until the scope closes. */
export const make = Effect.fnUntraced(function*(options: Options = {}) {
  const scope = yield* Effect.scope
  const process = yield* Metric.MetricRegistry
  const managers = new Set<Manager.Manager["Service"]>()
  const parts = new Set<Manager.CheckedPart>()
  const guards = new WeakMap<object, Authentication.Guard>()
  const found: { metrics?: Address; probes?: Address } = {}

  const guard: Authentication.Guard = (asked) => {
    if (options.authentication !== true) return Effect.undefined
    // The cluster of the first manager is the one that the operator, and whatever scrapes it, runs in.
    for (const { client } of managers) {
      let guard = guards.get(client)
      if (guard === undefined) guards.set(client, guard = Authentication.make(client))
      return guard(asked)
    }
    return Effect.succeed(text(503, "no manager is running\n"))
  }

  const probes = (asked: Asked) => Probes.answer([...managers], asked, [...parts])
  const open = (asked: Asked): Effect.Effect<Answer> | undefined =>
    asked.path === "/metrics"
      ? Metrics.answer(process, [...managers])
      : asked.path === "/debug/operator" && options.debug !== false
      ? Debug.answer([...managers], asked)
      : undefined
  const metrics = (asked: Asked): Effect.Effect<Answer> | undefined => {
    const answer = open(asked)
    return answer === undefined ? undefined : Effect.gen(function*() {
      return (yield* guard(asked)) ?? (yield* answer)
    })
  }
  const answering =
    (...paths: ReadonlyArray<(asked: Asked) => Effect.Effect<Answer> | undefined>) =>
    (asked: Asked): Effect.Effect<Answer> =>
      Effect.suspend(() => {
        if (asked.method !== "GET" && asked.method !== "HEAD") return Effect.succeed(text(405, "Method Not Allowed\n"))
        for (const path of paths) {
          const answer = path(asked)
          if (answer !== undefined) return answer
        }
        return Effect.succeed(notFound)
      })

  const listenOn = Effect.fnUntraced(function*(
    what: "metrics" | "probes",
    answer: (asked: Asked) => Effect.Effect<Answer>
  ) {
    const chosen = options[what]
    const address = parseAddress(chosen ?? defaults[what])
    if (address === "off") return
    if (address === undefined) {
      return yield* new ListenFailed({
        address: chosen!,
        message: `${what}: ${chosen}: must be host:port, :port, or 0 to serve none`
      })
    }
    const failure = (message: string) =>
      new ListenFailed({ address: chosen ?? defaults[what], message: `${what}: ${message}` })
    const server = yield* serverOf(what === "metrics" ? options.tls : undefined, failure)
    yield* listen(server, address, answer, failure).pipe(
      Effect.flatMap((port) => {
        found[what] = { ...address, port }
        return Effect.logInfo(`${what}: serving on ${address.host ?? ""}:${port}`)
      }),
      Effect.catch((failed) =>
        chosen === undefined
          ? Effect.logWarning(
            `${failed.message}: not served; set EFFECT_OPERATOR_${what.toUpperCase()}_ADDRESS to another address, or to 0`
          )
          : Effect.fail(failed)
      )
    )
  })

  const chosen = parseAddress(options.metrics ?? "0")
  const same = chosen !== undefined && chosen !== "off" && chosen.port !== 0 && options.metrics === options.probes
  const serve = same
    ? listenOn("metrics", answering(probes, metrics))
    : Effect.andThen(listenOn("probes", answering(probes)), listenOn("metrics", answering(metrics)))
  const begin = Effect.runForkWith(yield* Effect.context<never>())
  let serving: Fiber.Fiber<void> | undefined
  // One fiber listens, whichever manager comes first, and even if that manager stops waiting for it: an address cannot
  // be listened on twice. If an address is not available, the program that asked for it fails.
  const served = Effect.suspend(() =>
    Fiber.join(serving ??= Fiber.runIn(begin(Effect.orDie(Scope.provide(serve, scope))), scope))
  )

  const board: Manager.Board = {
    register: (manager) =>
      Effect.andThen(
        Effect.acquireRelease(
          Effect.sync(() => managers.add(manager)),
          () => Effect.sync(() => managers.delete(manager))
        ),
        served
      ),
    check: (part) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => parts.add(part)),
        () => Effect.sync(() => parts.delete(part))
      ))
  }
  return { board, answer: answering(probes, metrics), addresses: () => found } satisfies Endpoints
})

/** Serves the managers that it is provided to, until they have ended. */
export const layer = (options: Options = {}): Layer.Layer<never> =>
  Layer.effect(Manager.Board, Effect.map(make(options), ({ board }) => board))

/** As `layer`, with the options from configuration. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.unwrap(
  Effect.gen(function*() {
    return layer(yield* config)
  })
)

// --- sockets --------------------------------------------------------------------------------------------------------

/** `import` of node:http evaluates all of its exports, which loads a second HTTP client and WebSockets: 14 MB. */
const builtin = process.getBuiltinModule

const serverOf = (
  tls: Options["tls"],
  failure: (message: string) => ListenFailed
): Effect.Effect<Http.Server, ListenFailed, Scope.Scope> => {
  const { headersTimeout, idleTimeout: keepAliveTimeout, maxHeaderSize } = defaults
  const options = { headersTimeout, keepAliveTimeout, maxHeaderSize }
  return tls === undefined
    ? Effect.sync(() => builtin("node:http").createServer(options))
    : Effect.mapError(httpsServer(CertificateFiles.make(tls), options), failure)
}

/** An HTTPS server with the certificate in the files. */
const httpsServer = Effect.fnUntraced(function*(files: CertificateFiles.Files, options: Https.ServerOptions) {
  const shown = ({ certPem, keyPem }: CertificateFiles.Read) =>
    ({ minVersion: "TLSv1.2", cert: certPem, key: keyPem }) as const
  const using = (use: () => Https.Server) => Effect.try({ try: use, catch: String })
  const first = shown(yield* files.now)
  const server = yield* using(() => builtin("node:https").createServer({ ...options, ...first }))
  yield* files.changes.pipe(
    Stream.runForEach((read) =>
      using(() => {
        server.setSecureContext(shown(read))
        return server
      }).pipe(Effect.catch((message) => Effect.logError(`metrics: the certificate cannot be used: ${message}`)))
    ),
    Effect.forkScoped
  )
  return server
})

const listen = Effect.fnUntraced(function*(
  server: Http.Server,
  { host, port }: Address,
  answer: (asked: Asked) => Effect.Effect<Answer>,
  failure: (message: string) => ListenFailed
) {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const { hangUp } = HangUp.make(server)
  server.on("request", (request, response) => {
    run(respond(answer, request, response))
  })
  const listening = Effect.callback<void, ListenFailed>((resume) => {
    server.once(
      "error",
      (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(failure(error.code === "EADDRINUSE" ? `port ${port} is in use` : String(error))))
    )
    server.listen({ port, host }, () => resume(Effect.void))
  })
  // Not interruptible: a server cannot be closed before it listens.
  yield* Effect.acquireRelease(listening, () => hangUp(defaults.closeGrace))
  // An error of one connection must not end the server.
  server.on("error", () => {})
  const at = server.address()
  return typeof at === "object" && at !== null ? at.port : port
})

const respond = (
  answer: (asked: Asked) => Effect.Effect<Answer>,
  request: Http.IncomingMessage,
  response: Http.ServerResponse
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { body, contentType, status } = yield* answer(askedBy(request)).pipe(
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError(`${request.method} ${request.url} failed`, cause),
          text(500, "Internal Server Error\n")
        )
      )
    )
    response.writeHead(status, {
      "content-type": contentType,
      "content-length": Buffer.byteLength(body),
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache, private"
    })
    response.end(request.method === "HEAD" ? undefined : body)
  })

const askedBy = (request: Http.IncomingMessage): Asked => {
  const url = request.url ?? "/"
  const at = url.indexOf("?")
  return {
    method: request.method ?? "GET",
    path: at < 0 ? url : url.slice(0, at),
    query: new URLSearchParams(at < 0 ? "" : url.slice(at + 1)),
    headers: request.headers
  }
}
