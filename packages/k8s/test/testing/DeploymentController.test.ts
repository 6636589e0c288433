import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { Action, Controller, Manager } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Deployment, ReplicaSet } from "../../src/kinds/apps.v1.ts"
import { Event, Pod } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as PodFacts from "../../src/testing/sim/PodFacts.ts"
import { scaled } from "../../src/testing/sim/Numbers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import { random } from "./support/random.ts"

const key = { namespace: "default", name: "web" }

const body = (spec: Partial<Deployment["spec"]> = {}, name = "web") => ({
  metadata: { namespace: "default", name },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "nginx:1" }] } },
    ...spec
  }
})

const image = (name: string) => ({ spec: { template: { spec: { containers: [{ name: "main", image: name }] } } } })

const get = KubeClient.use((client) => client.get(Deployment, key))
const patch = (change: unknown) => KubeClient.use((client) => client.patch(Deployment, key, Patch.strategic(change)))
const all = <A>(effect: (client: KubeClient["Service"]) => Stream.Stream<A, unknown>) =>
  KubeClient.use((client) => Effect.orDie(Stream.runCollect(effect(client))))
const pods = all((client) => client.list(Pod))
const sets = all((client) => client.list(ReplicaSet))

const progressing = (deployment: Deployment) =>
  deployment.status?.conditions?.find(({ type }) => type === "Progressing")

const isComplete = (deployment: Deployment): boolean => {
  const { replicas = 1 } = deployment.spec
  const status = deployment.status ?? {}
  return status.observedGeneration === deployment.metadata.generation && (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas && (status.availableReplicas ?? 0) === replicas
}

describe("DeploymentController", () => {
  it.effect("rolls from one template to the next, and tells of it", () =>
    Effect.gen(function*() {
      yield* KubeClient.use((client) => client.create(Deployment, body()))
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(isComplete(yield* get))
      yield* patch(image("nginx:2"))
      yield* TestClock.adjust("30 seconds")
      const done = yield* get
      assert.isTrue(isComplete(done))
      assert.strictEqual(progressing(done)?.reason, "NewReplicaSetAvailable")
      assert.strictEqual(done.metadata.annotations?.["deployment.kubernetes.io/revision"], "2")
      assert.deepStrictEqual((yield* sets).map(({ spec }) => spec.replicas).toSorted(), [0, 3])
      assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.containers[0]!.image), [
        "nginx:2",
        "nginx:2",
        "nginx:2"
      ])
      const told = (yield* all((client) => client.list(Event))).filter(({ reason }) => reason === "ScalingReplicaSet")
      assert.lengthOf(told, 7)
      assert.match(told[0]!.message!, /^Scaled up replica set web-[a-z0-9]+ from 0 to 3$/)
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("makes nothing for a Deployment that another client has deleted, once its watch has shown that", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const unwanted = "example.com/unwanted"
      const deletes = Controller.make("deletes", {
        for: Deployment,
        reconcile: Effect.fnUntraced(function*(deployment) {
          if (deployment.metadata.annotations?.[unwanted] !== undefined) {
            yield* KubeClient.use((client) => client.delete(Deployment, deployment))
          }
          return Action.done
        })
      })
      yield* Layer.build(Manager.layer([deletes]).pipe(Layer.provide(Layer.fresh(TestClient.layer))))
      yield* KubeClient.use((client) => client.create(Deployment, body({ replicas: 1 })))
      yield* TestClock.adjust("1 minute")
      const made: Array<string | undefined> = []
      yield* Effect.forkScoped(
        Stream.runForEach(server.audit, ({ objectRef, verb }) =>
          Effect.sync(() => {
            if (verb === "create") made.push(objectRef?.resource)
          })),
        { startImmediately: true }
      )
      yield* patch({ metadata: { annotations: { [unwanted]: "" } } })
      yield* TestClock.adjust("1 minute")
      // The deletion of the ReplicaSet may come through its own watch first.
      assert.isAtMost(made.filter((resource) => resource === "replicasets").length, 1)
      assert.deepStrictEqual([...yield* sets, ...yield* pods], [])
    }).pipe(Effect.scoped, Effect.provide(TestCluster.layer())))

  it.effect("is scaled long after its last rollout, when the deadline of that is over", () =>
    Effect.gen(function*() {
      yield* KubeClient.use((client) => client.create(Deployment, body()))
      yield* TestClock.adjust("20 minutes")
      yield* patch({ spec: { replicas: 5 } })
      const begin = yield* ApiServer.use((server) => server.revision)
      yield* TestClock.adjust("10 seconds")
      const done = yield* get
      assert.isTrue(isComplete(done))
      assert.strictEqual(progressing(done)?.reason, "NewReplicaSetAvailable")
      assert.isBelow((yield* ApiServer.use((server) => server.revision)) - begin, 40)
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("a rollout of an image that cannot be pulled stops, fails after its deadline, and recovers", () =>
    Effect.gen(function*() {
      yield* KubeClient.use((client) => client.create(Deployment, body()))
      yield* TestClock.adjust("2 seconds")
      yield* patch(image("missing"))
      yield* TestClock.adjust("599 seconds")
      assert.strictEqual(progressing(yield* get)?.reason, "ReplicaSetUpdated")
      assert.strictEqual((yield* get).status?.availableReplicas, 3)
      yield* TestClock.adjust("5 seconds")
      const late = progressing(yield* get)
      assert.deepStrictEqual([late?.status, late?.reason], ["False", "ProgressDeadlineExceeded"])
      assert.match(late!.message!, /^ReplicaSet "web-[a-z0-9]+" has timed out progressing\.$/)
      yield* patch(image("nginx:3"))
      yield* TestClock.adjust("30 seconds")
      assert.isTrue(isComplete(yield* get))
      assert.strictEqual(progressing(yield* get)?.reason, "NewReplicaSetAvailable")
    }).pipe(Effect.provide(TestCluster.layer({
      kubelet: { script: (_, container) => container.image === "missing" ? { pullError: "not found" } : undefined }
    }))))

  it.effect("a hash that is taken is no obstacle", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(Deployment, body({ replicas: 1 }))
      yield* TestClock.adjust("2 seconds")
      const [first] = yield* sets
      yield* client.delete(Deployment, key)
      yield* TestClock.adjust("10 seconds")
      const { metadata: { labels, name, namespace }, spec } = first!
      yield* client.create(ReplicaSet, {
        metadata: { name, namespace, labels: { other: "x" } },
        spec: {
          replicas: 0,
          selector: { matchLabels: { other: "x" } },
          template: { ...spec.template, metadata: { labels: { other: "x" } } }
        }
      })
      yield* client.create(Deployment, body({ replicas: 1 }))
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(isComplete(yield* get))
      assert.strictEqual((yield* get).status?.collisionCount, 1)
      const mine = (yield* sets).find(({ metadata }) => metadata.name !== name)
      assert.notStrictEqual(mine?.metadata.labels?.["pod-template-hash"], labels?.["pod-template-hash"])
    }).pipe(Effect.provide(TestCluster.layer())))

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it.effect(`keeps maxSurge and maxUnavailable whatever happens, and gets there in the end (seed ${seed})`, () => {
      const { int, pick } = random(seed)
      return Effect.gen(function*() {
        const client = yield* KubeClient
        const amounts = () => ({
          maxSurge: pick([0, 1, 2, "25%", "50%", "100%"] as const),
          maxUnavailable: pick([1, 2, "25%", "50%"] as const)
        })
        let limits = amounts()
        const strategy = () => ({ type: "RollingUpdate", rollingUpdate: limits })
        yield* client.create(Deployment, body({ replicas: 4, strategy: strategy() }))
        yield* TestClock.adjust("1 minute")
        // Sizes in force are those of the last scaling that was rolled out; so limits are checked while it is constant.
        for (let step = 0; step < 12; step++) {
          const replicas = int(6) + 1
          limits = amounts()
          yield* patch({ spec: { replicas, paused: null, strategy: strategy() } })
          yield* TestClock.adjust("2 minutes")
          assert.isTrue(isComplete(yield* get), `seed ${seed} step ${step}: complete before`)
          yield* patch(image(`nginx:${step}`))
          const surge = scaled(limits.maxSurge, replicas, "up")
          const unavailable = Math.min(scaled(limits.maxUnavailable, replicas, "down"), replicas)
          const least = replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable)
          let killed = 0
          for (let tick = 0; tick < 20; tick++) {
            yield* TestClock.adjust(`${int(800) + 1} millis`)
            const mine = yield* pods
            const active = mine.filter((pod) => !isTerminating(pod) && !PodFacts.isTerminal(pod))
            const available = active.filter(PodFacts.isReady).length
            assert.isAtMost(active.length, replicas + surge, `seed ${seed} step ${step} tick ${tick}: surge`)
            if (killed === 0) {
              assert.isAtLeast(available, least, `seed ${seed} step ${step} tick ${tick}: available`)
            }
            const fate = int(12)
            if (fate === 0) yield* patch({ spec: { paused: true } })
            else if (fate === 1) yield* patch({ spec: { paused: null } })
            else if (fate === 2 && active.length > 0) {
              killed += 1
              yield* Effect.ignore(client.delete(Pod, pick(active)))
            } else if (fate === 3 && active.length > 0) {
              killed += 1
              yield* Effect.ignore(Kubelet.fail(pick(active)))
            }
          }
        }
        yield* patch({ spec: { paused: null } })
        yield* TestClock.adjust("5 minutes")
        assert.isTrue(isComplete(yield* get), `seed ${seed}: complete in the end`)
      }).pipe(Effect.provide(TestCluster.layer({ kubelet: { startDelay: `${int(900) + 100} millis` } })))
    })
  }

  it.effect("100 Deployments of three Pods, and then nothing more is asked", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const api = yield* ApiServer
      for (let at = 0; at < 100; at++) yield* client.create(Deployment, body({}, `web-${at}`))
      yield* TestClock.adjust("5 seconds")
      const deployments = yield* all((reader) => reader.list(Deployment))
      assert.lengthOf(deployments.filter(isComplete), 100)
      const counts = yield* api.requestCounts
      assert.strictEqual(counts["create pods"], 300)
      assert.strictEqual(counts["create replicasets.apps"], 100)
      assert.isAtMost(counts["update deployments.apps/status"]!, 100 * 7)
      assert.isAtMost(counts["update replicasets.apps/status"]!, 100 * 6)
      yield* TestClock.adjust("1 hour")
      const after = yield* api.requestCounts
      // The server ends a watch now and then.
      const grown = Object.keys(after).filter((key) => after[key] !== counts[key] && !key.startsWith("watch "))
      assert.deepStrictEqual(grown, [])
    }).pipe(Effect.provide(TestCluster.layer())))
})
