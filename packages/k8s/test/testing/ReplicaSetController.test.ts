import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ReplicaSet } from "../../src/kinds/apps.v1.ts"
import { LimitRange, Pod } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as ReplicaSetController from "../../src/testing/ReplicaSetController.ts"
import { layer } from "./support/server.ts"

const cluster = ReplicaSetController.layer.pipe(Layer.provideMerge(layer))

const key = { namespace: "default", name: "web" }
const resources = { requests: { cpu: "2" }, limits: { cpu: "2" } }
const body = (replicas: number) => ({
  metadata: key,
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "x", resources }] } }
  }
})

const pods = KubeClient.use((client) => Stream.runCollect(client.list(Pod)))
const get = KubeClient.use((client) => client.get(ReplicaSet, key))
const counts = Effect.flatMap(ApiServer, ({ requestCounts }) => requestCounts)

describe("ReplicaSetController", () => {
  it.effect("makes and deletes exactly what is missing and too much, however fast it is scaled", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const scale = (replicas: number) => client.patch(ReplicaSet, key, Patch.merge({ spec: { replicas } }))
      yield* client.create(ReplicaSet, body(5))
      yield* TestClock.adjust("1 millis")
      yield* scale(20)
      yield* TestClock.adjust("1 millis")
      yield* scale(7)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(yield* pods, 7)
      const { "create pods": created, "delete pods": deleted } = yield* counts
      assert.deepStrictEqual([created, deleted], [20, 13])
      assert.strictEqual((yield* get).status?.replicas, 7)
      assert.strictEqual((yield* get).status?.observedGeneration, 3)
    }).pipe(Effect.provide(cluster)))

  it.effect("tries one Pod where Pods cannot be made, and waits longer each time", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const limits = { namespace: "default", name: "limits" }
      yield* client.create(LimitRange, {
        metadata: limits,
        spec: { limits: [{ type: "Container", max: { cpu: "1" } }] }
      })
      yield* client.create(ReplicaSet, body(8))
      yield* TestClock.adjust("1 millis")
      const { status } = yield* get
      assert.deepInclude(status?.conditions?.[0], { type: "ReplicaFailure", status: "True", reason: "FailedCreate" })
      const early = (yield* counts)["create pods"]!
      assert.isAtMost(early, 2)
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost((yield* counts)["create pods"]!, early + 9)
      yield* client.delete(LimitRange, limits)
      yield* TestClock.adjust("31 seconds")
      assert.lengthOf(yield* pods, 8)
      assert.isUndefined((yield* get).status?.conditions)
    }).pipe(Effect.provide(cluster)))
})
