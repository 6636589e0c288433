/** An API of two kinds, and what stands around it. */
import { CustomResource, KubeClient } from "@effect-operator/core"
import type { Method, Request } from "@effect-operator/core/Transport"
import { Context, Effect, Layer, Schema, type Stream } from "effect"
import * as ApiService from "../../src/ApiService.ts"
import { Namespace, Pod } from "../../src/kinds/core.v1.ts"
import { ApiServer, TestApiServices, TestClient, VirtualTime } from "../../src/testing/index.ts"

export const Llama = CustomResource.make({
  group: "farm.example.com",
  version: "v1alpha",
  kind: "Llama",
  shortNames: ["ll"],
  categories: ["farm"],
  spec: Schema.Struct({
    weight: Schema.Finite.check(Schema.isGreaterThan(0)),
    height: Schema.Finite,
    color: Schema.String.pipe(
      Schema.annotateEncoded({ default: "brown" }),
      Schema.withDecodingDefaultKey(Effect.succeed("brown"))
    )
  }),
  status: Schema.Struct({ mood: Schema.optionalKey(Schema.String) }),
  printerColumns: [
    { name: "Weight", type: "number", jsonPath: ".spec.weight" },
    { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 }
  ],
  selectableFields: [".spec.color"]
})
export type Llama = typeof Llama.Type

export const FarmPod = CustomResource.make({
  group: "farm.example.com",
  version: "v1alpha",
  kind: "FarmPod",
  spec: Schema.Struct({ containers: Schema.Int }),
  printerColumns: [{ name: "Containers", type: "integer", jsonPath: ".spec.containers" }]
})

export const farmPods = ApiService.derived(FarmPod, {
  from: Pod,
  make: ({ metadata: { creationTimestamp, name, namespace }, spec }) => ({
    metadata: { name: `farm-${name}`, namespace, creationTimestamp },
    spec: { containers: spec.containers.length }
  })
})

export const service = { namespace: "farm", name: "api" }

/** A cluster in virtual time with the namespace `farm`. */
export const cluster = TestClient.layer.pipe(
  Layer.provideMerge(TestApiServices.layer),
  Layer.provideMerge(ApiServer.ApiServer.layer),
  Layer.provideMerge(VirtualTime.layer),
  Layer.fresh
)

/** Everything in an answer; a test says what it expects of it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: any
  readonly events: Stream.Stream<any> | undefined
}

export interface Call {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const administrator = { "x-remote-user": "admin", "x-remote-group": "system:masters" }

/** Serves an API to calls of the test: as an administrator, unless headers say somebody else. */
export const direct = Effect.fnUntraced(function*<R>(api: ApiService.Api<R>) {
  let handler: ((request: Request) => Effect.Effect<any>) | undefined
  const listener = Layer.succeed(ApiService.Listener, {
    listen: (given) =>
      Effect.sync(() => {
        handler = given
      })
  })
  const context = yield* Layer.build(
    Layer.fresh(ApiService.layer(api, { name: "farm", service }).pipe(Layer.provide(listener)))
  )
  const root = `/apis/${api.groupVersion}`
  const call = (method: Method, path: string, { body, headers, query = {} }: Call = {}): Effect.Effect<Answer> =>
    Effect.suspend(() =>
      handler!({
        method,
        path: path.startsWith("/") ? path : `${root}/${path}`,
        query: Object.entries(query),
        headers: { ...(headers?.["x-remote-user"] === undefined ? administrator : {}), ...headers },
        ...(body === undefined ? {} : { body })
      })
    )
  return { call, status: Context.get(context, ApiService.ApiServiceServer).status }
})

/** A Llama as a client writes it. */
export const llama = (name: string, spec: object = { weight: 1, height: 2 }, metadata: object = {}) => ({
  apiVersion: "farm.example.com/v1alpha",
  kind: "Llama",
  metadata: { name, ...metadata },
  spec
})

/** Serves an API behind the aggregator of the in-memory server. */
export const serve = Effect.fnUntraced(function*<R>(api: ApiService.Api<R>) {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Namespace, { metadata: { name: "farm" } })
  yield* ApiService.install(api, { service, localhost: true })
  yield* Layer.build(ApiService.layer(api, { name: "farm", service }))
  return client
})
