import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap, Namespace, Pod, Secret } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const cluster = SimControllers.layer().pipe(Layer.provideMerge(TestClient.layer), Layer.provideMerge(ApiServer.layer))

const create = (name: string) => KubeClient.use((client) => client.create(Namespace, { metadata: { name } }))

const get = (name: string) => KubeClient.use((client) => client.get(Namespace, { name }))

const exists = (name: string) =>
  get(name).pipe(Effect.as(true), Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(false)))

const conditions = (namespace: Namespace) =>
  (namespace.status?.conditions ?? []).map(({ message, reason, status, type }) => [type, status, reason, message])

describe("NamespaceController", () => {
  it.effect("deletes everything in a namespace after five seconds, then the namespace", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      yield* create("b")
      for (const namespace of ["a", "b"]) {
        yield* client.create(ConfigMap, { metadata: { namespace, name: "x" } })
        yield* client.create(Secret, { metadata: { namespace, name: "x" } })
      }
      yield* client.delete(Namespace, { name: "a" })
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual((yield* get("a")).status?.phase, "Terminating")
      assert.strictEqual((yield* Stream.runCollect(client.list(ConfigMap, { namespace: "a" }))).length, 1)
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* exists("a"))
      for (const kind of [ConfigMap, Secret]) {
        const left = yield* Stream.runCollect(client.list<typeof kind["Type"]>(kind))
        assert.deepStrictEqual(left.map(({ metadata }) => metadata.namespace), ["b"])
      }
    }).pipe(Effect.provide(cluster)))

  it.effect("says what is left and what holds it, and finishes when that is gone", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      yield* client.create(ConfigMap, { metadata: { namespace: "a", name: "free" } })
      yield* client.create(ConfigMap, { metadata: { namespace: "a", name: "held", finalizers: ["a/b"] } })
      yield* client.delete(Namespace, { name: "a" })
      yield* TestClock.adjust("5 seconds")
      // What went at once is not counted, though the news of it may come later.
      assert.deepStrictEqual(conditions(yield* get("a")), [
        ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"],
        [
          "NamespaceDeletionGroupVersionParsingFailure",
          "False",
          "ParsedGroupVersions",
          "All legacy kube types successfully parsed"
        ],
        [
          "NamespaceDeletionContentFailure",
          "False",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization"
        ],
        [
          "NamespaceContentRemaining",
          "True",
          "SomeResourcesRemain",
          "Some resources are remaining: configmaps. has 1 resource instances"
        ],
        [
          "NamespaceFinalizersRemaining",
          "True",
          "SomeFinalizersRemain",
          "Some content in the namespace has finalizers remaining: a/b in 1 resource instances"
        ]
      ])
      yield* client.patch(ConfigMap, { namespace: "a", name: "held" }, Patch.merge({ metadata: { finalizers: null } }))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster)))

  it.effect("waits for Pods to end", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      const spec = { containers: [{ name: "main", image: "nginx" }] }
      yield* client.create(Pod, { metadata: { namespace: "a", name: "p" }, spec })
      yield* TestClock.adjust("2 seconds")
      yield* client.delete(Namespace, { name: "a" })
      yield* TestClock.adjust("5500 millis")
      assert.isTrue(yield* exists("a"))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster)))

  it.effect("deletes Pods first, and touches nothing else while one of them is held", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      const spec = { containers: [{ name: "main", image: "nginx" }] }
      const held = { namespace: "a", name: "p" }
      yield* client.create(Pod, { metadata: { ...held, finalizers: ["a/b"] }, spec })
      yield* client.create(ConfigMap, { metadata: { namespace: "a", name: "x" } })
      yield* client.delete(Namespace, { name: "a" })
      yield* TestClock.adjust("1 minute")
      assert.isDefined((yield* client.get(Pod, held)).metadata.deletionTimestamp)
      assert.strictEqual((yield* Stream.runCollect(client.list(ConfigMap, { namespace: "a" }))).length, 1)
      assert.deepStrictEqual(
        conditions(yield* get("a")).map(([type, status, reason]) => [type, status, reason]),
        [
          ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"],
          ["NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"],
          ["NamespaceDeletionContentFailure", "False", "ContentDeleted"],
          ["NamespaceContentRemaining", "False", "ContentRemoved"],
          ["NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"]
        ]
      )
      yield* client.patch(Pod, held, Patch.merge({ metadata: { finalizers: null } }))
      yield* TestClock.adjust("2 seconds")
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster)))

  it.effect("a namespace can be created anew under the same name", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      yield* client.delete(Namespace, { name: "a" })
      yield* TestClock.adjust("6 seconds")
      const second = yield* create("a")
      yield* client.create(ConfigMap, { metadata: { namespace: "a", name: "x" } })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* get("a")).metadata.uid, second.metadata.uid)
      assert.strictEqual((yield* Stream.runCollect(client.list(ConfigMap, { namespace: "a" }))).length, 1)
    }).pipe(Effect.provide(cluster)))
})
