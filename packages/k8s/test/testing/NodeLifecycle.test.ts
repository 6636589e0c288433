import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { DaemonSet, Deployment } from "../../src/kinds/apps.v1.ts"
import { Event, Node, Pod } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"

const cluster = (kubelet: Kubelet.Options = {}) =>
  TestCluster.layer({ kubelet: { registerNodes: true, nodes: ["n0", "n1"], ...kubelet } })

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "nginx:1" }] } }
const selector = { matchLabels: { app: "web" } }
const metadata = { namespace: "default", name: "web" }

const pods = KubeClient.use((client) => Effect.orDie(Stream.runCollect(client.list(Pod))))
const node = (name: string) => KubeClient.use((client) => client.get(Node, { name }))
const taints = (of: Node) => (of.spec?.taints ?? []).map(({ effect, key }) => `${key}:${effect}`).toSorted()
const ready = (of: Node) => of.status?.conditions?.find(({ type }) => type === "Ready")

describe("NodeLifecycle", () => {
  it.effect(
    "a node that falls silent is tainted, its Pods go after 300 s, and leave when it is back",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient
        yield* TestClock.adjust("1 second")
        yield* client.create(Deployment, { metadata, spec: { replicas: 4, selector, template } })
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.nodeName).toSorted(), ["n0", "n0", "n1", "n1"])
        assert.deepStrictEqual(taints(yield* node("n0")), [])
        yield* Kubelet.loseNode("n0")
        yield* TestClock.adjust("39 seconds")
        assert.strictEqual(ready(yield* node("n0"))?.status, "True")
        yield* TestClock.adjust("12 seconds")
        const silent = yield* node("n0")
        assert.deepStrictEqual(
          [ready(silent)?.status, ready(silent)?.reason, ready(silent)?.message],
          ["Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."]
        )
        assert.deepStrictEqual(taints(silent), [
          "node.kubernetes.io/unreachable:NoExecute",
          "node.kubernetes.io/unreachable:NoSchedule"
        ])
        const deployment = yield* client.get(Deployment, metadata)
        assert.strictEqual(deployment.status?.readyReplicas, 2, "its Pods are not ready any more")
        assert.lengthOf(yield* pods, 4)
        yield* TestClock.adjust("305 seconds")
        const stuck = (yield* pods).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        assert.deepStrictEqual(stuck.map(({ spec }) => spec.nodeName), ["n0", "n0"])
        assert.strictEqual(
          stuck[0]!.status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.reason,
          "DeletionByTaintManager"
        )
        assert.strictEqual((yield* client.get(Deployment, metadata)).status?.readyReplicas, 4, "replaced elsewhere")
        yield* Kubelet.restoreNode("n0")
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(taints(yield* node("n0")), [])
        assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.nodeName), ["n1", "n1", "n1", "n1"])
      }).pipe(Effect.provide(cluster())),
    180_000
  )

  it.effect("a node that is back in time keeps its Pods", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* TestClock.adjust("1 second")
      yield* client.create(Pod, { metadata: { ...metadata }, spec: template.spec })
      yield* TestClock.adjust("2 seconds")
      const [pod] = yield* pods
      yield* Kubelet.loseNode(pod!.spec.nodeName!)
      yield* TestClock.adjust("100 seconds")
      assert.isFalse(
        (yield* pods)[0]!.status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True")
      )
      yield* Kubelet.restoreNode(pod!.spec.nodeName!)
      yield* TestClock.adjust("10 minutes")
      const [kept] = yield* pods
      assert.strictEqual(kept?.metadata.uid, pod!.metadata.uid)
      assert.isTrue(kept!.status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True"))
      const told = yield* Effect.orDie(Stream.runCollect(client.list(Event)))
      assert.include(told.map(({ message }) => message), "Cancelling deletion of Pod default/web")
    }).pipe(Effect.provide(cluster())))

  it.effect("Pods that fit nowhere say why, and go where there is room then", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* TestClock.adjust("1 second")
      const pod = (name: string, cpu: string) =>
        client.create(Pod, {
          metadata: { namespace: "default", name },
          spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu } } }] }
        })
      yield* pod("a", "800m")
      yield* pod("b", "800m")
      yield* TestClock.adjust("2 seconds")
      yield* pod("c", "500m")
      yield* TestClock.adjust("2 seconds")
      const waiting = yield* client.get(Pod, { namespace: "default", name: "c" })
      const condition = waiting.status?.conditions?.find(({ type }) => type === "PodScheduled")
      assert.deepStrictEqual([condition?.status, condition?.reason], ["False", "Unschedulable"])
      assert.strictEqual(
        condition?.message,
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are " +
          "available: 2 No preemption victims found for incoming pod."
      )
      yield* client.delete(Pod, { namespace: "default", name: "a" })
      yield* TestClock.adjust("5 seconds")
      const placed = yield* client.get(Pod, { namespace: "default", name: "c" })
      assert.strictEqual(placed.status?.phase, "Running")
      const told = yield* Effect.orDie(Stream.runCollect(client.list(Event)))
      const about = told.filter(({ involvedObject }) => involvedObject.name === "c").map(({ reason }) => reason)
      assert.include(about, "FailedScheduling")
      assert.include(about, "Scheduled")
    }).pipe(Effect.provide(cluster({
      nodes: ["n0", "n1"].map((name) => ({ name, allocatable: { cpu: "1", memory: "1Gi", pods: "10" } }))
    }))))

  it.effect(
    "a DaemonSet has a Pod on every node, also on one that comes later; cordoned nodes keep theirs",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient
        yield* TestClock.adjust("1 second")
        yield* client.create(DaemonSet, { metadata, spec: { selector, template } })
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.nodeName).toSorted(), ["n0", "n1"])
        yield* client.create(Node, { metadata: { name: "n2" } })
        yield* client.patch(
          Node,
          { name: "n2" },
          Patch.merge({ status: { conditions: [{ type: "Ready", status: "True" }] } }),
          { subresource: "status" }
        )
        yield* client.patch(Node, { name: "n0" }, Patch.merge({ spec: { unschedulable: true } }))
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.nodeName).toSorted(), ["n0", "n1", "n2"])
        const { status } = yield* client.get(DaemonSet, metadata)
        assert.deepStrictEqual([status?.desiredNumberScheduled, status?.numberAvailable], [3, 3])
        yield* client.patch(
          DaemonSet,
          metadata,
          Patch.strategic({
            spec: { template: { spec: { containers: [{ name: "main", image: "nginx:2" }] } } }
          })
        )
        yield* TestClock.adjust("1 millis")
        const dying = (yield* pods).filter((pod) => pod.metadata.deletionTimestamp !== undefined)
        assert.lengthOf(dying, 1, "one at a time")
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual((yield* pods).map(({ spec }) => spec.containers[0]!.image), [
          "nginx:2",
          "nginx:2",
          "nginx:2"
        ])
      }).pipe(Effect.provide(cluster())),
    180_000
  )

  it.effect("an idle cluster asks for nothing but its leases", () =>
    Effect.gen(function*() {
      const api = yield* ApiServer
      yield* TestClock.adjust("1 minute")
      const before = yield* api.requestCounts
      yield* TestClock.adjust("10 minutes")
      const after = yield* api.requestCounts
      const grown = Object.keys(after).filter((key) => after[key] !== before[key])
      assert.deepStrictEqual(grown, ["patch leases.coordination.k8s.io"])
      assert.strictEqual(after[grown[0]!]! - before[grown[0]!]!, 120)
    }).pipe(Effect.provide(cluster())))
})
