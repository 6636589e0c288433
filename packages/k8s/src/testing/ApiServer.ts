/**
 * `ApiServer`: a Kubernetes API server in memory.
 *
 * It answers what a kube-apiserver answers, word for word, and keeps what it stores under the same rules: resource
 * versions, generations, finalizers, graceful deletion, selectors, watches with bookmarks and 410, every patch format,
 * CustomResourceDefinitions with pruning, defaulting and validation. There is no socket, no thread and no promise
 * behind it: `handle` is an Effect, all time is the `Clock`'s and all chance the `Random`'s of the fiber that calls it,
 * so that under a `TestClock` a whole operator runs deterministically.
 *
 * Like a kube-apiserver it has no controllers: nothing collects garbage, drains namespaces or runs Pods (see
 * `GarbageCollector`, `Kubelet` and the like), but it looks after its CustomResourceDefinitions itself.
 *
 * Namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease` are there from the start.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type * as Admission from "./Admission.ts"
import * as Builtins from "./server/Builtins.ts"
import { Definitions } from "./server/Definitions.ts"
import * as Discovery from "./server/Discovery.ts"
import * as Dispatch from "./server/Dispatch.ts"
import * as Exchange from "./server/Exchange.ts"
import * as Expiry from "./server/Expiry.ts"
import { Registry } from "./server/Registry.ts"
import * as Respond from "./server/Respond.ts"
import { route, type Verb } from "./server/Routing.ts"
import type { StatusError } from "./StatusError.ts"
import { type Change, Storage } from "./server/Storage.ts"
import type { UserInfo } from "./server/UserInfo.ts"
import { defaults as watchDefaults, WatchHub } from "./server/WatchHub.ts"

export type { ApiResponse } from "./server/Respond.ts"
export type { Change } from "./server/Storage.ts"
export type { UserInfo } from "./server/UserInfo.ts"

export const defaults = {
  /** About how many changes are remembered before the oldest are compacted. */
  historyLimit: 100_000,
  /** Changes that may wait in a watch before the server ends it. */
  watchBacklog: watchDefaults.backlog,
  /** How long an Event is kept after its last change. */
  eventTimeToLive: "1 hour",
  /** Who asks, where a request does not say: an administrator. */
  user: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] } as UserInfo,
  namespaces: ["default", "kube-node-lease", "kube-public", "kube-system"] as ReadonlyArray<string>
} as const

export interface Options {
  readonly historyLimit?: number
  readonly watchBacklog?: number
  readonly eventTimeToLive?: Duration.Input
  /** Plugins between a request and the store, after the built-in namespace lifecycle. */
  readonly admission?: ReadonlyArray<Admission.Plugin>
}

/** A request that was answered. */
export interface RequestRecord {
  readonly verb: Verb
  /** `pods`, `deployments.apps/status`. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly dryRun: boolean
  readonly status: number
  readonly user: UserInfo
}

interface Service {
  /** Answers one request, whatever the answer. A watch has started only once its `events` are run. */
  readonly handle: (request: Request, user?: UserInfo) => Effect.Effect<Respond.ApiResponse>
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
  /** Every stored object, by collection and key. */
  readonly snapshot: Effect.Effect<ReadonlyArray<KubeObject>>
  /** Every request for a resource answered from the moment the stream is run. */
  readonly requests: Stream.Stream<RequestRecord>
  /** How many requests were answered so far, by `verb resource`: `update deployments.apps/status`. */
  readonly requestCounts: Effect.Effect<Readonly<Record<string, number>>>
}

/** Values handed to whoever listens, each listener with a queue of its own. */
class Feed<A> {
  private readonly queues = new Set<Queue.Queue<A, Cause.Done>>()

  publish(value: A): void {
    for (const queue of this.queues) Queue.offerUnsafe(queue, value)
  }

  get stream(): Stream.Stream<A> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.tap(Queue.unbounded<A, Cause.Done>(), (queue) => Effect.sync(() => this.queues.add(queue))),
        (queue) => Effect.sync(() => this.queues.delete(queue))
      ),
      Stream.fromQueue
    ))
  }
}

const make = Effect.fnUntraced(function*(options: Options) {
  const storage = new Storage(options.historyLimit ?? defaults.historyLimit)
  const hub = new WatchHub(storage, options.watchBacklog ?? defaults.watchBacklog)
  const registry = new Registry(Builtins.resources())
  const core: Exchange.Core = { storage, hub, registry, admission: options.admission ?? [] }
  const definitions = new Definitions(core)
  const changes = new Feed<Change>()
  const requests = new Feed<RequestRecord>()
  const counts = new Map<string, number>()
  storage.listen((change) => changes.publish(change))
  yield* Expiry.run(storage, options.eventTimeToLive ?? defaults.eventTimeToLive)

  const record = (exchange: Exchange.Exchange, response: Respond.ApiResponse): void => {
    const { route: { name, namespace, plural, subresource, verb }, request, resource } = exchange
    const base = resource.group === "" ? plural : `${plural}.${resource.group}`
    const target = subresource === "" ? base : `${base}/${subresource}`
    const key = `${verb} ${target}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    const dryRun = request.query.some(([parameter]) => parameter === "dryRun")
    requests.publish({ verb, resource: target, namespace, name, dryRun, status: response.status, user: exchange.user })
  }

  const serve = Effect.fnUntraced(function*(
    request: Request,
    user: UserInfo,
    path: Extract<ReturnType<typeof route>, { readonly _tag: "Resource" }>
  ) {
    const found = Dispatch.find(registry, path)
    if (found._tag === "Missing") return found.response
    const exchange = yield* Exchange.make({ core, request, route: path, resource: found.resource, user })
    const response = yield* Dispatch.verb(exchange).pipe(
      Effect.map((answer) => Respond.respond(exchange, answer)),
      Effect.catch((error: StatusError) => Effect.succeed(Respond.refuse(exchange, error)))
    )
    definitions.settle(exchange.now)
    record(exchange, response)
    return response
  })

  const handle: Service["handle"] = (request, user = defaults.user) => {
    const path = route(request)
    return path._tag === "Path"
      ? Effect.sync(() => Discovery.answer(registry, request, path.segments))
      : serve(request, user, path)
  }

  for (const name of defaults.namespaces) {
    yield* handle({
      method: "POST",
      path: "/api/v1/namespaces",
      query: [],
      headers: { "content-type": "application/json" },
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name } }
    })
  }
  counts.clear()
  // As behind a real server's cache: what was there at its start has no history to watch.
  storage.compact(storage.revision)

  return ApiServer.of({
    handle,
    revision: Effect.sync(() => storage.revision),
    compact: (revision) => Effect.sync(() => storage.compact(revision ?? storage.revision)),
    watchers: Effect.sync(() => hub.open),
    endWatches: (collection) => Effect.sync(() => hub.endAll(collection)),
    log: (after) => Effect.sync(() => storage.changesAfter(after ?? storage.compacted)),
    changes: changes.stream,
    snapshot: Effect.sync(() => storage.snapshot()),
    requests: requests.stream,
    requestCounts: Effect.sync(() => Object.fromEntries(counts))
  })
})

export class ApiServer extends Context.Service<ApiServer, Service>()("@effect-operator/k8s/testing/ApiServer") {
  /** A fresh, empty server. */
  static readonly layer: Layer.Layer<ApiServer> = Layer.effect(ApiServer, Effect.suspend(() => make({})))

  static readonly layerOptions = (options: Options): Layer.Layer<ApiServer> => Layer.effect(ApiServer, make(options))
}
