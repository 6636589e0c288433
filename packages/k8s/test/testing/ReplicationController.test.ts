import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Pod, ReplicationController } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const cluster = SimControllers.layer().pipe(Layer.provideMerge(TestClient.layer), Layer.provideMerge(ApiServer.layer))

const key = { namespace: "default", name: "web" }
const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "x" }] } }

const pods = KubeClient.use((client) => Stream.runCollect(client.list(Pod)))
const get = KubeClient.use((client) => client.get(ReplicationController, key))

describe("ReplicationController", () => {
  it.effect("makes Pods that it owns, as many as asked for, and counts them", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(ReplicationController, { metadata: key, spec: { replicas: 3, template } })
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("10 seconds")
      const all = yield* pods
      assert.lengthOf(all, 3)
      const { metadata: { uid }, status } = yield* get
      for (const { metadata } of all) {
        assert.match(metadata.name, /^web-.{5}$/)
        assert.deepStrictEqual(metadata.ownerReferences, [
          {
            apiVersion: "v1",
            kind: "ReplicationController",
            name: "web",
            uid,
            controller: true,
            blockOwnerDeletion: true
          }
        ])
      }
      assert.deepStrictEqual(status, {
        replicas: 3,
        fullyLabeledReplicas: 3,
        readyReplicas: 3,
        availableReplicas: 3,
        observedGeneration: 1
      })
      yield* client.patch(ReplicationController, key, Patch.merge({ spec: { replicas: 0 } }))
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(yield* pods, 0)
      assert.deepStrictEqual((yield* get).status, { replicas: 0, observedGeneration: 2 })
    }).pipe(Effect.provide(cluster)))

  it.effect("adopts what its selector matches, releases what it does not, and its Pods go with it", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const stray = { namespace: "default", name: "stray" }
      yield* client.create(Pod, { metadata: { ...stray, labels: { app: "web" } }, spec: template.spec })
      yield* client.create(ReplicationController, { metadata: key, spec: { replicas: 2, template } })
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(yield* pods, 2)
      assert.strictEqual((yield* client.get(Pod, stray)).metadata.ownerReferences?.[0]?.name, "web")
      yield* client.patch(Pod, stray, Patch.merge({ metadata: { labels: { app: "other" } } }))
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined((yield* client.get(Pod, stray)).metadata.ownerReferences)
      assert.lengthOf(yield* pods, 3)
      yield* client.delete(ReplicationController, key, { propagationPolicy: "Background" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* pods).map(({ metadata }) => metadata.name), ["stray"])
    }).pipe(Effect.provide(cluster)))
})
