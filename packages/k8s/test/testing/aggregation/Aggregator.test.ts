import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as Backends from "../../../src/testing/Backends.ts"
import * as RemoteDiscovery from "../../../src/testing/aggregation/RemoteDiscovery.ts"
import { userHeaders } from "../../../src/testing/aggregation/Proxy.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"
import { call, del, get, patch, post } from "../support/server.ts"

type Json = any

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
const name = "v1.metrics.example.com"
const root = "/apis/metrics.example.com/v1"

const apiService = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name },
  spec: {
    group: "metrics.example.com",
    version: "v1",
    groupPriorityMinimum: 100,
    versionPriority: 10,
    service: { namespace: "default", name: "metrics" },
    insecureSkipTLSVerify: true
  }
}

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "metrics" },
  spec: { type: "ExternalName", externalName: "metrics.local" }
}

interface Backend {
  readonly received: Array<string>
  up: boolean
  answer: Backends.Handler
}

/** A server with one backend in this process. */
const served = <E>(run: (backend: Backend) => Effect.Effect<void, E, ApiServer>) => {
  const backend: Backend = {
    received: [],
    up: true,
    answer: ({ body, headers, method, query }) =>
      Effect.succeed({ status: 200, body: { method, query, headers, body } })
  }
  const handler: Backends.Handler = (request) => {
    backend.received.push(`${request.method} ${request.path}`)
    if (!backend.up) return Effect.succeed({ status: 500, body: "down" })
    return request.path === root
      ? Effect.succeed({
        status: 200,
        body: { kind: "APIResourceList", resources: [{ name: "nodes", kind: "NodeMetrics" }] }
      })
      : backend.answer(request)
  }
  return run(backend).pipe(Effect.provide(
    ApiServer.layer.pipe(Layer.provide(Backends.layerHandlers({ "default/metrics": handler })))
  ))
}

const condition = Effect.map(get(`${apiServices}/${name}`), ({ body }) => body.status.conditions?.[0])

/** Gives what runs in the background its turn. */
const soon = TestClock.adjust("1 millis")

describe("Aggregator", () => {
  it.effect("looks at a backend when something changes, and every half minute", () =>
    served(Effect.fnUntraced(function*(backend) {
      assert.strictEqual((yield* post(apiServices, apiService)).status, 201)
      yield* soon
      assert.deepInclude(yield* condition, {
        status: "False",
        reason: "ServiceNotFound",
        message: "service/metrics in \"default\" is not present"
      })
      const { body: { metadata } } = yield* get(`${apiServices}/${name}`)
      const own = metadata.managedFields.find((entry: Json) => entry.subresource === "status")
      assert.deepInclude(own, { manager: "kube-apiserver", operation: "Update" })
      assert.deepStrictEqual(Object.keys(own.fieldsV1["f:status"]["f:conditions"]), [".", "k:{\"type\":\"Available\"}"])
      assert.deepStrictEqual(backend.received, [])
      yield* post("/api/v1/namespaces/default/services", service)
      yield* soon
      assert.deepInclude(yield* condition, { status: "True", reason: "Passed", message: "all checks passed" })
      assert.deepStrictEqual(backend.received, [`GET ${root}`, "GET /apis", `GET ${root}`])
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(backend.received.length, 3)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(backend.received.length, 6)
      // Another Service is nobody's business.
      yield* post("/api/v1/namespaces/default/services", { ...service, metadata: { name: "other" } })
      yield* soon
      assert.strictEqual(backend.received.length, 6)
      yield* del(`${apiServices}/${name}`)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(backend.received.length, 6)
    })))

  it.effect("a backend that fails is looked at again soon, then less and less often", () =>
    served(Effect.fnUntraced(function*(backend) {
      backend.up = false
      yield* post("/api/v1/namespaces/default/services", service)
      yield* post(apiServices, apiService)
      yield* soon
      const url = `https://metrics.local:443${root}`
      assert.deepInclude(yield* condition, {
        reason: "FailedDiscoveryCheck",
        message: `failing or missing response from ${url}: bad status from ${url}: 500`
      })
      yield* TestClock.adjust("1 seconds")
      // After 5, 15, 35, 75, 155, 315 and 635 ms.
      assert.strictEqual(backend.received.length, 8)
      yield* TestClock.adjust("1 hours")
      const before = backend.received.length
      yield* TestClock.adjust("1 minutes")
      assert.strictEqual(backend.received.length, before + 2)
      backend.up = true
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* condition).status, "True")
    })))

  it.effect("nothing happens where there is no remote APIService", () =>
    served(Effect.fnUntraced(function*(backend) {
      const server = yield* ApiServer
      const revision = yield* server.revision
      yield* TestClock.adjust("1 hours")
      assert.deepStrictEqual([backend.received.length, yield* server.revision], [0, revision])
    })))

  it.effect("requests are passed on while it is available, and 503 otherwise", () =>
    served(Effect.fnUntraced(function*(backend) {
      yield* post(apiServices, apiService)
      assert.deepInclude(yield* get(`${root}/nodes`), { status: 503, body: "service unavailable\n" })
      yield* post("/api/v1/namespaces/default/services", service)
      yield* soon
      const { body } = yield* call("POST", `${root}/nodes?a=b`, { x: 1 }, {
        authorization: "Basic x",
        "x-remote-user": "evil"
      })
      assert.deepInclude(body, { method: "POST", query: [["a", "b"]], body: { x: 1 } })
      assert.strictEqual(body.headers["x-remote-user"], "kubernetes-admin")
      assert.strictEqual(body.headers["x-remote-group"], "system:masters, system:authenticated")
      assert.isUndefined(body.headers["authorization"])
      assert.isDefined(body.headers["audit-id"])
      assert.deepStrictEqual((yield* get(root)).body.resources[0].name, "nodes")
      backend.up = false
      assert.strictEqual((yield* get(`${root}/nodes`)).status, 500)
      yield* patch(`${apiServices}/${name}`, "merge", { spec: { versionPriority: 11 } })
      yield* soon
      assert.strictEqual((yield* get(`${root}/nodes`)).status, 503)
    })))

  it.effect("a client's watch goes through, and ends the backend's with its own end", () =>
    served(Effect.fnUntraced(function*(backend) {
      yield* post("/api/v1/namespaces/default/services", service)
      yield* post(apiServices, apiService)
      yield* soon
      let ended = 0
      backend.answer = () =>
        Effect.succeed({
          status: 200,
          events: Stream.concat(Stream.make({ type: "ADDED", object: { kind: "X" } }), Stream.never).pipe(
            Stream.ensuring(Effect.sync(() => void ended++))
          )
        })
      const server = yield* ApiServer
      const { events } = yield* server.handle({
        method: "GET",
        path: `${root}/nodes`,
        query: [["watch", "1"]],
        headers: {}
      })
      const first: ReadonlyArray<Json> = yield* Stream.runCollect(Stream.take(events!, 1))
      assert.deepStrictEqual(first, [{ type: "ADDED", object: { kind: "X" } }])
      assert.strictEqual(ended, 1)
    })))

  it.effect("the call of a watch lasts as long as somebody reads it", () =>
    Effect.gen(function*() {
      let open = 0
      const backends: Backends.Service = {
        call: () => Effect.succeed({ status: 200, headers: {}, body: { _tag: "Json", value: {} } }),
        stream: () =>
          Effect.as(
            Effect.acquireRelease(Effect.sync(() => void open++), () => Effect.sync(() => void open--)),
            { status: 200, headers: {}, body: { _tag: "Values", values: Stream.make({ type: "ADDED" }) } } as const
          )
      }
      yield* Effect.gen(function*() {
        yield* post("/api/v1/namespaces/default/services", service)
        yield* post(apiServices, apiService)
        yield* soon
        const server = yield* ApiServer
        const { events } = yield* server.handle({
          method: "GET",
          path: `${root}/nodes`,
          query: [["watch", "true"]],
          headers: {}
        })
        assert.strictEqual(open, 1)
        yield* Stream.runDrain(events!)
        assert.strictEqual(open, 0)
      }).pipe(Effect.provide(ApiServer.layerOptions({ backends })))
    }))

  it.effect("who may not ask is refused here", () =>
    served(Effect.fnUntraced(function*(backend) {
      yield* post("/api/v1/namespaces/default/services", service)
      yield* post(apiServices, apiService)
      yield* soon
      const before = backend.received.length
      const server = yield* ApiServer
      const user = TestClient.serviceAccount("default", "nobody")
      const answer = yield* server.handle({ method: "GET", path: `${root}/nodes`, query: [], headers: {} }, user)
      assert.deepStrictEqual([answer.status, backend.received.length], [403, before])
    })))

  it.effect("another server of this kind can be the backend", () =>
    Effect.gen(function*() {
      const behind = yield* Effect.provide(ApiServer, Layer.fresh(ApiServer.layer))
      const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
      yield* Effect.provideService(
        post(crds, {
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "CustomResourceDefinition",
          metadata: { name: "nodes.metrics.example.com" },
          spec: {
            group: "metrics.example.com",
            scope: "Cluster",
            names: { plural: "nodes", kind: "NodeMetrics" },
            versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
          }
        }),
        ApiServer,
        behind
      )
      yield* Effect.gen(function*() {
        yield* post("/api/v1/namespaces/default/services", service)
        yield* post(apiServices, apiService)
        yield* soon
        const node = { apiVersion: "metrics.example.com/v1", kind: "NodeMetrics", metadata: { name: "a" } }
        assert.strictEqual((yield* post(`${root}/nodes`, node)).status, 201)
        assert.strictEqual((yield* get(`${root}/nodes/a`)).body.metadata.name, "a")
        const form = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" }
        const groups: ReadonlyArray<Json> = (yield* get("/apis", form)).body.items
        const own = groups.find(({ metadata }) => metadata.name === "metrics.example.com")
        assert.deepStrictEqual(own.versions[0].resources.map(({ resource }: Json) => resource), ["nodes"])
      }).pipe(Effect.provide(
        Layer.fresh(ApiServer.layer).pipe(Layer.provide(Backends.layerHandlers({ "default/metrics": behind.handle })))
      ))
    }))

  it.effect("APIServices of custom resources come and go with their definitions", () =>
    served(Effect.fnUntraced(function*() {
      const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
      const versions = [{
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object" } }
      }]
      const definition = {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "foos.example.com" },
        spec: { group: "example.com", scope: "Cluster", names: { plural: "foos", kind: "Foo" }, versions }
      }
      const path = `${apiServices}/v1.example.com`
      yield* post(crds, definition)
      assert.deepInclude((yield* get(path)).body.spec, { groupPriorityMinimum: 1000, versionPriority: 100 })
      yield* patch(path, "merge", { spec: { versionPriority: 5 } })
      assert.strictEqual((yield* get(path)).body.spec.versionPriority, 100)
      const { uid } = (yield* get(path)).body.metadata
      yield* del(path)
      assert.notStrictEqual((yield* get(path)).body.metadata.uid, uid)
      // Whoever takes the name first keeps it.
      yield* post(apiServices, {
        ...apiService,
        metadata: { name: "v2.example.com" },
        spec: { ...apiService.spec, group: "example.com", version: "v2", versionPriority: 7 }
      })
      yield* patch(`${crds}/foos.example.com`, "merge", {
        spec: { versions: [...versions, { ...versions[0], name: "v2", storage: false }] }
      })
      assert.strictEqual((yield* get(`${apiServices}/v2.example.com`)).body.spec.versionPriority, 7)
      yield* del(`${crds}/foos.example.com`)
      assert.strictEqual((yield* get(path)).status, 404)
      assert.strictEqual((yield* get(`${apiServices}/v2.example.com`)).status, 200)
    })))

  it.effect("a group whose APIService is deleted is served, but not told of", () =>
    served(Effect.fnUntraced(function*() {
      yield* del(`${apiServices}/v1.apps`)
      const { body } = yield* get("/apis")
      assert.notInclude(body.groups.map((group: Json) => group.name), "apps")
      assert.strictEqual((yield* get("/apis/apps/v1/deployments")).status, 200)
    })))
})

describe("RemoteDiscovery", () => {
  it("puts subresources below their resources", () => {
    assert.deepStrictEqual(
      RemoteDiscovery.fromClassic({
        resources: [
          { name: "foos/status", kind: "Foo", verbs: ["get"] },
          { name: "foos", singularName: "foo", namespaced: true, kind: "Foo", verbs: ["list"], shortNames: ["f"] },
          { name: "foos/scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: ["get"] }
        ]
      }),
      [{
        resource: "foos",
        responseKind: { group: "", version: "", kind: "Foo" },
        scope: "Namespaced",
        singularResource: "foo",
        verbs: ["list"],
        shortNames: ["f"],
        subresources: [
          { subresource: "status", responseKind: { group: "", version: "", kind: "Foo" }, verbs: ["get"] },
          { subresource: "scale", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs: ["get"] }
        ]
      }]
    )
    assert.deepStrictEqual(RemoteDiscovery.fromClassic("nonsense"), [])
  })
})

describe("Proxy", () => {
  it("tells who asks, every group as a header of its own", () => {
    assert.deepStrictEqual(
      userHeaders({ username: "u", uid: "1", groups: ["a", "b"], extra: { "example.com/Scope": ["x", "y"] } }),
      {
        "x-remote-user": "u",
        "x-remote-uid": "1",
        "x-remote-group": ["a", "b"],
        "x-remote-extra-example.com%2fscope": ["x", "y"]
      }
    )
  })
})
