import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Deployment } from "../../src/kinds/apps.v1.ts"
import { Event, Pod } from "../../src/kinds/core.v1.ts"
import { PodDisruptionBudget, type PodDisruptionBudgetSpec } from "../../src/kinds/policy.v1.ts"
import * as DeploymentController from "../../src/testing/DeploymentController.ts"
import * as DisruptionController from "../../src/testing/DisruptionController.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as ReplicaSetController from "../../src/testing/ReplicaSetController.ts"
import { layer, post } from "./support/server.ts"

const cluster = Layer.mergeAll(
  DisruptionController.layer,
  DeploymentController.layer,
  ReplicaSetController.layer,
  Kubelet.layer()
).pipe(Layer.provideMerge(layer))

const key = { namespace: "default", name: "web" }
const labels = { app: "web" }
const spec = { containers: [{ name: "c", image: "x" }] }
const deploy = (replicas: number) =>
  KubeClient.use((client) =>
    client.create(Deployment, {
      metadata: key,
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } }
    })
  )
const limit = (budget: PodDisruptionBudgetSpec) =>
  KubeClient.use((client) =>
    client.create(PodDisruptionBudget, { metadata: key, spec: { selector: { matchLabels: labels }, ...budget } })
  )
const status = KubeClient.use((client) => client.get(PodDisruptionBudget, key)).pipe(Effect.map(({ status }) => status))
const pods = KubeClient.use((client) => Stream.runCollect(client.list(Pod)))
const reasons = KubeClient.use((client) => Stream.runCollect(client.list(Event))).pipe(
  Effect.map((events) => events.filter(({ involvedObject: { kind } }) => kind === "PodDisruptionBudget"))
)
const evict = (name: string) =>
  post(`/api/v1/namespaces/default/pods/${name}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace: "default", name }
  })

describe("DisruptionController", () => {
  it.effect("lets Pods be evicted while enough others are ready", () =>
    Effect.gen(function*() {
      yield* deploy(4)
      yield* limit({ maxUnavailable: "25%" })
      yield* TestClock.adjust("500 millis")
      const counts = { expectedPods: 4, desiredHealthy: 3, observedGeneration: 1 }
      const { conditions: before, ...starting } = (yield* status)!
      assert.deepEqual(starting, { ...counts, currentHealthy: 0, disruptionsAllowed: 0 })
      assert.deepInclude(before?.[0], { type: "DisruptionAllowed", status: "False", reason: "InsufficientPods" })
      yield* TestClock.adjust("2 seconds")
      const { conditions, ...running } = (yield* status)!
      assert.deepEqual(running, { ...counts, currentHealthy: 4, disruptionsAllowed: 1 })
      assert.deepInclude(conditions?.[0], {
        status: "True",
        reason: "SufficientPods",
        message: "",
        observedGeneration: 1
      })
      const [first, second] = yield* pods
      assert.strictEqual((yield* evict(first!.metadata.name)).status, 201)
      assert.strictEqual((yield* evict(second!.metadata.name)).status, 429)
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(yield* status, { currentHealthy: 4, disruptionsAllowed: 1 })
      assert.isUndefined((yield* status)?.disruptedPods)
      assert.strictEqual((yield* evict(second!.metadata.name)).status, 201)
    }).pipe(Effect.provide(cluster)))

  it.effect("a number counts Pods, also those that nothing controls", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* limit({ minAvailable: 1 })
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* status, { expectedPods: 0, desiredHealthy: 1, disruptionsAllowed: 0 })
      assert.strictEqual((yield* reasons)[0]?.reason, "NoPods")
      for (const name of ["a", "b"]) {
        yield* client.create(Pod, { metadata: { namespace: "default", name, labels }, spec })
      }
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* status, { expectedPods: 2, currentHealthy: 2, disruptionsAllowed: 1 })
      yield* client.patch(PodDisruptionBudget, key, Patch.merge({ spec: { minAvailable: "50%" } }))
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* status, { expectedPods: 0, disruptionsAllowed: 0, observedGeneration: 2 })
      const unmanaged = (yield* reasons).find(({ reason }) => reason === "UnmanagedPods")
      yield* client.create(PodDisruptionBudget, {
        metadata: { namespace: "default", name: "more" },
        spec: { minAvailable: 1, selector: {} }
      })
      yield* client.create(Pod, { metadata: { namespace: "default", name: "c", labels }, spec })
      yield* TestClock.adjust("1 second")
      const all = yield* Stream.runCollect(client.list(Event))
      const message = "Pod \"default\"/\"c\" matches multiple PodDisruptionBudgets.  Chose \"web\" arbitrarily."
      assert.isTrue(all.some((event) => event.message === message))
      assert.match(
        unmanaged?.message ?? "",
        /\(selector: &LabelSelector\{MatchLabels:map\[string\]string\{app: web,\},MatchExpressions:\[\]LabelSelectorReq/
      )
    }).pipe(Effect.provide(cluster)))

  it.effect("without a scale nothing may be evicted; an eviction that nobody carries out is forgotten", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const controller = { apiVersion: "v1", kind: "ConfigMap", name: "m", uid: "u", controller: true }
      const config = { namespace: "default", name: "p" }
      yield* client.create(Pod, { metadata: { ...config, labels, ownerReferences: [controller] }, spec })
      yield* limit({ maxUnavailable: 1 })
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude((yield* status)?.conditions?.[0], {
        status: "False",
        reason: "SyncFailed",
        message: "found no controllers for pod \"p\""
      })
      yield* client.patch(PodDisruptionBudget, key, Patch.merge({ spec: { maxUnavailable: null, minAvailable: 0 } }))
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* status, { currentHealthy: 1, disruptionsAllowed: 1 })
      const since = new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis)).toISOString().slice(0, 19) +
        "Z"
      const disrupted = Patch.merge({ status: { disruptedPods: { p: since } } })
      yield* client.patch(PodDisruptionBudget, key, disrupted, { subresource: "status" })
      const target = { type: "DisruptionTarget", status: "True", reason: "X", lastTransitionTime: since }
      yield* client.patch(Pod, config, Patch.strategic({ status: { conditions: [target] } }), { subresource: "status" })
      yield* TestClock.adjust("100 seconds")
      assert.deepInclude(yield* status, { currentHealthy: 0, disruptedPods: { p: since } })
      yield* TestClock.adjust("25 seconds")
      assert.deepInclude(yield* status, { currentHealthy: 1 })
      assert.isUndefined((yield* status)?.disruptedPods)
      const conditions = (yield* client.get(Pod, config)).status?.conditions
      assert.strictEqual(conditions?.find(({ type }) => type === "DisruptionTarget")?.status, "False")
    }).pipe(Effect.provide(cluster)))
})
