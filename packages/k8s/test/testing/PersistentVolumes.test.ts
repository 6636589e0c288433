import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Event, PersistentVolume, PersistentVolumeClaim, Pod } from "../../src/kinds/core.v1.ts"
import { StorageClass } from "../../src/kinds/storage.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as PersistentVolumes from "../../src/testing/PersistentVolumes.ts"
import * as VolumeProtection from "../../src/testing/VolumeProtection.ts"
import { layer } from "./support/server.ts"

const cluster = Layer.merge(PersistentVolumes.layer(), VolumeProtection.layer).pipe(Layer.provideMerge(layer))

const key = (name: string) => ({ namespace: "default", name })
const claim = (name: string, storage: string, storageClassName: string) =>
  KubeClient.use((client) =>
    client.create(PersistentVolumeClaim, {
      metadata: key(name),
      spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } }
    })
  )
const volume = (name: string, storage: string) =>
  KubeClient.use((client) =>
    client.create(PersistentVolume, {
      metadata: { name },
      spec: { capacity: { storage }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } }
    })
  )
const get = (name: string) => KubeClient.use((client) => client.get(PersistentVolumeClaim, key(name)))
const phases = KubeClient.use((client) => Stream.runCollect(client.list(PersistentVolume))).pipe(
  Effect.map((all) => Object.fromEntries(all.map(({ metadata, status }) => [metadata.name, status?.phase])))
)
const reasons = KubeClient.use((client) => Stream.runCollect(client.list(Event))).pipe(
  Effect.map((all) => all.map(({ reason }) => reason))
)
const storageClass = (name: string, volumeBindingMode: string) =>
  KubeClient.use((client) =>
    client.create(StorageClass, { metadata: { name }, provisioner: "sim.example.com", volumeBindingMode })
  )

describe("PersistentVolumes", () => {
  it.effect("a volume that was provisioned grows with its claim, if its class allows that; the provisioner may be no driver", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(StorageClass, {
        metadata: { name: "growing" },
        provisioner: "example.com/disks",
        allowVolumeExpansion: true
      })
      yield* claim("data", "1Gi", "growing")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* get("data")).status?.phase, "Bound")
      const resources = { requests: { storage: "3Gi" } }
      yield* client.patch(PersistentVolumeClaim, key("data"), Patch.merge({ spec: { resources } }))
      yield* TestClock.adjust("10 seconds")
      const { spec, status } = yield* get("data")
      assert.deepStrictEqual(status?.capacity, { storage: "3Gi" })
      const bound = yield* client.get(PersistentVolume, { name: spec!.volumeName! })
      assert.deepStrictEqual(bound.spec?.capacity, { storage: "3Gi" })
    }).pipe(Effect.provide(cluster)))

  it.effect("binds the smallest volume that is large enough, and keeps it after its claim", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* claim("data", "5Gi", "")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* get("data")).status?.phase, "Pending")
      assert.include(yield* reasons, "FailedBinding")
      yield* volume("large", "100Gi")
      yield* volume("small", "1Gi")
      yield* claim("other", "5Gi", "")
      yield* TestClock.adjust("1 second")
      yield* volume("middle", "8Gi")
      yield* TestClock.adjust("1 second")
      const phase = yield* phases
      assert.deepStrictEqual(phase, { large: "Bound", middle: "Bound", small: "Available" })
      const { metadata, spec, status } = yield* get("data")
      assert.strictEqual(metadata.annotations?.["pv.kubernetes.io/bind-completed"], "yes")
      assert.deepInclude(status, { phase: "Bound", accessModes: ["ReadWriteOnce"] })
      const bound = yield* client.get(PersistentVolume, { name: spec!.volumeName! })
      assert.strictEqual(bound.spec?.claimRef?.uid, metadata.uid)
      const { requestCounts } = yield* ApiServer
      const before = yield* requestCounts
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* requestCounts, before, "an idle cluster makes no requests")
      yield* client.delete(PersistentVolumeClaim, key("data"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* phases)[spec!.volumeName!], "Released")
    }).pipe(Effect.provide(cluster)))

  it.effect("a class provisions a volume after a while, which goes with its claim", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* claim("data", "5Gi", "fast")
      yield* TestClock.adjust("1 second")
      assert.include(yield* reasons, "ProvisioningFailed")
      yield* storageClass("fast", "Immediate")
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* phases, {})
      yield* TestClock.adjust("1 second")
      const { metadata, spec, status } = yield* get("data")
      assert.strictEqual(spec?.volumeName, `pvc-${metadata.uid}`)
      assert.deepInclude(status, { phase: "Bound", capacity: { storage: "5Gi" } })
      assert.include(yield* reasons, "ProvisioningSucceeded")
      yield* client.delete(PersistentVolumeClaim, key("data"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* phases, {})
    }).pipe(Effect.provide(cluster)))

  it.effect("a class may wait for the Pod that needs the volume", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* storageClass("lazy", "WaitForFirstConsumer")
      yield* claim("data", "5Gi", "lazy")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* get("data")).status?.phase, "Pending")
      assert.include(yield* reasons, "WaitForFirstConsumer")
      yield* client.create(Pod, {
        metadata: key("p"),
        spec: {
          nodeName: "n",
          containers: [{ name: "c", image: "x" }],
          volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }]
        }
      })
      yield* TestClock.adjust("2 seconds")
      const { metadata, status } = yield* get("data")
      assert.strictEqual(status?.phase, "Bound")
      assert.strictEqual(metadata.annotations?.["volume.kubernetes.io/selected-node"], "n")
    }).pipe(Effect.provide(cluster)))
})
