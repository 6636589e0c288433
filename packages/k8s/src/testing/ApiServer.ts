/**
 * `ApiServer`: a Kubernetes API server in memory.
 *
 * It answers what a kube-apiserver answers, word for word, and stores under the same rules: resource versions,
 * generations, finalizers, graceful deletion, selectors, watches with bookmarks and 410, every patch format,
 * CustomResourceDefinitions with pruning, defaulting and validation. There is no socket, no thread and no promise
 * behind it. `handle` is an Effect, all time comes from the `Clock` and all randomness from the `Random` of the calling
 * fiber, so under a `TestClock` a whole operator runs deterministically.
 *
 * Like a kube-apiserver it has no controllers: nothing collects garbage, drains namespaces or runs Pods (see
 * `GarbageCollector`, `Kubelet` and the like). But it maintains its CustomResourceDefinitions itself.
 *
 * Namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease` exist from the start, and so do the roles,
 * bindings and flow schemas of a new cluster.
 *
 * The user is an argument of `handle`. Without one, the request comes from an administrator, who may do everything. To
 * see whether a program gets along with its own permissions, run its client as its service account
 * (`TestClient.layerAs`), and read in `audit` what was requested, which binding allowed it, and what was refused.
 * `Audit.needed` derives the minimal rules from that. Requests over a network (`receive`) bring credentials, or are
 * anonymous.
 *
 * Its parts are in `server/`. Requests go through `Dispatch` to `verbs/` and `subresources/`, which ask the `Registry`
 * for the strategy of a kind. `go/` reads objects as the types of a real server would, `rules/` and `defaults/` judge
 * and complete them, and `tables/` shows them. Kinds that clients define are in `definitions/`.
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
  /** About how many changes are remembered before the oldest are compacted. */
  historyLimit: 100_000,
  /** Changes that may wait in a watch before the server ends it. */
  watchBacklog: watchDefaults.backlog,
  /** How long an Event is kept after its last change. */
  eventTimeToLive: "1 hour",
  /** Who asks, where a request does not say: an administrator. */
  user: administrator,
  /** How much audit events tell. */
  auditLevel: "RequestResponse",
  namespaces: ["default", "kube-node-lease", "kube-public", "kube-system"] as ReadonlyArray<string>
} as const

export interface Options {
  /** Which versions of built-in groups are served: stable ones by default, `{ "api/all": true }` for all. */
  readonly runtimeConfig?: RuntimeConfig | undefined
  readonly historyLimit?: number
  /**
   * How often what is older than that is compacted, whatever there is of it; never by default. Every 5 minutes in a
   * cluster: whoever resumes a watch or a list later than that is told 410, `Expired`.
   */
  readonly compactionInterval?: Duration.Input
  readonly watchBacklog?: number
  readonly eventTimeToLive?: Duration.Input
  /** Plugins between a request and the store, after the built-in namespace lifecycle; or what makes them for a server. */
  readonly admission?: ReadonlyArray<Admission.Plugin | Plugins.Factory>
  /** What answers webhooks and aggregated APIs; by default the reference `Backends` of whoever builds the server. */
  readonly backends?: Backends.Service
  /** What the store begins with, in place of what a new server has: the `image` of another. Starts in no time. */
  readonly image?: Image | undefined
  /** Told of every change within the write that makes it; must not throw. */
  readonly onChange?: ((change: Change) => void) | undefined
  /** What a request makes by chance: uids, completed names. By default by the `Random` of whoever asks. */
  readonly chance?: ((request: Request) => () => number) | undefined
  /** `Metadata` leaves bodies out of audit events. */
  readonly auditLevel?: Audit.Level
}

/** What comes with a request over a network, besides the request. */
export interface Arrival {
  /** Whom a client certificate stands for; `refused` where nobody knows who has signed it. */
  readonly certificate?: UserInfo | "refused" | undefined
  readonly sourceIPs?: ReadonlyArray<string>
  /** Reads the body, of an object of that kind, once the request has been let in. */
  readonly body?: ((kind: string) => Effect.Effect<unknown, StatusError>) | undefined
  /** The body as it came, for backends that read it themselves. */
  readonly bytes?: Effect.Effect<Uint8Array> | undefined
  /** Answers requests for paths that the server itself knows nothing of; undefined leaves them to the server. */
  readonly document?: (request: Request) => Effect.Effect<Representation.ApiResponse | undefined>
}

interface Service {
  /**
   * Answers one request, whatever the answer. A watch has started only once its `events` are run; of a process that is
   * given something it answers what came of it. Who asks is the user
   * given, or else whom the bearer token in the headers stands for, or else an administrator.
   */
  readonly handle: (request: Request, user?: UserInfo) => Effect.Effect<Representation.ApiResponse>
  /** As `handle`, of a request that came over a network: without credentials it is anonymous. */
  readonly receive: (request: Request, arrival: Arrival) => Effect.Effect<Representation.ApiResponse>
  /** Takes a bearer token for a user, until the scope closes. */
  readonly trust: (token: string, user: UserInfo) => Effect.Effect<void, never, Scope.Scope>
  /** Answers requests 429, as an overloaded server does, where the function says after how many seconds to come again. */
  readonly throttle: (throttle: Gate.Throttle) => Effect.Effect<void, never, Scope.Scope>
  /** The newest resourceVersion. */
  readonly revision: Effect.Effect<number>
  /** Forgets all history up to a revision, by default the newest: older watches and continue tokens get 410. */
  readonly compact: (revision?: number) => Effect.Effect<void>
  /** How many watches are open. */
  readonly watchers: Effect.Effect<number>
  /** Ends every watch of a collection (`pods`, `deployments.apps`) as a restarting server would; all without one. */
  readonly endWatches: (collection?: string) => Effect.Effect<void>
  /** What was committed after a revision that is not compacted, oldest first; everything by default. */
  readonly log: (after?: number) => Effect.Effect<ReadonlyArray<Change>>
  /** Every change committed from the moment the stream is run. */
  readonly changes: Stream.Stream<Change>
  /** Has calls of webhooks and the like answered by `backends` from now on, unless the server was built with others. */
  readonly reach: (backends: Backends.Service) => Effect.Effect<void>
  /** Has a handler of this process answer calls of the URLs for which the function knows one, until the scope closes. */
  readonly host: (find: (url: string) => Backends.Handler | undefined) => Effect.Effect<void, never, Scope.Scope>
  /** The API servers behind this one. */
  readonly remotes: Effect.Effect<ReadonlyArray<Backend>>
  /** Has backends told by a certificate who the server is, and in a ConfigMap how to tell. */
  readonly introduce: (frontProxy: FrontProxy.FrontProxy) => Effect.Effect<void>
  /** Has Pods find the server, which listens at that port: the Service `kubernetes` in `default`. */
  readonly publish: (port: number) => Effect.Effect<void>
  /** Every stored object, by collection and key. */
  readonly snapshot: Effect.Effect<ReadonlyArray<KubeObject>>
  /** What is stored now, for other servers to begin with (`Options.image`). */
  readonly image: Effect.Effect<Image>
  /** Every request answered from the moment the stream is run, refused ones too. */
  readonly audit: Stream.Stream<Audit.Event>
  /** How many requests were answered so far, by `verb resource`: `update deployments.apps/status`. */
  readonly requestCounts: Effect.Effect<Readonly<Record<string, number>>>
}

const make = Effect.fnUntraced(function*(options: Options) {
  const storage = new Storage(options.historyLimit ?? defaults.historyLimit)
  const hub = new WatchHub(storage, options.watchBacklog ?? defaults.watchBacklog)
  const registry = new Registry(Builtins.served(options.runtimeConfig ?? {}), Builtins.resources())
  let backends = options.backends ?? (yield* Backends.Backends)
  const hosts = new Set<(url: string) => Backends.Handler | undefined>()
  const hosted = Backends.finding((target) => {
    if ("service" in target) return undefined
    for (const find of hosts) {
      const handler = find(target.url)
      if (handler !== undefined) return handler
    }
    return undefined
  }, () => backends)
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

  /** From the gate to the answer, which is told to whoever audits. */
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
  // As behind a real server's cache: what was there at its start has no history to watch.
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
    reach: (others) =>
      Effect.sync(() => {
        if (backends === Backends.none) backends = others
      }),
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
  /** A fresh, empty server. */
  static readonly layer: Layer.Layer<ApiServer> = Layer.effect(ApiServer, Effect.suspend(() => make({})))

  static readonly layerOptions = (options: Options): Layer.Layer<ApiServer> => Layer.effect(ApiServer, make(options))
}
