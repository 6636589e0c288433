import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap } from "../../../src/kinds/core.v1.ts"
import * as Informers from "../../../src/testing/sim/Informers.ts"
import { layer } from "../support/server.ts"

const server = Informers.layer.pipe(Layer.provideMerge(layer))
const key = (name: string) => ({ namespace: "default", name })
const create = (name: string, metadata: object = {}) =>
  KubeClient.use((client) => client.create(ConfigMap, { metadata: { ...key(name), ...metadata } }))

describe("Informers", () => {
  it.effect("own writes count at once, and the news of them is no news", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const maps = yield* (yield* Informers.Informers).of(ConfigMap)
      yield* TestClock.adjust("1 millis")
      yield* maps.synced
      const told: Array<string> = []
      maps.listen((now, before) => {
        told.push(`${before === undefined ? "+" : now === undefined ? "-" : "~"}${(now ?? before)!.metadata.name}`)
      })
      const a = yield* create("a")
      assert.strictEqual(maps.get(key("a"))?.metadata.uid, a.metadata.uid)
      yield* client.patch(ConfigMap, a, Patch.merge({ data: { x: "1" } }))
      assert.strictEqual(maps.get(key("a"))?.data?.["x"], "1")
      yield* client.delete(ConfigMap, a)
      assert.isUndefined(maps.get(key("a")))
      const again = yield* create("a")
      assert.deepStrictEqual(told, ["+a", "~a", "-a", "+a"])
      // Now the watch tells of all of it.
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["+a", "~a", "-a", "+a"])
      assert.strictEqual(maps.get(key("a"))?.metadata.uid, again.metadata.uid)
    }).pipe(Effect.provide(server)))

  it.effect("whoever listens late is told of what there is", () =>
    Effect.gen(function*() {
      const informers = yield* Informers.Informers
      yield* informers.of(ConfigMap)
      yield* create("a")
      yield* TestClock.adjust("1 millis")
      const told: Array<string> = []
      const maps = yield* informers.of(ConfigMap)
      maps.listen((now) => told.push(now!.metadata.name))
      assert.include(told, "a")
      assert.isTrue([...maps.all()].length === told.length)
    }).pipe(Effect.provide(server)))

  it.effect("knows the objects of a namespace, of an owner, and of nobody", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const maps = yield* (yield* Informers.Informers).of(ConfigMap)
      yield* TestClock.adjust("1 millis")
      const owner = yield* create("owner")
      const child = yield* create("child", { ownerReferences: [controllerReference(owner)] })
      const names = (list: Iterable<ConfigMap>) => [...list].map(({ metadata }) => metadata.name)
      assert.deepStrictEqual(names(maps.controlledBy(owner.metadata.uid)), ["child"])
      assert.includeMembers(names(maps.orphans("default")), ["owner"])
      assert.notInclude(names(maps.orphans("default")), "child")
      yield* client.patch(ConfigMap, child, Patch.merge({ metadata: { ownerReferences: null } }))
      assert.deepStrictEqual(names(maps.controlledBy(owner.metadata.uid)), [])
      assert.includeMembers(names(maps.orphans("default")), ["owner", "child"])
      assert.includeMembers(names(maps.inNamespace("default")), ["owner", "child"])
      assert.deepStrictEqual(names(maps.inNamespace("other")), [])
    }).pipe(Effect.provide(server)))
})
