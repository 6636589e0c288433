import { assert, describe, it } from "@effect/vitest"
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { PersistentVolume, PersistentVolumeClaim, Pod } from "../../src/kinds/core.v1.ts"
import * as ApiServer from "../../src/testing/ApiServer.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import * as VirtualTime from "../../src/testing/VirtualTime.ts"
import * as VolumeProtection from "../../src/testing/VolumeProtection.ts"

const layer = VolumeProtection.layer.pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.ApiServer.layer),
  Layer.provideMerge(VirtualTime.layer),
  Layer.fresh
)

const claim = (name: string) => ({
  metadata: { namespace: "default", name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
})

const pod = (name: string, claimName: string, nodeName?: string) => ({
  metadata: { namespace: "default", name },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName } }]
  }
})

const gone = { gracePeriodSeconds: 0 }

describe("VolumeProtection", () => {
  it.effect("a claim goes when the last scheduled Pod that uses it has gone", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "used" }
      const there = Effect.map(
        Stream.runCollect(client.list(PersistentVolumeClaim)),
        (claims) => claims.map(({ metadata }) => metadata.name)
      )
      for (const name of ["used", "free"]) yield* client.create(PersistentVolumeClaim, claim(name))
      yield* client.create(Pod, pod("a", "used", "n"))
      yield* client.create(Pod, pod("b", "free"))
      yield* TestClock.adjust("1 second")
      const created = yield* client.get(PersistentVolumeClaim, key)
      assert.deepStrictEqual(created.metadata.finalizers, ["kubernetes.io/pvc-protection"])
      for (const name of ["used", "free"]) yield* client.delete(PersistentVolumeClaim, { namespace: "default", name })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* there, ["used"], "a Pod that is not scheduled does not count")
      yield* client.delete(Pod, { namespace: "default", name: "a" }, gone)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* there, [])
    }).pipe(Effect.provide(layer)))

  it.effect("a claim stays for a Pod that its watch has not told of yet", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const server = yield* ApiServer.ApiServer
      const key = { namespace: "default", name: "used" }
      yield* client.create(PersistentVolumeClaim, claim("used"))
      yield* TestClock.adjust("1 second")
      // Behind the controllers' back, whose own writes they know at once.
      yield* server.handle({
        method: "POST",
        path: "/api/v1/namespaces/default/pods",
        query: [],
        headers: { accept: "application/json", "content-type": "application/json" },
        body: { apiVersion: "v1", kind: "Pod", ...pod("a", "used", "n") }
      })
      yield* client.delete(PersistentVolumeClaim, key)
      yield* TestClock.adjust("1 second")
      assert.isDefined((yield* client.get(PersistentVolumeClaim, key)).metadata.deletionTimestamp)
    }).pipe(Effect.provide(layer)))

  it.effect("a volume goes when it is no longer bound", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { name: "pv" }
      const phase = (phase: string) =>
        client.patch(PersistentVolume, key, Patch.merge({ status: { phase } }), { subresource: "status" })
      yield* client.create(PersistentVolume, {
        metadata: key,
        spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } }
      })
      yield* phase("Bound")
      yield* client.delete(PersistentVolume, key)
      yield* TestClock.adjust("1 second")
      const waiting = yield* client.get(PersistentVolume, key)
      assert.deepStrictEqual(waiting.metadata.finalizers, ["kubernetes.io/pv-protection"])
      yield* phase("Released")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Stream.runCollect(client.list(PersistentVolume)), [])
    }).pipe(Effect.provide(layer)))
})
