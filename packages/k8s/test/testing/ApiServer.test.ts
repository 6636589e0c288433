import * as KubeClient from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { Pod } from "../../src/kinds/index.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import {
  call,
  configMap,
  configMaps,
  crds,
  del,
  get,
  layer,
  patch,
  pod,
  pods,
  post,
  put,
  watch,
  widget,
  widgetDefinition,
  widgets
} from "./support/server.ts"

const types = (events: Iterable<{ readonly type: string }>) => [...events].map((event) => event.type)

describe("create and get", () => {
  it.effect("fills in the metadata", () =>
    Effect.gen(function*() {
      const created = yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      assert.strictEqual(created.status, 201)
      const { creationTimestamp, generation, namespace, resourceVersion, uid } = created.body.metadata
      assert.strictEqual(creationTimestamp, "1970-01-01T00:00:00Z")
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.strictEqual(namespace, "default")
      assert.isUndefined(generation)
      const read = yield* get(`${configMaps}/a`)
      assert.deepStrictEqual(read.body, created.body)
      assert.strictEqual(read.body.metadata.resourceVersion, resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("a map has whatever keys it is sent, by every verb: __proto__ is one of them", () =>
    Effect.gen(function*() {
      const data = (value: string) => JSON.parse(`{"__proto__":"${value}","constructor":"c","toString":"t"}`)
      const shown = (body: any) => JSON.stringify(body.data)
      const whole = (value: string) => `{"__proto__":"${value}","constructor":"c","toString":"t"}`
      assert.strictEqual(shown((yield* post(configMaps, configMap("a", { data: data("1") }))).body), whole("1"))
      assert.strictEqual(shown((yield* put(`${configMaps}/a`, configMap("a", { data: data("2") }))).body), whole("2"))
      for (const [n, kind] of (["merge", "strategic", "apply"] as const).entries()) {
        const url = kind === "apply" ? `${configMaps}/a?fieldManager=me&force=true` : `${configMaps}/a`
        const patched = yield* patch(url, kind, configMap("a", { data: data(`${n + 3}`) }))
        assert.strictEqual(shown(patched.body), whole(`${n + 3}`), kind)
      }
      const patched = yield* patch(`${configMaps}/a`, "json", [{ op: "replace", path: "/data/__proto__", value: "9" }])
      assert.strictEqual(shown(patched.body), whole("9"))
      assert.strictEqual(shown((yield* get(`${configMaps}/a`)).body), whole("9"))
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod starts Pending, with defaults", () =>
    Effect.gen(function*() {
      const { body } = yield* post(pods, pod("a"))
      assert.strictEqual(body.status.phase, "Pending")
      assert.strictEqual(body.spec.restartPolicy, "Always")
      assert.strictEqual(body.metadata.generation, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("custom resources are defaulted, pruned and validated", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const created = yield* post(widgets, widget("a", { spec: { color: "red", nonsense: 1 }, status: { phase: "x" } }))
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual(created.body.spec, { color: "red", replicas: 1 })
      assert.isUndefined(created.body.status)
      assert.strictEqual(created.headers["warning"], `299 - "unknown field \\"spec.nonsense\\""`)
      const refused = yield* post(widgets, widget("b", { spec: { color: "green" } }))
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(
        refused.body.message,
        "Widget.example.com \"b\" is invalid: spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""
      )
    }).pipe(Effect.provide(layer)))

  it.effect("two creates of one name", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const second = yield* post(pods, pod("a"))
      assert.strictEqual(second.status, 409)
      assert.strictEqual(second.body.message, "pods \"a\" already exists")
      assert.deepStrictEqual(second.body.details, { name: "a", kind: "pods" })
    }).pipe(Effect.provide(layer)))
})

describe("update", () => {
  it.effect("status and spec have their own endpoints, and generation counts the spec", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const { body: created } = yield* post(widgets, widget("a", { spec: { replicas: 1 } }))
      const { body: scaled } = yield* put(`${widgets}/a`, {
        ...created,
        spec: { replicas: 3 },
        status: { phase: "no" }
      })
      assert.strictEqual(scaled.metadata.generation, 2)
      assert.isUndefined(scaled.status)
      const status = yield* put(`${widgets}/a/status`, { ...scaled, spec: { replicas: 9 }, status: { phase: "Up" } })
      assert.strictEqual(status.status, 200)
      assert.deepStrictEqual(status.body.spec, { replicas: 3 })
      assert.deepStrictEqual(status.body.status, { phase: "Up" })
      assert.strictEqual(status.body.metadata.generation, 2)
      assert.notStrictEqual(status.body.metadata.resourceVersion, scaled.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("a stale resourceVersion loses", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a", { data: { k: "1" } }))
      yield* put(`${configMaps}/a`, { ...body, data: { k: "2" } })
      const stale = yield* put(`${configMaps}/a`, { ...body, data: { k: "3" } })
      assert.strictEqual(stale.status, 409)
      assert.strictEqual(stale.body.reason, "Conflict")
    }).pipe(Effect.provide(layer)))

  it.effect("an equal object is not written", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a", { data: { k: "1" } }))
      const server = yield* ApiServer
      const before = yield* server.revision
      const same = yield* put(`${configMaps}/a`, body)
      assert.deepStrictEqual(same.body, body)
      assert.strictEqual(yield* server.revision, before)
    }).pipe(Effect.provide(layer)))

  it.effect("patches", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "1", l: "2" } }))
      const merged = yield* patch(`${configMaps}/a`, "merge", { data: { k: null, m: "3" } })
      assert.deepStrictEqual(merged.body.data, { l: "2", m: "3" })
      const edited = yield* patch(`${configMaps}/a`, "json", [{ op: "remove", path: "/data/l" }])
      assert.deepStrictEqual(edited.body.data, { m: "3" })
      yield* post(pods, pod("a"))
      const strategic = yield* patch(`${pods}/a`, "strategic", {
        spec: { containers: [{ name: "main", image: "app:2" }] }
      })
      assert.strictEqual(strategic.body.spec.containers[0].image, "app:2")
      assert.strictEqual(strategic.body.spec.containers[0].terminationMessagePath, "/dev/termination-log")
    }).pipe(Effect.provide(layer)))
})

describe("delete", () => {
  it.effect("waits for finalizers", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a", { metadata: { finalizers: ["example.com/clean"] } }))
      const deleted = yield* del(`${widgets}/a`)
      assert.strictEqual(deleted.body.kind, "Widget")
      assert.strictEqual(deleted.body.metadata.deletionGracePeriodSeconds, 0)
      assert.strictEqual(deleted.body.metadata.generation, 2)
      const last = yield* patch(`${widgets}/a`, "merge", { metadata: { finalizers: null } })
      assert.strictEqual(last.status, 200)
      assert.strictEqual((yield* get(`${widgets}/a`)).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("answers a Status where nothing is left", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      const deleted = yield* del(`${configMaps}/a`)
      assert.deepStrictEqual(deleted.body, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "a", kind: "configmaps", uid: body.metadata.uid }
      })
    }).pipe(Effect.provide(layer)))
})

describe("list and watch", () => {
  it.effect("pages show one snapshot", () =>
    Effect.gen(function*() {
      for (const name of ["c", "a", "b"]) yield* post(configMaps, configMap(name))
      const first = yield* get(`${configMaps}?limit=2`)
      assert.deepStrictEqual(first.body.items.map((item: any) => item.metadata.name), ["a", "b"])
      assert.strictEqual(first.body.metadata.remainingItemCount, 1)
      yield* del(`${configMaps}/c`)
      const second = yield* get(`${configMaps}?limit=2&continue=${first.body.metadata.continue}`)
      assert.deepStrictEqual(second.body.items.map((item: any) => item.metadata.name), ["c"])
      assert.strictEqual(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("a watch sees changes after its resourceVersion, once and in order", () =>
    Effect.gen(function*() {
      const { body: list } = yield* get(configMaps)
      yield* post(configMaps, configMap("a", { data: { k: "1" } }))
      const fiber = yield* Effect.forkChild(
        watch(`${configMaps}?resourceVersion=${list.metadata.resourceVersion}`).pipe(Stream.take(3), Stream.runCollect)
      )
      yield* Effect.yieldNow
      yield* patch(`${configMaps}/a`, "merge", { data: { k: "2" } })
      yield* del(`${configMaps}/a`)
      assert.deepStrictEqual(types(yield* Fiber.join(fiber)), ["ADDED", "MODIFIED", "DELETED"])
      assert.strictEqual(yield* (yield* ApiServer).watchers, 0)
    }).pipe(Effect.provide(layer)))
})

describe("TestClient", () => {
  it.effect("is a client like any other", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const created = yield* client.create(Pod, {
        metadata: { name: "a", namespace: "default" },
        spec: { containers: [{ name: "main", image: "app:1" }] }
      })
      assert.strictEqual(created.status?.phase, "Pending")
      assert.isTrue(Object.isFrozen(created.spec))
      const deletion = yield* client.delete(Pod, created)
      assert.strictEqual(deletion._tag, "Deleted")
      const missing = yield* Effect.flip(client.get(Pod, created))
      assert.strictEqual(missing.reason._tag, "NotFound")
    }).pipe(Effect.provide(layer)))

  it.effect("counts requests", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      yield* call("GET", `${pods}/a`)
      const counts = yield* (yield* ApiServer).requestCounts
      assert.deepStrictEqual(counts, { "create pods": 1, "get pods": 1 })
    }).pipe(Effect.provide(layer)))
})
