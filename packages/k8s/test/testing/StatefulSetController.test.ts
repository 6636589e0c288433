import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { StatefulSet } from "../../src/kinds/apps.v1.ts"
import { Event, PersistentVolumeClaim, Pod, ResourceQuota } from "../../src/kinds/core.v1.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as PodFacts from "../../src/testing/sim/PodFacts.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import { random } from "./support/random.ts"

const key = { namespace: "default", name: "db" }

const body = (spec: Partial<StatefulSet["spec"]> = {}) => ({
  metadata: key,
  spec: {
    replicas: 3,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: { metadata: { labels: { app: "db" } }, spec: { containers: [{ name: "main", image: "db:1" }] } },
    ...spec
  }
})

const claimTemplate = (name: string) => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
})

const image = (name: string) => ({ spec: { template: { spec: { containers: [{ name: "main", image: name }] } } } })

const get = KubeClient.use((client) => client.get(StatefulSet, key))
const patch = (change: unknown) => KubeClient.use((client) => client.patch(StatefulSet, key, Patch.strategic(change)))
const pods = KubeClient.use((client) => Effect.orDie(Stream.runCollect(client.list(Pod))))

const ordinal = ({ metadata }: Pod) => Number(metadata.name.split("-").at(-1))

describe("StatefulSetController", () => {
  it.effect("brings Pods up one after the other, and takes them down from the last", () =>
    Effect.gen(function*() {
      yield* KubeClient.use((client) => client.create(StatefulSet, body()))
      for (const count of [1, 2, 3]) {
        assert.lengthOf(yield* pods, count - 1 === 0 ? 0 : count - 1)
        yield* TestClock.adjust(count === 1 ? "1 millis" : "1 second")
        assert.lengthOf(yield* pods, count)
      }
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* get).status?.readyReplicas, 3)
      yield* patch({ spec: { replicas: 1 } })
      yield* TestClock.adjust("1 millis")
      const dying = (yield* pods).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      assert.deepStrictEqual(dying.map(ordinal), [2])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual((yield* pods).map(ordinal), [0])
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("several Pods may be unavailable in an update, if it says so", () =>
    Effect.gen(function*() {
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } }
      const spec = { replicas: 4, podManagementPolicy: "Parallel", updateStrategy }
      yield* KubeClient.use((client) => client.create(StatefulSet, body(spec)))
      yield* TestClock.adjust("3 seconds")
      yield* patch(image("db:2"))
      yield* TestClock.adjust("1 millis")
      const dying = (yield* pods).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      assert.deepStrictEqual(dying.map(ordinal).toSorted(), [2, 3])
      yield* TestClock.adjust("20 seconds")
      const { status } = yield* get
      assert.strictEqual(status?.updatedReplicas, 4)
      assert.strictEqual(status?.currentRevision, status?.updateRevision)
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("a claim that is refused is told of as such, and as what its Pod waits for", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(ResourceQuota, {
        metadata: { namespace: "default", name: "q" },
        spec: { hard: { persistentvolumeclaims: "0" } }
      })
      yield* TestClock.adjust("1 second")
      yield* client.create(
        StatefulSet,
        body({ replicas: 1, volumeClaimTemplates: [claimTemplate("data"), claimTemplate("log")] })
      )
      yield* TestClock.adjust("1 millis")
      const why = (claim: string) =>
        `persistentvolumeclaims "${claim}-db-0" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, ` +
        "used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0"
      const missing = (claim: string) => `failed to create PVC ${claim}-db-0: ${why(claim)}`
      const events = yield* Effect.orDie(Stream.runCollect(client.list(Event)))
      assert.deepStrictEqual(events.map(({ message }) => message), [
        `Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: ${why("data")}`,
        `Create Claim log-db-0 for Pod db-0 in StatefulSet db failed error: ${why("log")}`,
        `Create Pod db-0 in StatefulSet db failed error: [${missing("data")}, ${missing("log")}]`
      ])
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("a claim that is being deleted holds its Pod back", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const claim = { namespace: "default", name: "data-db-0" }
      yield* client.create(StatefulSet, body({ replicas: 1, volumeClaimTemplates: [claimTemplate("data")] }))
      yield* TestClock.adjust("2 seconds")
      yield* client.patch(PersistentVolumeClaim, claim, Patch.merge({ metadata: { finalizers: ["example.com/hold"] } }))
      yield* client.delete(PersistentVolumeClaim, claim)
      yield* client.delete(Pod, { namespace: "default", name: "db-0" }, { gracePeriodSeconds: 0 })
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(yield* pods, 0)
      yield* client.patch(PersistentVolumeClaim, claim, Patch.merge({ metadata: { finalizers: null } }))
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(yield* pods, 1)
    }).pipe(Effect.provide(TestCluster.layer())))

  for (const seed of [1, 2, 3, 4]) {
    it.effect(`keeps order, and one Pod an ordinal, whatever happens (seed ${seed})`, () => {
      const { int, pick } = random(seed)
      return Effect.gen(function*() {
        const client = yield* KubeClient
        yield* client.create(StatefulSet, body())
        /** The last of every Pod that is there, by name. */
        const there = new Map<string, Pod>()
        const faults: Array<string> = []
        const onEvent = (type: string, pod: Pod): void => {
          const { name, uid } = pod.metadata
          const before = there.get(name)
          if (type === "ADDED" && before !== undefined) faults.push(`two of ${name}`)
          if (before !== undefined && before.metadata.uid !== uid) faults.push(`another ${name}`)
          if (type === "DELETED") return void there.delete(name)
          if (type === "ADDED") {
            for (let lower = 0; lower < ordinal(pod); lower++) {
              const other = there.get(`db-${lower}`)
              const ready = other !== undefined && PodFacts.isReady(other) && PodFacts.isActive(other)
              if (!ready) faults.push(`${name} before ${lower} was ready`)
            }
          }
          there.set(name, pod)
        }
        yield* Effect.forkScoped(
          Stream.runForEach(
            client.watch(Pod),
            (event) => Effect.sync(() => event.type === "BOOKMARK" ? undefined : onEvent(event.type, event.object))
          )
        )
        for (let step = 0; step < 60; step++) {
          yield* TestClock.adjust(`${int(1500) + 1} millis`)
          const mine = yield* pods
          const alive = mine.filter(PodFacts.isActive)
          const fate = int(8)
          if (fate === 0) yield* patch({ spec: { replicas: int(5) } })
          else if (fate === 1) yield* patch(image(`db:${step}`))
          else if (fate === 2 && alive.length > 0) yield* Effect.ignore(client.delete(Pod, pick(alive)))
          else if (fate === 3 && alive.length > 0) yield* Effect.ignore(Kubelet.fail(pick(alive)))
          else if (fate === 4 && alive.length > 0) yield* Effect.ignore(Kubelet.crash(pick(alive)))
        }
        yield* patch({ spec: { replicas: 3 } })
        yield* TestClock.adjust("10 minutes")
        const { status } = yield* get
        assert.deepStrictEqual((yield* pods).map(ordinal).toSorted(), [0, 1, 2])
        assert.deepStrictEqual([status?.readyReplicas, status?.updatedReplicas, status?.replicas], [3, 3, 3])
        assert.strictEqual(status?.currentRevision, status?.updateRevision)
        assert.deepStrictEqual(faults, [], `seed ${seed}`)
      }).pipe(Effect.scoped, Effect.provide(TestCluster.layer()))
    }, 180_000)
  }
})
