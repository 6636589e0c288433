import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { controllerReference, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { CustomResourceDefinition } from "../../src/kinds/apiextensions.v1.ts"
import { ConfigMap, Namespace, Secret } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as GarbageCollector from "../../src/testing/GarbageCollector.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const server = TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer))
const collected = GarbageCollector.layer.pipe(Layer.provideMerge(server))

const Widget = Resource.make<KubeObject>()({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const key = (name: string, namespace = "default") => ({ namespace, name })

const configMap = (name: string, owners: ReadonlyArray<OwnerReference> = [], namespace = "default") =>
  KubeClient.use((client) =>
    client.create(ConfigMap, { metadata: { ...key(name, namespace), ownerReferences: owners } })
  )

const remaining = (...names: ReadonlyArray<string>) =>
  Effect.filter(names, (name) =>
    KubeClient.use((client) => client.get(ConfigMap, key(name))).pipe(
      Effect.as(true),
      Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(false))
    ))

const remove = (name: string, propagationPolicy?: "Background" | "Foreground" | "Orphan") =>
  KubeClient.use((client) => client.delete(ConfigMap, key(name), { propagationPolicy }))

/** Lets the collector do what it has to, including a few retries. */
const settle = TestClock.adjust("1 second")

/** The stored owner references of a ConfigMap, by name of the owner. */
const owners = (name: string) =>
  KubeClient.use((client) => client.get(ConfigMap, key(name))).pipe(
    Effect.map(({ metadata }) => metadata.ownerReferences?.map((owner) => owner.name))
  )

const widgetDefinition = KubeClient.use((client) =>
  client.create(CustomResourceDefinition, {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
    }
  })
)

describe("GarbageCollector", () => {
  it.effect("background: dependents go with their owner, and theirs with them", () =>
    Effect.gen(function*() {
      const a = yield* configMap("a")
      const b = yield* configMap("b", [controllerReference(a)])
      yield* configMap("c", [controllerReference(b)])
      yield* configMap("other")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b", "c", "other"), ["a", "b", "c", "other"])
      yield* remove("a")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b", "c", "other"), ["other"])
    }).pipe(Effect.provide(collected)))

  it.effect("collects what was orphaned before it started", () =>
    Effect.gen(function*() {
      const a = yield* configMap("a")
      yield* configMap("b", [controllerReference(a)])
      yield* remove("a")
      yield* settle
      assert.deepStrictEqual(yield* remaining("b"), ["b"])
      yield* Effect.gen(function*() {
        yield* settle
        assert.deepStrictEqual(yield* remaining("b"), [])
      }).pipe(Effect.provide(GarbageCollector.layer))
    }).pipe(Effect.provide(server)))

  it.effect("a dependent of several owners goes with the last; until then the reference that went is dropped", () =>
    Effect.gen(function*() {
      const a = yield* configMap("a")
      const b = yield* configMap("b")
      yield* configMap("c", [controllerReference(a), { ...controllerReference(b), controller: false }])
      yield* remove("a")
      yield* settle
      assert.deepStrictEqual(yield* owners("c"), ["b"])
      yield* remove("b")
      yield* settle
      assert.deepStrictEqual(yield* remaining("c"), [])
    }).pipe(Effect.provide(collected)))

  it.effect("an owner re-created under the same name is another owner", () =>
    Effect.gen(function*() {
      const first = yield* configMap("a")
      yield* configMap("b", [controllerReference(first)])
      yield* remove("a")
      yield* configMap("a")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b"), ["a"])
    }).pipe(Effect.provide(collected)))

  it.effect("an owner in another namespace, or under another name or kind, is none", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(Namespace, { metadata: { name: "elsewhere" } })
      const far = yield* configMap("a", [], "elsewhere")
      const near = yield* configMap("a")
      yield* configMap("far", [controllerReference(far)])
      yield* configMap("renamed", [{ ...controllerReference(near), name: "b" }])
      yield* configMap("rekinded", [{ ...controllerReference(near), kind: "Secret" }])
      yield* configMap("fine", [controllerReference(near)])
      yield* settle
      assert.deepStrictEqual(yield* remaining("far", "renamed", "rekinded", "fine"), ["fine"])
    }).pipe(Effect.provide(collected)))

  it.effect("a cluster-scoped owner owns what is in namespaces, and never the other way round", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const definition = yield* widgetDefinition
      const inside = yield* configMap("a", [controllerReference(definition)])
      yield* client.create(Namespace, {
        metadata: { name: "owned", ownerReferences: [{ ...controllerReference(inside), uid: "gone" }] }
      })
      yield* settle
      yield* client.delete(CustomResourceDefinition, definition)
      yield* settle
      assert.deepStrictEqual(yield* remaining("a"), [])
      assert.isUndefined((yield* client.get(Namespace, { name: "owned" })).metadata.deletionTimestamp)
    }).pipe(Effect.provide(collected)))

  it.effect("an owner of a kind that is not served keeps its dependents, until the kind is served", () =>
    Effect.gen(function*() {
      yield* configMap("a", [{ apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "gone" }])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* remaining("a"), ["a"])
      yield* widgetDefinition
      yield* settle
      assert.deepStrictEqual(yield* remaining("a"), [])
    }).pipe(Effect.provide(collected)))

  it.effect("what custom objects own goes with them when their definition is deleted", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const definition = yield* widgetDefinition
      const widget = yield* client.create(Widget, { metadata: key("w") })
      yield* configMap("a", [controllerReference(widget)])
      yield* settle
      assert.deepStrictEqual(yield* remaining("a"), ["a"])
      yield* client.delete(CustomResourceDefinition, definition)
      yield* settle
      assert.deepStrictEqual(yield* remaining("a"), [])
    }).pipe(Effect.provide(collected)))

  it.effect("custom resources own and are owned", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* widgetDefinition
      const a = yield* configMap("a")
      const widget = yield* client.create(Widget, {
        metadata: { ...key("w"), ownerReferences: [controllerReference(a)] }
      })
      yield* configMap("b", [controllerReference(widget)])
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b"), ["a", "b"])
      yield* remove("a")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b"), [])
      assert.strictEqual((yield* Stream.runCollect(client.list(Widget))).length, 0)
    }).pipe(Effect.provide(collected)))

  it.effect("foreground: the owner stays until dependents that block are gone, and does not wait for others", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const a = yield* configMap("a")
      const held = { ...controllerReference(a) }
      yield* client.create(ConfigMap, {
        metadata: { ...key("blocking"), ownerReferences: [held], finalizers: ["example.com/hold"] }
      })
      yield* client.create(ConfigMap, {
        metadata: {
          ...key("other"),
          ownerReferences: [{ ...held, blockOwnerDeletion: false }],
          finalizers: ["example.com/hold"]
        }
      })
      yield* settle
      yield* remove("a", "Foreground")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "blocking", "other"), ["a", "blocking", "other"])
      for (const name of ["blocking", "other"]) {
        assert.isDefined((yield* client.get(ConfigMap, key(name))).metadata.deletionTimestamp)
      }
      yield* client.patch(ConfigMap, key("blocking"), Patch.merge({ metadata: { finalizers: null } }))
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "blocking", "other"), ["other"])
    }).pipe(Effect.provide(collected)))

  it.effect("foreground: the whole tree goes from the leaves up", () =>
    Effect.gen(function*() {
      const api = yield* ApiServer
      const a = yield* configMap("a")
      const b = yield* configMap("b", [controllerReference(a)])
      yield* configMap("c", [controllerReference(b)])
      yield* settle
      const before = yield* api.revision
      yield* remove("a", "Foreground")
      yield* settle
      const deleted = (yield* api.log(before)).filter(({ type }) => type === "DELETED")
      assert.deepStrictEqual(deleted.map(({ object }) => object.metadata.name), ["c", "b", "a"])
    }).pipe(Effect.provide(collected)))

  it.effect("foreground: a circle of owners goes as a whole", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const a = yield* configMap("a")
      const b = yield* configMap("b", [{ ...controllerReference(a), blockOwnerDeletion: true }])
      const c = yield* configMap("c", [{ ...controllerReference(b), blockOwnerDeletion: true }])
      const ownerReferences = [{ ...controllerReference(c), blockOwnerDeletion: true }]
      yield* client.patch(ConfigMap, key("a"), Patch.merge({ metadata: { ownerReferences } }))
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b", "c"), ["a", "b", "c"])
      yield* remove("a", "Foreground")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b", "c"), [])
    }).pipe(Effect.provide(collected)))

  it.effect("foreground: a dependent that blocks no more lets its owner go", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const a = yield* configMap("a")
      const metadata = { ...key("b"), ownerReferences: [controllerReference(a)], finalizers: ["example.com/hold"] }
      yield* client.create(ConfigMap, { metadata })
      yield* remove("a", "Foreground")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b"), ["a", "b"])
      yield* client.patch(ConfigMap, key("b"), Patch.merge({ metadata: { ownerReferences: null } }))
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b"), ["b"])
    }).pipe(Effect.provide(collected)))

  it.effect("orphan: dependents lose the reference and stay", () =>
    Effect.gen(function*() {
      const a = yield* configMap("a")
      const z = yield* configMap("z")
      yield* configMap("b", [controllerReference(a)])
      yield* configMap("c", [controllerReference(a), { ...controllerReference(z), controller: false }])
      yield* settle
      yield* remove("a", "Orphan")
      yield* settle
      assert.deepStrictEqual(yield* remaining("a", "b", "c"), ["b", "c"])
      assert.isUndefined(yield* owners("b"))
      assert.deepStrictEqual(yield* owners("c"), ["z"])
    }).pipe(Effect.provide(collected)))

  it.effect("a change between look and write is looked at again", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const a = yield* configMap("a")
      const b = yield* configMap("b")
      yield* configMap("c", [controllerReference(a)])
      // In one go, so that the collector hears of all of it at once.
      yield* Effect.all([
        remove("a"),
        client.patch(ConfigMap, key("c"), Patch.merge({ metadata: { ownerReferences: [controllerReference(b)] } }))
      ])
      yield* settle
      assert.deepStrictEqual(yield* remaining("c"), ["c"])
    }).pipe(Effect.provide(collected)))

  it.effect("looks once at each of 3,000 dependents that go, and asks for no owner that it saw go", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const api = yield* ApiServer
      yield* Effect.forEach(Array.from({ length: 100 }, (_, at) => at), (at) =>
        Effect.gen(function*() {
          const owner = yield* client.create(Secret, { metadata: key(`o${at}`) })
          yield* Effect.forEach(
            Array.from({ length: 30 }, (_, index) => index),
            (index) => configMap(`d${at}-${index}`, [controllerReference(owner)])
          )
        }))
      yield* settle
      const before = yield* api.requestCounts
      yield* client.deleteCollection(Secret, { namespace: "default" })
      yield* settle
      const after = yield* api.requestCounts
      assert.strictEqual((yield* Stream.runCollect(client.list(ConfigMap))).length, 0)
      assert.strictEqual(after["delete configmaps"], 3000)
      assert.strictEqual(after["get secrets"], before["get secrets"])
    }).pipe(Effect.provide(collected)))
})
