import { KubeClient } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { ApiServer, TestClient } from "@effect-operator/k8s/testing"
import * as Crd from "@effect-operator/k8s/Crd"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Box } from "./planted/Box.ts"

const on = <A, E>(
  options: ApiServer.Options,
  program: Effect.Effect<A, E, ApiServer.ApiServer | KubeClient.KubeClient>
) =>
  Effect.provide(program, Layer.fresh(Layer.provideMerge(TestClient.layer, ApiServer.ApiServer.layerOptions(options))))

const client = KubeClient.KubeClient
const image = Effect.andThen(Crd.install(Box), ApiServer.ApiServer.use((server) => server.image))
const key = { namespace: "default", name: "a" }

describe("a server that begins with the image of another", () => {
  it.live("has what the other had, serves its kinds, and goes on from its revision", () =>
    Effect.gen(function*() {
      const begin = yield* on({}, image)
      yield* on(
        { image: begin },
        Effect.gen(function*() {
          const it = yield* client
          const server = yield* ApiServer.ApiServer
          assert.strictEqual(yield* server.revision, begin.revision)
          const box = yield* it.create(Box, { metadata: key, spec: { size: 1 } })
          assert.strictEqual(box.metadata.resourceVersion, String(begin.revision + 1))
          const refused = yield* server.handle({
            method: "POST",
            path: "/apis/planted.example.com/v1/namespaces/default/boxes",
            query: [],
            headers: { "content-type": "application/json" },
            body: { apiVersion: Box.apiVersion, kind: Box.kind, metadata: { name: "b" }, spec: { size: "x" } }
          })
          assert.strictEqual(refused.status, 422)
          assert.strictEqual((yield* it.listPage(Box, {})).items.length, 1)
          const discovered = yield* server.handle({
            method: "GET",
            path: "/apis/planted.example.com/v1",
            query: [],
            headers: { accept: "application/json" }
          })
          assert.strictEqual(discovered.status, 200)
        })
      )
    }))

  it.live("shares nothing that changes: neither the image nor another server sees its writes", () =>
    Effect.gen(function*() {
      const begin = yield* on({}, Effect.andThen(client.use((it) => it.create(ConfigMap, { metadata: key })), image))
      const count = client.use((it) =>
        Effect.map(it.listPage(ConfigMap, { namespace: "default" }), (page) => page.items.length)
      )
      yield* on(
        { image: begin },
        Effect.gen(function*() {
          const it = yield* client
          yield* it.delete(ConfigMap, key)
          yield* it.create(ConfigMap, { metadata: { ...key, name: "b" } })
          yield* it.create(ConfigMap, { metadata: { ...key, name: "c" } })
          assert.strictEqual(yield* count, 2)
        })
      )
      assert.strictEqual(yield* on({ image: begin }, count), 1)
      assert.strictEqual(begin.collections.get("configmaps")?.size, 1)
    }))

  it.live("tells of every change within the write", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      yield* on(
        { onChange: ({ object, type }) => told.push(`${type} ${object.kind} ${object.metadata.name}`) },
        client.use((it) => Effect.andThen(it.create(ConfigMap, { metadata: key }), it.delete(ConfigMap, key)))
      )
      assert.deepStrictEqual(told, ["ADDED ConfigMap a", "DELETED ConfigMap a"])
    }))
})
