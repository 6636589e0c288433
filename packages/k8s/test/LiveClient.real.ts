import { KubeClient, KubeObject, Resource, type WatchEvent } from "@effect-operator/core"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { clientLayer, Envtest, layerOptions } from "../src/testing/Envtest.ts"

interface ConfigMap extends KubeObject.KubeObject {
  readonly metadata: KubeObject.NamespacedObjectMeta
  readonly data?: Readonly<Record<string, string>>
}
const ConfigMap = Resource.make<ConfigMap>()({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced"
})
const Namespace = Resource.make<KubeObject.KubeObject>()({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  scope: "Cluster"
})

const Event = Resource.make<KubeObject.KubeObject>()({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced"
})

/** Makes etcd forget every revision before the object's. */
const compact = (object: KubeObject.KubeObject) =>
  Effect.flatMap(Envtest, ({ etcdUrl }) =>
    Effect.promise(() =>
      fetch(`${etcdUrl}/v3/kv/compaction`, {
        method: "POST",
        body: JSON.stringify({ revision: object.metadata.resourceVersion, physical: true })
      })
    ))

/** A namespace of its own for each test, so that none sees another's objects. */
const ownNamespace = (name: string) =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name } })
    return { client, namespace: name }
  })

const ControlPlane = Layer.provideMerge(clientLayer, layerOptions({ controllerManager: false }))

layer(ControlPlane, { timeout: "2 minutes", excludeTestServices: true })("LiveClient on a real API server", (it) => {
  it.effect("applies any text as it is, though the server reads it as YAML", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("any-text")
      const code = [0, 1, 9, 0xa, 0xd, 0x1f, 0x7f, 0x80, 0x85, 0x9f, 0xa0, 0xad, 0x2028, 0x2029, 0xfeff, 0xfffd, 0xfffe]
      const data = Object.fromEntries(
        [...code, 0xffff, 0x1f600, 0x10ffff].map((point) => [`${point}`, `a ${String.fromCodePoint(point)} b`])
      )
      const applied = yield* client.apply(ConfigMap, { metadata: { namespace, name: "a" }, data })
      assert.deepStrictEqual(applied.data, data)
    }))

  it.effect("creates, reads, replaces, lists and deletes", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("crud")
      const key = { namespace, name: "a" }
      const created = yield* client.create(ConfigMap, { metadata: key, data: { k: "ü 🚀" } })
      assert.strictEqual(created.kind, "ConfigMap")
      assert.isNotEmpty(created.metadata.uid)
      assert.deepStrictEqual(yield* client.get(ConfigMap, key), created)
      const replaced = yield* client.replace(ConfigMap, { ...created, data: { k: "2" } })
      assert.notStrictEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion)
      const listed = yield* Stream.runCollect(client.list(ConfigMap, { namespace }))
      assert.deepStrictEqual(listed.find(({ metadata }) => metadata.name === "a")?.data, { k: "2" })
      const deletion = yield* client.delete(ConfigMap, replaced)
      assert.deepStrictEqual(deletion, { _tag: "Deleted", uid: created.metadata.uid })
      assert.strictEqual((yield* Effect.flip(client.get(ConfigMap, key))).reason._tag, "NotFound")
    }))

  it.effect("tells errors apart", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("errors")
      const key = { namespace, name: "a" }
      const created = yield* client.create(ConfigMap, { metadata: key })
      const reason = <A>(effect: Effect.Effect<A, { readonly reason: { readonly _tag: string } }>) =>
        Effect.map(Effect.flip(effect), (error) => error.reason._tag)
      assert.strictEqual(yield* reason(client.create(ConfigMap, { metadata: key })), "AlreadyExists")
      assert.strictEqual(yield* reason(client.create(ConfigMap, { metadata: { namespace, name: "N O" } })), "Invalid")
      yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { k: "1" } }))
      assert.strictEqual(yield* reason(client.replace(ConfigMap, created)), "Conflict")
      yield* client.delete(ConfigMap, key)
      yield* client.create(ConfigMap, { metadata: key })
      assert.strictEqual(yield* reason(client.delete(ConfigMap, created)), "Conflict")
      assert.strictEqual(yield* reason(client.get(ConfigMap, { namespace, name: "b" })), "NotFound")
    }))

  it.effect("patches in every format", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("patches")
      const key = { namespace, name: "a" }
      yield* client.create(ConfigMap, { metadata: key, data: { a: "1", b: "1" } })
      const merged = yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { a: null, c: "1" } }))
      assert.deepStrictEqual(merged.data, { b: "1", c: "1" })
      const json = yield* client.patch(
        ConfigMap,
        key,
        KubeClient.Patch.json([
          { op: "test", path: "/data/b", value: "1" },
          { op: "replace", path: "/data/b", value: "2" }
        ])
      )
      assert.deepStrictEqual(json.data, { b: "2", c: "1" })
      const strategic = yield* client.patch(
        ConfigMap,
        key,
        KubeClient.Patch.strategic({ data: { $patch: "replace", d: "1" } })
      )
      assert.deepStrictEqual(strategic.data, { d: "1" })
      const applied = yield* client.apply(ConfigMap, { metadata: key, data: { e: "1" } }, { fieldManager: "one" })
      assert.strictEqual(applied.data?.["e"], "1")
      const conflict = yield* Effect.flip(
        client.apply(ConfigMap, { metadata: key, data: { e: "2" } }, { fieldManager: "two" })
      )
      assert.strictEqual(conflict.reason._tag, "Conflict")
      const forced = yield* client.apply(ConfigMap, { metadata: key, data: { e: "2" } }, {
        fieldManager: "two",
        force: true
      })
      assert.strictEqual(forced.data?.["e"], "2")
      const dry = yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { e: "3" } }), { dryRun: true })
      assert.strictEqual(dry.data?.["e"], "3")
      assert.strictEqual((yield* client.get(ConfigMap, key)).data?.["e"], "2")
    }))

  it.effect("lists page by page, and says when a page token expired", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("pages")
      const names = Array.from({ length: 5 }, (_, index) => `cm-${index}`)
      yield* Effect.forEach(names, (name) =>
        client.create(ConfigMap, { metadata: { namespace, name, labels: { page: "" } } }))
      const options = { namespace, labels: "page", limit: 2 }
      const first = yield* client.listPage(ConfigMap, options)
      const second = yield* client.listPage(ConfigMap, { ...options, continue: first.continue })
      const third = yield* client.listPage(ConfigMap, { ...options, continue: second.continue })
      assert.deepStrictEqual(
        [first, second, third].map(({ items }) =>
          items.length
        ),
        [2, 2, 1]
      )
      assert.strictEqual(third.resourceVersion, first.resourceVersion)
      assert.isUndefined(third.continue)
      const all = yield* Stream.runCollect(client.list(ConfigMap, options))
      assert.deepStrictEqual(all.map(({ metadata }) => metadata.name), names)

      yield* compact(yield* client.create(ConfigMap, { metadata: { namespace, name: "after" } }))
      const expired = yield* Effect.flip(client.listPage(ConfigMap, { ...options, continue: first.continue }))
      assert.strictEqual(expired.reason._tag, "Gone")
    }))

  it.effect("watches from a resourceVersion: later changes, all of them, in order", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("watch")
      yield* client.create(ConfigMap, { metadata: { namespace, name: "before" } })
      const { resourceVersion } = yield* client.listPage(ConfigMap, { namespace })
      const events = yield* Effect.forkChild(
        client.watch(ConfigMap, { namespace, resourceVersion }).pipe(
          Stream.filter((event) => event.type !== "BOOKMARK"),
          Stream.take(3),
          Stream.runCollect
        )
      )
      const key = { namespace, name: "a" }
      const created = yield* client.create(ConfigMap, { metadata: key })
      const patched = yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { k: "x".repeat(300_000) } }))
      yield* client.delete(ConfigMap, key)
      const seen = yield* Fiber.join(events)
      assert.deepStrictEqual(seen.map(({ type }) => type), ["ADDED", "MODIFIED", "DELETED"])
      assert.deepStrictEqual(seen[0]?.object, created)
      assert.deepStrictEqual(seen[1]?.object, patched)
    }))

  it.effect("gets a bookmark, and an end when the time is over", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("bookmarks")
      const { resourceVersion } = yield* client.listPage(ConfigMap, { namespace })
      // A server sends no bookmark as long as nothing of the kind happens anywhere.
      const key = { namespace: "default", name: "elsewhere" }
      yield* client.create(ConfigMap, { metadata: key })
      const writes = Effect.forEach(Array.from({ length: 30 }, (_, at) => String(at)), (at) =>
        Effect.delay(client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { at } })), "100 millis"))
      yield* Effect.forkChild(writes)
      const events: ReadonlyArray<WatchEvent.WatchEvent<ConfigMap>> = yield* Stream.runCollect(
        client.watch(ConfigMap, { namespace, resourceVersion, timeoutSeconds: 3 })
      )
      assert.isNotEmpty(events)
      for (const { object, type } of events) {
        assert.strictEqual(type, "BOOKMARK")
        assert.isAbove(KubeObject.compareResourceVersions(object.metadata.resourceVersion, resourceVersion), 0)
      }
    }))

  it.effect("is told that a resourceVersion is gone, inside the watch", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("gone")
      yield* compact(yield* client.create(ConfigMap, { metadata: { namespace, name: "a" } }))
      // Events have no watch cache, so this watch goes to etcd, which has forgotten.
      const error = yield* Effect.flip(Stream.runDrain(client.watch(Event, { resourceVersion: "1" })))
      assert.strictEqual(error.reason._tag, "Gone")
    }))

  it.effect("stops watching when interrupted", () =>
    Effect.gen(function*() {
      const { client, namespace } = yield* ownNamespace("interrupt")
      const started = yield* Deferred.make<void>()
      yield* client.create(ConfigMap, { metadata: { namespace, name: "a" } })
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(client.watch(ConfigMap, { namespace }), () => Deferred.succeed(started, undefined))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* client.get(ConfigMap, { namespace, name: "a" })).metadata.name, "a")
    }))
})
