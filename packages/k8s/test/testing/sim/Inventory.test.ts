import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type * as Resource from "@effect-operator/core/Resource"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Deployment } from "../../../src/kinds/apps.v1.ts"
import { ConfigMap, Namespace } from "../../../src/kinds/core.v1.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as Inventory from "../../../src/testing/sim/Inventory.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"

const server = TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer))

const key = (name: string) => ({ namespace: "default", name })

const create = (name: string) => KubeClient.use((client) => client.create(ConfigMap, { metadata: key(name) }))

/** Follows everything; `told` is what was handed over of ConfigMaps. */
const noting = () => {
  const told: Array<string> = []
  const resources = new Set<string>()
  const note = (mark: string): Inventory.Handlers["onGone"] => (resource: Resource.Any, object) => {
    resources.add(`${resource.scope} ${resource.apiVersion} ${resource.plural} ${resource.kind}`)
    if (resource.kind === "ConfigMap") told.push(`${mark}${object.metadata.name}`)
  }
  return { told, resources, handlers: { onPresent: note("+"), onGone: note("-") } }
}

describe("Inventory", () => {
  it.effect("hands over what is there, of every kind, then every change, once and in order", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a")
      const { handlers, resources, told } = noting()
      yield* Inventory.follow(handlers)
      assert.deepStrictEqual(told, ["+a"])
      yield* create("b")
      yield* client.patch(ConfigMap, key("a"), Patch.merge({ data: { x: "y" } }))
      yield* client.delete(ConfigMap, key("b"))
      const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
      yield* client.create(Deployment, {
        metadata: key("d"),
        spec: { selector: { matchLabels: { a: "b" } }, template }
      })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(told, ["+a", "+b", "+a", "-b"])
      assert.includeMembers([...resources], [
        "Cluster v1 namespaces Namespace",
        "Namespaced apps/v1 deployments Deployment",
        "Namespaced v1 configmaps ConfigMap"
      ])
    }).pipe(Effect.provide(server)))

  it.effect("misses nothing that is committed while it looks, and tells nothing twice", () =>
    Effect.gen(function*() {
      const context = yield* Effect.context<ApiServer | KubeClient>()
      const api = yield* ApiServer
      yield* create("a")
      const { handlers, told } = noting()
      // Somebody writes after each of the steps by which the inventory begins.
      const writing = <A>(name: string, effect: Effect.Effect<A>) =>
        Effect.tap(effect, () => Effect.orDie(Effect.provideContext(create(name), context)))
      const busy: ApiServer["Service"] = {
        ...api,
        image: Effect.andThen(writing("b", Effect.void), writing("c", api.image)),
        changes: Stream.unwrap(Effect.as(writing("d", Effect.void), api.changes)),
        log: (after) => Effect.andThen(writing("e", Effect.void), writing("f", api.log(after)))
      }
      yield* Effect.provideService(Inventory.follow(handlers), ApiServer, busy)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(told, ["+a", "+b", "+c", "+d", "+e", "+f"])
    }).pipe(Effect.provide(server)))

  it.effect("knows which resource serves a kind, while one does", () =>
    Effect.gen(function*() {
      const kinds = yield* Inventory.kinds
      const deployments = yield* kinds("apps/v1", "Deployment")
      assert.deepStrictEqual([deployments?.plural, deployments?.scope], ["deployments", "Namespaced"])
      assert.strictEqual((yield* kinds("v1", "Namespace"))?.id, Namespace.id)
      assert.isUndefined(yield* kinds("apps/v1", "Widget"))
      assert.isUndefined(yield* kinds("example.com/v1", "Widget"))
      // A kind that only a subresource has.
      assert.isUndefined(yield* kinds("v1", "Eviction"))
    }).pipe(Effect.provide(server)))
})
