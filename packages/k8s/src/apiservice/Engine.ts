/**
 * `Engine`: handles the requests for one group version, from authorization to the response, without a socket.
 *
 * All kinds share one log, so that their resourceVersions are comparable, as in a cluster. The first version is derived
 * from the time. So what a client read before a restart is older than everything that exists now, and its watch gets
 * 410 and lists again. A request is authorized before anything is looked up.
 */
import type * as Informers from "@effect-operator/core/Informers"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Attributes from "../api/Attributes.ts"
import * as Representation from "../api/Representation.ts"
import * as Routing from "../api/Routing.ts"
import * as StatusError from "../api/StatusError.ts"
import { Storage } from "../api/Storage.ts"
import * as Table from "../api/Table.ts"
import type { UserInfo } from "../api/UserInfo.ts"
import * as Warnings from "../api/Warnings.ts"
import { WatchHub } from "../api/WatchHub.ts"
import type { Api } from "./Api.ts"
import * as Documents from "./Documents.ts"
import type { Exchange, Verb } from "./Exchange.ts"
import * as Reads from "./Reads.ts"
import * as Served from "./Served.ts"
import * as Views from "./Views.ts"
import * as Writes from "./Writes.ts"

export const defaults = {
  /** How many changes are kept for watches and the pages of lists; older ones get 410. */
  history: 10_000,
  /** How long a request waits until a view has been computed for the first time. */
  syncTimeout: "5 seconds"
} as const

/** A request with its user, its body still to be read. */
export interface Asked {
  readonly request: Request
  readonly user: UserInfo
  /** Decodes the body as a given kind; the request's own body is used if this is absent. */
  readonly body?: ((kind: string) => Effect.Effect<unknown, StatusError.StatusError>) | undefined
}

/** Succeeds if the request is allowed, otherwise returns its refusal. */
export type Authorize = (
  user: UserInfo,
  attributes: Attributes.Attributes
) => Effect.Effect<StatusError.StatusError | undefined>

export interface Engine {
  readonly handle: (asked: Asked) => Effect.Effect<Representation.ApiResponse>
  /** Ends every watch after its pending events have been delivered. */
  readonly endWatches: Effect.Effect<void>
  /** The views by plural, for the caller to run. */
  readonly views: ReadonlyMap<string, Views.View>
}

const ofObject: Readonly<Record<Exclude<Routing.Verb, "">, Verb>> = {
  get: Reads.get,
  list: Reads.list,
  watch: Reads.watch,
  create: Writes.create,
  update: Writes.replace("object"),
  patch: Writes.patch("object"),
  delete: Writes.remove,
  deletecollection: Writes.removeCollection
}

const ofStatus: Partial<Record<Routing.Verb, Verb>> = {
  get: Reads.get,
  update: Writes.replace("status"),
  patch: Writes.patch("status")
}

const chosen = ({ resource, route }: Exchange): Verb | undefined => {
  if (route.verb === "" || !resource.verbs.includes(route.verb)) return undefined
  if (route.subresource === "status") return ofStatus[route.verb]
  if (route.verb === "create" && route.name !== "") return undefined
  return ofObject[route.verb]
}

/** Across all namespaces objects can only be read, and cluster-scoped objects are in no namespace. */
const misplaced = ({ scope }: Served.Served, { name, namespace, verb }: Routing.ResourceRoute): boolean =>
  scope === "Cluster"
    ? namespace !== ""
    : namespace === "" && (name !== "" || (verb !== "list" && verb !== "watch"))

const formats = ["application/json", "application/yaml"]

const table = (resource: Served.Served, objects: ReadonlyArray<KubeObject>, options: Table.Options) =>
  Table.make(resource.columns, objects, options)

const warned = (response: Representation.ApiResponse, texts: ReadonlyArray<string>): Representation.ApiResponse =>
  texts.length === 0 ? response : { ...response, headers: { ...response.headers, ...Warnings.header(texts) } }

/** An engine with its objects. Its views exist, but do not run yet. */
export const make = Effect.fnUntraced(function*<R>(
  api: Api<R>,
  options: { readonly authorize: Authorize; readonly informers: Informers.Informers["Service"] }
) {
  const { authorize, informers } = options
  const context = yield* Effect.context<R>()
  const random = yield* Random.Random
  const storage = new Storage(defaults.history)
  storage.begin({ revision: Math.max(1, yield* Clock.currentTimeMillis), collections: new Map() })
  const hub = new WatchHub(storage)
  const served = api.kinds.map(Served.make)
  const byPlural = new Map(served.map((kind) => [kind.plural, kind]))
  const documents = Documents.make(api, served)
  const views = new Map<string, Views.View>()
  for (const kind of served) {
    const { source } = kind
    if (source._tag === "Derived") views.set(kind.plural, yield* Views.derived(kind, storage, source, informers))
    if (source._tag === "Computed") views.set(kind.plural, yield* Views.computed(kind, storage, source))
    if (source._tag === "Stored") {
      const { put } = yield* Views.writer(kind, storage)
      const fault = source.initial.map(put).find((fault) => fault !== undefined)
      if (fault !== undefined) return yield* Effect.die(new Error(`ApiService: initial: ${fault}`))
    }
  }

  const find = (route: Routing.ResourceRoute): Served.Served | Representation.ApiResponse => {
    const kind = byPlural.get(route.plural)
    if (route.group !== api.group || route.version !== api.version || kind === undefined || misplaced(kind, route)) {
      return Documents.unserved
    }
    return route.subresource === "" || kind.subresources.some(({ name }) => name === route.subresource)
      ? kind
      : Representation.refused(StatusError.notFound(kind, route.name))
  }

  /** Waits until a view has been computed once. */
  const computed = Effect.fnUntraced(function*(plural: string) {
    const view = views.get(plural)
    if (view === undefined) return
    const done = yield* Effect.timeoutOption(view.synced, defaults.syncTimeout)
    if (Option.isNone(done)) {
      return yield* Effect.fail(StatusError.serviceUnavailable(`${plural} are not loaded yet: try again`))
    }
  })

  const answer = Effect.fnUntraced(function*(exchange: Exchange, body: Asked["body"]) {
    const { request, resource, route } = exchange
    if (Representation.form(request.headers["accept"], true) === undefined) {
      return yield* Effect.fail(StatusError.notAcceptableTypes(formats))
    }
    const verb = chosen(exchange)
    if (verb === undefined) {
      const what = `${route.verb} is not supported on resources of kind "${StatusError.targetName(resource)}"`
      return yield* Effect.fail(StatusError.methodNotAllowedBecause(resource, what))
    }
    yield* computed(resource.plural)
    const reads = request.method === "GET" || request.method === "HEAD" || route.verb === "watch"
    const sent = reads || body === undefined ? request.body : yield* body(resource.kind)
    return yield* verb(sent === undefined ? exchange : { ...exchange, request: { ...request, body: sent } }).pipe(
      Effect.provideContext(context)
    ) as Effect.Effect<Representation.Answer, StatusError.StatusError>
  })

  const handle = Effect.fnUntraced(function*({ body, request, user }: Asked) {
    const route = Routing.route(request)
    if (route._tag === "Path" && Documents.open.has(request.path)) return documents(request)
    const refused = yield* authorize(user, Attributes.fromRequest(request, route))
    if (refused !== undefined) return Representation.refused(refused)
    if (route._tag === "Path") return documents(request)
    const resource = find(route)
    if ("status" in resource) return resource
    const exchange: Exchange = {
      core: { storage, hub },
      request,
      route,
      resource,
      user,
      now: yield* Clock.currentTimeMillis,
      random: () => random.nextDoubleUnsafe(),
      warnings: []
    }
    return yield* answer(exchange, body).pipe(
      Effect.flatMap((answer) =>
        Effect.fromResult(Representation.present({ ...exchange, tabular: true, table }, answer))
      ),
      Effect.catch((error) => Effect.succeed(Representation.refused(error))),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError(`${request.method} ${request.path} failed`, defect),
          Representation.refused(StatusError.internal("the request could not be answered"))
        )
      ),
      Effect.map((response) => warned(response, exchange.warnings))
    )
  })
  return {
    handle: (asked) =>
      handle(asked).pipe(Effect.withSpan("ApiService.answer", {
        attributes: { method: asked.request.method, path: asked.request.path }
      })),
    endWatches: Effect.sync(() => hub.endAll()),
    views
  } satisfies Engine
})
