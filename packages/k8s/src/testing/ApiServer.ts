/**
 * `ApiServer`: a Kubernetes API server in memory.
 *
 * It answers what a kube-apiserver answers, word for word, and stores objects under the same rules: resource versions,
 * generations, finalizers, graceful deletion, selectors, watches with bookmarks and 410, every patch format, and
 * CustomResourceDefinitions with pruning, defaulting and validation. It uses no socket, thread or promise: `handle` is
 * an Effect, and all time and randomness come from the `Clock` and `Random` of the calling fiber, so under a
 * `TestClock` a whole operator runs deterministically.
 *
 * Like a kube-apiserver it runs no controllers: it does not collect garbage, drain namespaces or run Pods (see
 * `GarbageCollector`, `Kubelet` and the others). It does maintain its CustomResourceDefinitions.
 *
 * The namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease` exist from the start, and so do the
 * roles, bindings and flow schemas of a new cluster.
 *
 * The user is an argument of `handle`; without one, a request comes from an administrator who may do everything. To
 * check that a program has the permissions it needs, run its client as its service account (`TestClient.layerAs`).
 * `audit` then reports each request, the binding that allowed it, or that it was refused, and `Audit.needed` computes
 * the minimal rules from that. Requests that arrive over a network (`receive`) carry credentials, or are anonymous.
 *
 * The implementation is in `server/`. Requests go through `Dispatch` to `verbs/` and `subresources/`, which look up the
 * strategy of a kind in the `Registry`. `go/` reads objects as the Go types of a real server would, `defaults/` and
 * `rules/` complete and validate them, and `tables/` prints them. Kinds that clients define are in `definitions/`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Representation from "../api/Representation.ts"
import { type ResourceRoute, route } from "../api/Routing.ts"
import type { StatusError } from "../api/StatusError.ts"
import { type Change, type Image, Storage } from "../api/Storage.ts"
import { administrator, anonymous, type UserInfo } from "../api/UserInfo.ts"
import { defaults as watchDefaults, WatchHub } from "../api/WatchHub.ts"
import type * as Admission from "./Admission.ts"
import * as Backends from "./Backends.ts"
import * as Plugins from "./admission/Plugins.ts"
import { Aggregator, type Backend } from "./aggregation/Aggregator.ts"
import * as FrontProxy from "./aggregation/FrontProxy.ts"
import * as Aggregation from "./auth/Aggregation.ts"
import * as Audit from "./auth/Audit.ts"
import * as Bootstrap from "./auth/Bootstrap.ts"
import * as FlowSchemaConditions from "./auth/FlowSchemaConditions.ts"
import * as Gate from "./auth/Gate.ts"
import * as OpenIdMetadata from "./auth/OpenIdMetadata.ts"
import { Rbac } from "./auth/Rbac.ts"
import { Tokens } from "./auth/Tokens.ts"
import * as Builtins from "./server/Builtins.ts"
import * as Compaction from "./server/Compaction.ts"
import * as Discovery from "./server/Discovery.ts"
import * as Dispatch from "./server/Dispatch.ts"
import * as Exchange from "./server/Exchange.ts"
import * as Expiry from "./server/Expiry.ts"
import { Feed } from "./server/Feed.ts"
import * as OwnService from "./server/OwnService.ts"
import { Registry } from "./server/Registry.ts"
import * as Respond from "./server/Respond.ts"
import type { RuntimeConfig } from "./server/RuntimeConfig.ts"
import { ServicePool } from "./server/ServicePool.ts"
import { Definitions } from "./server/definitions/Definitions.ts"

export type { ApiResponse } from "../api/Representation.ts"
export type { Change, Image } from "../api/Storage.ts"
export type { UserInfo } from "../api/UserInfo.ts"

export const defaults = {
  /** About how many changes are kept before the oldest are compacted. */
  historyLimit: 100_000,
  /** How many changes may be pending in a watch before the server ends it. */
  watchBacklog: watchDefaults.backlog,
  /** How long an Event is kept after its last change. */
  eventTimeToLive: "1 hour",
  /** The user of requests that name none: an administrator. */
  user: administrator,
  /** How much audit events contain. */
  auditLevel: "RequestResponse",
  namespaces: ["default", "kube-node-lease", "kube-public", "kube-system"] as ReadonlyArray<string>
} as const

export interface Options {
  /** Which versions of built-in groups are served: stable ones by default, all with `{ "api/all": true }`. */
  readonly runtimeConfig?: RuntimeConfig | undefined
  readonly historyLimit?: number
  /**
   * At each interval, compacts what was already history at the previous one, so that changes are kept for one to two
   * intervals; never by default. A real cluster uses 5 minutes: a client that resumes an older watch or list gets 410,
   * `Expired`.
   */
  readonly compactionInterval?: Duration.Input
  readonly watchBacklog?: number
  readonly eventTimeToLive?: Duration.Input
  /**
   * Admission plugins, or functions that make them for a server. They run after the built-in ones, but before policies,
   * webhooks and quotas.
   */
  readonly admission?: ReadonlyArray<Admission.Plugin | Plugins.Factory>
  /**
   * What answers webhooks and aggregated APIs; by default the reference `Backends` in context when the server is built.
   */
  readonly backends?: Backends.Service
  /**
   * The initial content of the store, as returned by `image` of another server, instead of that of a new cluster. Such
   * a server starts instantly.
   */
  readonly image?: Image | undefined
  /** Called at every change, within the write that makes it. Must not throw. */
  readonly onChange?: ((change: Change) => void) | undefined
  /** The randomness of a request, for uids and generated names; by default the `Random` in context. */
  readonly chance?: ((request: Request) => () => number) | undefined
  /** How much audit events contain: `Metadata` leaves out bodies. */
  readonly auditLevel?: Audit.Level
}

/** What arrives with a request over a network, besides the request itself. */
export interface Arrival {
  /** The user of the client certificate; `refused` if its issuer is unknown. */
  readonly certificate?: UserInfo | "refused" | undefined
  readonly sourceIPs?: ReadonlyArray<string>
  /** Reads the body, an object of the given kind, once the request is authorized. */
  readonly body?: ((kind: string) => Effect.Effect<unknown, StatusError>) | undefined
  /** The raw body, for backends that read it themselves. */
  readonly bytes?: Effect.Effect<Uint8Array> | undefined
  /** Answers requests for paths outside the API of the server; undefined leaves them to the server. */
  readonly document?: (request: Request) => Effect.Effect<Representation.ApiResponse | undefined>
}

interface Service {
  /**
   * Answers one request and never fails. A watch starts only when its `events` are run. If the request brings the input
   * of a process, the response is its result. The user is the one given, or else the one of the bearer token in the
   * headers, or else an administrator.
   */
  readonly handle: (request: Request, user?: UserInfo) => Effect.Effect<Representation.ApiResponse>
  /** Like `handle`, for a request that arrived over a network: without credentials it is anonymous. */
  readonly receive: (request: Request, arrival: Arrival) => Effect.Effect<Representation.ApiResponse>
  /** Accepts a bearer token for a user until the scope closes. */
  readonly trust: (token: string, user: UserInfo) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Answers a request with 429, as an overloaded server does, if the function returns the seconds after which to retry.
   */
  readonly throttle: (throttle: Gate.Throttle) => Effect.Effect<void, never, Scope.Scope>
  /** The newest resourceVersion. */
  readonly revision: Effect.Effect<number>
  /** Discards all history up to a revision, by default the newest: older watches and continue tokens get 410. */
  readonly compact: (revision?: number) => Effect.Effect<void>
  /** The number of open watches. */
  readonly watchers: Effect.Effect<number>
  /**
   * Ends every watch of a collection (`pods`, `deployments.apps`), or all watches, as a restart of the server would.
   */
  readonly endWatches: (collection?: string) => Effect.Effect<void>
  /** The changes after a revision that is not compacted, oldest first; by default all that are kept. */
  readonly log: (after?: number) => Effect.Effect<ReadonlyArray<Change>>
  /** Every change committed from the moment the stream is run. */
  readonly changes: Stream.Stream<Change>
  /**
   * Uses `backends` for calls of webhooks and aggregated APIs until the scope closes, unless the server was built with
   * others. Of several, the latest is used.
   */
  readonly reach: (backends: Backends.Service) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Lets handlers in this process answer calls to the targets for which the function returns one, until the scope
   * closes. They have precedence over all backends.
   */
  readonly host: (find: Backends.Find) => Effect.Effect<void, never, Scope.Scope>
  /** The aggregated API servers. */
  readonly remotes: Effect.Effect<ReadonlyArray<Backend>>
  /**
   * Sets the client certificate with which the server calls its backends, and publishes in a ConfigMap how to verify
   * it.
   */
  readonly introduce: (frontProxy: FrontProxy.FrontProxy) => Effect.Effect<void>
  /** Makes the server, which listens at that port, known to Pods through the Service `kubernetes` in `default`. */
  readonly publish: (port: number) => Effect.Effect<void>
  /** Every stored object, by collection and key. */
  readonly snapshot: Effect.Effect<ReadonlyArray<KubeObject>>
  /** The current content of the store, as the initial content of other servers (`Options.image`). */
  readonly image: Effect.Effect<Image>
  /** Every request answered from the moment the stream is run, including refused ones. */
  readonly audit: Stream.Stream<Audit.Event>
  /** How many requests have been answered, by `verb resource`: `update deployments.apps/status`. */
  readonly requestCounts: Effect.Effect<Readonly<Record<string, number>>>
}

const make = Effect.fnUntraced(function*(options: Options) {
  const storage = new Storage(options.historyLimit ?? defaults.historyLimit)
  const hub = new WatchHub(storage, options.watchBacklog ?? defaults.watchBacklog)
  const registry = new Registry(Builtins.served(options.runtimeConfig ?? {}), Builtins.resources())
  const given = options.backends ?? (yield* Backends.Backends)
  const reached = new Set<Backends.Service>()
  const hosts = new Set<Backends.Find>()
  const hosted = Backends.finding((target) => {
    for (const find of hosts) {
      const handler = find(target)
      if (handler !== undefined) return handler
    }
    return undefined
  }, () => given === Backends.none ? [...reached].at(-1) ?? given : given)
  const random = yield* Random.Random
  const tokens = new Tokens(storage, () => random.nextDoubleUnsafe())
  const rbac = new Rbac(storage)
  const gate = Gate.make({ storage, rbac, tokens })
  const services = new ServicePool(storage)
  const parts = {
    storage,
    hub,
    services,
    registry,
    backends: Backends.calls(storage, () => hosted),
    authorizer: rbac,
    tokens
  }
  const core: Exchange.Core = { ...parts, admission: Plugins.make(parts, options.admission ?? []) }
  const definitions = new Definitions(core)
  const aggregator = new Aggregator(parts)
  const tellFlowSchemas = FlowSchemaConditions.make(storage)
  const changes = new Feed<Change>()
  const audit = new Feed<Audit.Event>()
  const auditId = Audit.ids(() => random.nextDoubleUnsafe())
  const counts = new Map<string, number>()
  storage.listen((change) => changes.publish(change))
  yield* Expiry.run(storage, options.eventTimeToLive ?? defaults.eventTimeToLive)

  const count = ({ resource, route: { plural, subresource, verb } }: Exchange.Exchange): void => {
    const base = resource.group === "" ? plural : `${plural}.${resource.group}`
    const key = subresource === "" ? `${verb} ${base}` : `${verb} ${base}/${subresource}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }

  const serve = Effect.fnUntraced(function*(
    request: Request,
    user: UserInfo,
    path: ResourceRoute,
    notes: Audit.Notes
  ) {
    const found = Dispatch.find(registry, path)
    if (found._tag === "Missing") return found.response
    const random = options.chance?.(request)
    const { resource } = found
    const exchange = yield* Exchange.make({ core, request, route: path, resource, user, random, ...notes })
    const response = yield* Dispatch.verb(exchange).pipe(
      Effect.map((answer) => Respond.respond(exchange, answer)),
      Effect.catch((error: StatusError) => Effect.succeed(Respond.refuse(exchange, error)))
    )
    definitions.settle(exchange.now)
    aggregator.settle(exchange.now, exchange.random)
    tellFlowSchemas(exchange.now)
    count(exchange)
    return response
  })

  const document = Effect.fnUntraced(function*(request: Request, segments: ReadonlyArray<string>, arrival: Arrival) {
    const own = arrival.document === undefined ? undefined : yield* arrival.document(request)
    return own ?? OpenIdMetadata.answer(tokens, request, segments) ??
      Discovery.answer({ registry, aggregator }, request, segments)
  })

  /** Authenticates, authorizes and answers a request, and reports it to the audit log. */
  const answer = (request: Request, arrival: Arrival, whoAsks: (now: number) => UserInfo | undefined) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const path = route(request)
      const passage = gate.pass(request, path, whoAsks(now))
      const id = request.headers["audit-id"] ?? auditId()
      const notes = Audit.notes(arrival.body)
      const remote = aggregator.answering(path)
      const responded = passage.refused !== undefined || passage.actor === undefined
        ? Effect.succeed(passage.refused!)
        : remote !== undefined
        ? aggregator.proxy({
          apiService: remote,
          request: passage.request,
          user: passage.actor,
          auditId: id,
          sourceIP: arrival.sourceIPs?.[0],
          bytes: arrival.bytes
        })
        : path._tag === "Path"
        ? document(passage.request, path.segments, arrival)
        : serve(passage.request, passage.actor, path, notes)
      const finished = Effect.map(responded, (response) => ({
        ...response,
        headers: { ...(remote === undefined ? passage.headers : Gate.always), ...response.headers, "audit-id": id }
      }))
      return audit.listened
        ? Audit.told(audit, finished, {
          ...passage,
          level: options.auditLevel ?? defaults.auditLevel,
          id,
          notes,
          sourceIPs: arrival.sourceIPs,
          received: now
        })
        : finished
    })

  const nothing: Arrival = {}
  const handle: Service["handle"] = (request, user) =>
    Effect.flatMap(
      answer(request, nothing, (now) => user ?? gate.identify(request, defaults.user, now)),
      (response) => Representation.finished(request, response)
    )

  const now = yield* Clock.currentTimeMillis
  if (options.image === undefined) {
    for (const name of defaults.namespaces) {
      yield* handle({
        method: "POST",
        path: "/api/v1/namespaces",
        query: [],
        headers: { "content-type": "application/json", "user-agent": Bootstrap.manager },
        body: { apiVersion: "v1", kind: "Namespace", metadata: { name } }
      })
    }
    Bootstrap.install(storage, registry.builtinGroups, now, () => random.nextDoubleUnsafe())
  } else {
    storage.begin(options.image)
    definitions.begin(now)
  }
  Aggregation.run(storage)
  yield* aggregator.run
  if (options.image !== undefined) aggregator.begin()
  counts.clear()
  // As with the watch cache of a real server, there is no history of objects that existed when it started.
  storage.compact(storage.revision)
  if (options.compactionInterval !== undefined) yield* Compaction.run(storage, options.compactionInterval)
  if (options.onChange !== undefined) storage.listen(options.onChange)

  return ApiServer.of({
    handle,
    receive: (request, arrival) => {
      const { certificate } = arrival
      return answer(
        request,
        arrival,
        certificate === undefined || certificate === "refused"
          ? (now) => gate.identify(request, certificate === undefined ? anonymous : undefined, now)
          : () => certificate
      )
    },
    trust: (token, user) =>
      Effect.asVoid(
        Effect.acquireRelease(Effect.sync(() => tokens.trust(token, user)), (end) => Effect.sync(end))
      ),
    throttle: (throttle) =>
      Effect.asVoid(Effect.acquireRelease(Effect.sync(() => gate.throttle(throttle)), (end) => Effect.sync(end))),
    revision: Effect.sync(() => storage.revision),
    compact: (revision) => Effect.sync(() => storage.compact(revision ?? storage.revision)),
    watchers: Effect.sync(() => hub.open),
    endWatches: (collection) => Effect.sync(() => hub.endAll(collection)),
    log: (after) => Effect.sync(() => storage.changesAfter(after ?? storage.compacted)),
    changes: changes.stream,
    reach: (backends) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => reached.add(backends)),
          () => Effect.sync(() => reached.delete(backends))
        )
      ),
    host: (find) =>
      Effect.asVoid(
        Effect.acquireRelease(Effect.sync(() => hosts.add(find)), () => Effect.sync(() => hosts.delete(find)))
      ),
    remotes: Effect.sync(() => aggregator.backends()),
    introduce: (frontProxy) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        aggregator.showing(frontProxy.certificate)
        FrontProxy.install(storage, frontProxy, now, () => random.nextDoubleUnsafe())
      }),
    publish: (port) =>
      Effect.map(
        Clock.currentTimeMillis,
        (now) => OwnService.install(storage, port, now, () => random.nextDoubleUnsafe())
      ),
    snapshot: Effect.sync(() => storage.snapshot()),
    image: Effect.sync(() => storage.image()),
    audit: audit.stream,
    requestCounts: Effect.sync(() => Object.fromEntries(counts))
  })
})

export class ApiServer extends Context.Service<ApiServer, Service>()("@effect-operator/k8s/testing/ApiServer") {
  /** A new, empty server. */
  static readonly layer: Layer.Layer<ApiServer> = Layer.effect(ApiServer, Effect.suspend(() => make({})))

  static readonly layerOptions = (options: Options): Layer.Layer<ApiServer> => Layer.effect(ApiServer, make(options))
}
