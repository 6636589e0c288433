/** Whole operators over the in-memory server in virtual time, each with a line of its own that can be disturbed. */
import { type Controller, CustomResource, KubeClient, KubeError, Manager, type Transport } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { type ApiServer, TestClient, TestCluster } from "@effect-operator/k8s/testing"
import { Transport as TransportService } from "@effect-operator/core/Transport"
import { Endpoints } from "@effect-operator/k8s"
import { Clock, Context, Effect, Exit, Layer, Schema, Scope, Stream } from "effect"
import { asking } from "../observability/support.ts"

export const Widget = CustomResource.make({
  group: "parity.example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ size: Schema.Int })
})
export type Widget = typeof Widget.Type

/** A kind without namespaces. */
export const Zone = CustomResource.make({
  group: "parity.example.com",
  version: "v1",
  kind: "Zone",
  scope: "Cluster",
  spec: Schema.Struct({ size: Schema.Int })
})

export const cluster = TestCluster.layer({ resources: [Widget, Zone] })

export const client = KubeClient.KubeClient
export const widget = (name: string, size = 1, namespace = "default") => ({
  metadata: { namespace, name },
  spec: { size }
})
export const createWidget = (name: string, size = 1, namespace = "default") =>
  client.use((client) => client.create(Widget, widget(name, size, namespace)))
export const resize = (name: string, size: number, namespace = "default") =>
  client.use((client) => client.patch(Widget, { namespace, name }, KubeClient.Patch.merge({ spec: { size } })))
export const configMap = (name: string, labels: Record<string, string> = {}, namespace = "default") => ({
  metadata: { namespace, name, labels }
})
export const configMaps = (namespace = "default") =>
  client.use((client) => Stream.runCollect(client.list(ConfigMap, { namespace }))).pipe(
    Effect.map((all) => all.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt"))
  )

interface Asked extends Transport.Request {
  readonly at: number
}

/** What lies between one process and the server. */
export class Line {
  readonly requests: Array<Asked> = []
  /** Answers in the server's place, which hears nothing of it. */
  fault: (request: Transport.Request) => Effect.Effect<Transport.Response | undefined, KubeError.Transport> = () =>
    Effect.undefined
  /** How long an answer is under way, after the server has done what was asked. */
  latency: (request: Transport.Request) => Effect.Effect<void> = () => Effect.void
  /** What becomes of the events of a watch. */
  watched: (
    events: Stream.Stream<unknown, KubeError.Transport>,
    request: Transport.Request
  ) => Stream.Stream<unknown, KubeError.Transport> = (events) => events
  readonly transport: Transport.Transport["Service"]

  constructor(server: Transport.Transport["Service"]) {
    const send = <A extends Transport.Response, R>(
      request: Transport.Request,
      on: Effect.Effect<A, KubeError.Transport, R>
    ) =>
      Effect.gen({ self: this }, function*() {
        this.requests.push({ ...request, at: yield* Clock.currentTimeMillis })
        const answer = yield* this.fault(request)
        if (answer !== undefined) return { ...answer, values: Stream.empty } as unknown as A
        return yield* Effect.tap(on, () => this.latency(request))
      })
    this.transport = {
      request: (request) => send(request, server.request(request)),
      stream: (request) =>
        Effect.map(send(request, server.stream(request)), ({ values, ...response }) => ({
          ...response,
          values: this.watched(values, request)
        }))
    }
  }

  get client(): KubeClient.Client {
    return KubeClient.make(this.transport)
  }

  /** Requests of a method whose path ends so. */
  of(method: Transport.Method, path = ""): ReadonlyArray<Asked> {
    return this.requests.filter((request) => request.method === method && request.path.endsWith(path))
  }

  /** Of lists and watches of a collection. */
  reads(plural: string, watch: boolean): ReadonlyArray<Asked> {
    return this.of("GET", `/${plural}`).filter(isWatch(watch))
  }
}

export const isWatch = (watch: boolean) => ({ query }: Transport.Request): boolean =>
  query.some(([name, value]) => name === "watch" && value === "true") === watch

export const line: Effect.Effect<Line, never, ApiServer.ApiServer> = Effect.map(
  Effect.provide(TransportService, TestClient.transportLayer),
  (transport) => new Line(transport)
)

export const down = (message = "connection refused"): Effect.Effect<never, KubeError.Transport> =>
  Effect.fail(new KubeError.Transport({ message }))

/** A refusal by the server. */
export const refusal = (code: number, reason: string, headers: Record<string, string> = {}): Transport.Response => ({
  status: code,
  headers,
  body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message: `it is ${reason}`, reason, code }
})

/** A process: a manager in a scope of its own, which `stop` closes. */
export const operate = Effect.fnUntraced(function*(
  on: Line,
  controllers: ReadonlyArray<Controller.Controller>,
  options?: Manager.Options
) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
  const context = yield* Layer.buildWithScope(
    Manager.layer(controllers, options).pipe(
      Layer.provide(Layer.sync(KubeClient.KubeClient, () => on.client)),
      Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
    ),
    scope
  )
  return { manager: Context.get(context, Manager.Manager), stop: Scope.close(scope, Exit.void), ...asking(endpoints) }
})

/** What happened when, in virtual milliseconds. */
export class Journal {
  readonly entries: Array<readonly [at: number, what: string]> = []
  readonly note = (what: string): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      this.entries.push([at, what])
    })

  get words(): ReadonlyArray<string> {
    return this.entries.map(([, what]) => what)
  }

  get times(): ReadonlyArray<number> {
    return this.entries.map(([at]) => at)
  }

  /** When something was noted. */
  timesOf(what: string): ReadonlyArray<number> {
    return this.entries.flatMap(([at, word]) => word === what ? [at] : [])
  }
}
