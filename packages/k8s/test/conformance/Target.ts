/**
 * What a statement is run against: raw requests, watches, and a few things every statement needs anew.
 */
import type { Transport as TransportFailed } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Status } from "@effect-operator/core/Status"
import { type Method, type Response, Transport } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as LiveClient from "../../src/LiveClient.ts"
import * as ApiServer from "../../src/testing/ApiServer.ts"
import * as Envtest from "../../src/testing/Envtest.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as LiveBackends from "../../src/testing/LiveBackends.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import * as Backend from "./Backend.ts"
import * as Callers from "./Callers.ts"
import { patience } from "./Patience.ts"

export type Server = "memory" | "http" | "real"

/** An answer with its body taken for what most answers are. */
export interface Answer extends Response {
  /** The body as an object; `{}` where there is none. */
  readonly object: KubeObject & Readonly<Record<string, any>>
  /** The body as a Status; its fields are undefined where it is none. */
  readonly error: Partial<Status>
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `application/json` by default where there is a body. */
  readonly contentType?: string
}

/** A watch that collects what it sees. */
export interface Watching {
  /** Status code and headers of the answer. */
  readonly response: Response
  /** The next `n` events; fails the statement if they do not come. */
  readonly take: (n: number) => Effect.Effect<ReadonlyArray<WireEvent>>
  /** All that came within `millis` milliseconds. */
  readonly within: (millis: number) => Effect.Effect<ReadonlyArray<WireEvent>>
  /** Completes when the server has ended the watch; fails the statement if it does not. */
  readonly ended: Effect.Effect<void>
}

/** A namespaced custom kind of the statement's own. */
export interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  /** Path of the collection in a namespace. */
  readonly path: (namespace: string, name?: string) => string
  /** An object of the kind. */
  readonly object: (name: string, fields?: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

export interface KindOptions {
  /** Schema of `spec`; by default an object with integer `x` and string `s` that prunes what else there is. */
  readonly spec?: Readonly<Record<string, unknown>>
  /** Whole schemas, for what `spec` cannot say. */
  readonly schema?: Readonly<Record<string, unknown>>
  readonly status?: boolean
  readonly scope?: "Namespaced" | "Cluster"
  /** Merged into the version. */
  readonly version?: Readonly<Record<string, unknown>>
  /** Merged into the definition's spec. */
  readonly definition?: Readonly<Record<string, unknown>>
}

export class Target extends Context.Service<Target, {
  readonly server: Server
  /** The minor version of Kubernetes 1.x the server stands for. */
  readonly minor: number
  readonly request: (method: Method, path: string, options?: RequestOptions) => Effect.Effect<Answer, TransportFailed>
  /** As `request`, without credentials but those in the headers given. */
  readonly bare: (method: Method, path: string, options?: RequestOptions) => Effect.Effect<Answer, TransportFailed>
  /** The audit events of the request that had this `Audit-Id` header, once there are so many. */
  readonly audited: Callers.Callers["Service"]["audited"]
  readonly watch: (
    path: string,
    query?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>
  ) => Effect.Effect<Watching, TransportFailed, Scope.Scope>
  /** A new namespace. */
  readonly namespace: Effect.Effect<string, TransportFailed>
  /** Installs a new kind and waits until it is served. */
  readonly kind: (options?: KindOptions) => Effect.Effect<Kind, TransportFailed>
  /** An HTTPS server for the server to call; `Backends.answering` makes handlers of functions. */
  readonly backend: typeof Backend.start
  /** A name nobody else uses. */
  readonly unique: (prefix: string) => string
  /** Waits in real time. */
  readonly sleep: (millis: number) => Effect.Effect<void>
  /** Repeats a request every 50 ms until its answer is as wanted; fails the statement if it never is. */
  readonly until: (
    request: Effect.Effect<Answer, TransportFailed>,
    wanted: (answer: Answer) => boolean
  ) => Effect.Effect<Answer, TransportFailed>
  /** Forgets what was before a resourceVersion. */
  readonly compact: (resourceVersion: string) => Effect.Effect<void>
}>()("@effect-operator/k8s/test/conformance/Target") {}

/** What no API offers: the store's history up to a resourceVersion is forgotten. */
class Compaction extends Context.Service<Compaction, {
  readonly compact: (resourceVersion: string) => Effect.Effect<void>
}>()("@effect-operator/k8s/test/conformance/Target/Compaction") {}

const answer = (response: Response): Answer => {
  const body = typeof response.body === "object" && response.body !== null ? response.body : {}
  return { ...response, object: body as Answer["object"], error: body as Answer["error"] }
}

const make = Effect.fnUntraced(function*(server: Server) {
  const transport = yield* Transport
  const { compact } = yield* Compaction
  const { audited, bare } = yield* Callers.Callers
  const live = Clock.Clock.defaultValue()
  const real = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Clock.Clock, live)
  const sleep = (millis: number) => real(Effect.sleep(millis))
  const run = live.currentTimeMillisUnsafe().toString(36)
  let count = 0
  const unique = (prefix: string): string => `${prefix}-${run}-${count++}`

  const requestBy = (by: Transport["Service"]): Target["Service"]["request"] => (method, path, options = {}) =>
    Effect.map(
      by.request({
        method,
        path,
        query: Object.entries(options.query ?? {}),
        headers: {
          accept: "application/json",
          ...(options.body === undefined ? {} : { "content-type": options.contentType ?? "application/json" }),
          ...options.headers
        },
        ...(options.body === undefined ? {} : { body: options.body })
      }),
      answer
    )

  const request = requestBy(transport)

  const watch: Target["Service"]["watch"] = Effect.fnUntraced(function*(path, query = {}, headers = {}) {
    const response = yield* transport.stream({
      method: "GET",
      path,
      query: Object.entries({ watch: "true", ...query }),
      headers: { accept: "application/json", ...headers }
    })
    const queue = yield* Queue.unbounded<WireEvent, TransportFailed | Cause.Done>()
    const over = yield* Deferred.make<void>()
    yield* Effect.forkScoped(
      Stream.runIntoQueue(response.values as Stream.Stream<WireEvent, TransportFailed>, queue).pipe(
        Effect.ensuring(Deferred.succeed(over, undefined))
      )
    )
    const patient = <A, E, R>(effect: Effect.Effect<A, E, R>, what: string) =>
      real(
        Effect.timeoutOrElse(effect, {
          duration: patience.events,
          orElse: () => Effect.die(new Error(`${what} did not come`))
        })
      )
    const take = (n: number) =>
      patient(
        Effect.forEach(Array.from({ length: n }), () => Queue.take(queue)).pipe(
          Effect.catch((error) =>
            Effect.die(Cause.isDone(error) ? new Error(`${path} ended before ${n} events had come`) : error)
          )
        ),
        `${n} events of ${path}`
      )
    return {
      response,
      take,
      within: (millis) =>
        Effect.andThen(
          sleep(millis),
          Effect.sync(() => {
            const events: Array<WireEvent> = []
            for (let size = Queue.sizeUnsafe(queue); size > 0; size--) {
              const exit = Queue.takeUnsafe(queue)
              if (exit?._tag === "Success") events.push(exit.value)
            }
            return events
          })
        ),
      ended: patient(Deferred.await(over), `the end of ${path}`)
    } satisfies Watching
  })

  const until: Target["Service"]["until"] = (request, wanted) =>
    real(
      request.pipe(
        Effect.repeat({ until: wanted, schedule: Schedule.spaced("50 millis") }),
        Effect.timeoutOrElse({
          duration: patience.until,
          orElse: () =>
            Effect.flatMap(request, (last) => Effect.die(new Error(`never so: ${JSON.stringify(last.body)}`)))
        })
      )
    )

  const namespace = Effect.gen(function*() {
    const name = unique("ns")
    yield* request("POST", "/api/v1/namespaces", { body: { apiVersion: "v1", kind: "Namespace", metadata: { name } } })
    return name
  })

  const kind: Target["Service"]["kind"] = Effect.fnUntraced(function*(options = {}) {
    const group = `${unique("g")}.example.com`
    const scope = options.scope ?? "Namespaced"
    const spec = options.spec ?? { type: "object", properties: { x: { type: "integer" }, s: { type: "string" } } }
    const openAPIV3Schema = options.schema ?? {
      type: "object",
      properties: { spec, status: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    }
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    const created = yield* request("POST", definitions, {
      body: {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `widgets.${group}` },
        spec: {
          group,
          scope,
          names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
          versions: [{
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema },
            ...(options.status === true ? { subresources: { status: {} } } : {}),
            ...options.version
          }],
          ...options.definition
        }
      }
    })
    if (created.status !== 201) return yield* Effect.die(new Error(`kind: ${JSON.stringify(created.body)}`))
    yield* until(request("GET", `/apis/${group}/v1/widgets`), ({ status }) => status === 200)
    return {
      group,
      version: "v1",
      kind: "Widget",
      plural: "widgets",
      path: (namespace, name) =>
        `/apis/${group}/v1${scope === "Cluster" ? "" : `/namespaces/${namespace}`}/widgets${
          name === undefined ? "" : `/${name}`
        }`,
      object: (name, fields = {}) => ({
        apiVersion: `${group}/v1`,
        kind: "Widget",
        metadata: { name },
        spec: { x: 1 },
        ...fields
      })
    } satisfies Kind
  })

  const { object: { minor } } = yield* request("GET", "/version")
  return Target.of({
    server,
    minor: Number.parseInt(String(minor), 10),
    request,
    bare: requestBy(bare),
    audited,
    watch,
    namespace,
    kind,
    backend: Backend.start,
    unique,
    sleep,
    until,
    compact
  })
})

const compactionInMemory = Layer.effect(
  Compaction,
  Effect.map(ApiServer.ApiServer, ({ compact }) => ({ compact: (version) => compact(Number(version)) }))
)

/** etcd, through its JSON gateway. */
const compactionInEtcd = Layer.effect(
  Compaction,
  Effect.map(Envtest.Envtest, ({ etcdUrl }) => ({
    compact: (revision) =>
      Effect.promise(async (signal) => {
        const body = JSON.stringify({ revision, physical: true })
        const response = await fetch(`${etcdUrl}/v3/kv/compaction`, { method: "POST", body, signal })
        if (!response.ok) throw new Error(`compaction: ${await response.text()}`)
      })
  }))
)

// The controllers a control plane without nodes has: nobody binds Pods or runs them.
const memory = SimControllers.controlPlane({
  namespaces: { delay: "100 millis" },
  serviceAccounts: { rootCa: "none" },
  with: ["serviceAccounts"]
}).pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(TestClient.transportLayer),
  Layer.provideMerge(compactionInMemory),
  Layer.provideMerge(Layer.provide(Callers.apiServer, LiveBackends.layer))
)

const overHttp = Layer.unwrap(Effect.map(
  HttpFacade.HttpFacade,
  ({ kubeconfig }) => LiveClient.transportLayerOptions({ kubeconfig, retry: { times: 0 } })
)).pipe(Layer.merge(Callers.http), Layer.provide(HttpFacade.layer()), Layer.provideMerge(memory))

const real = Layer.unwrap(Effect.map(
  Envtest.Envtest,
  ({ clusterConfig }) => LiveClient.transportLayerCluster(clusterConfig, { retry: { times: 0 } })
)).pipe(Layer.merge(compactionInEtcd), Layer.merge(Callers.real), Layer.provide(Callers.controlPlane))

const transports: Readonly<Record<Server, Layer.Layer<Transport | Compaction | Callers.Callers>>> = {
  memory: Layer.provideMerge(Callers.memory, memory),
  http: Layer.orDie(overHttp),
  real: Layer.orDie(real)
}

/** The servers a statement is run against. */
export const layer = (server: Server): Layer.Layer<Target> =>
  Layer.effect(Target, make(server)).pipe(Layer.provide(transports[server]), Layer.orDie)
