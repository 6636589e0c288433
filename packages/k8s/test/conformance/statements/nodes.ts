/** DaemonSets and nodes: statements 153 and 154. */
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { container, hashPattern, type Json, names, node, spec, taintsOf, workloads } from "../Workloads.ts"

export const nodes = [
  statement("153a", "a DaemonSet makes a Pod for every node it means, pinned by affinity", {
    controllers: true
  }, function*() {
    const { unique } = yield* Target
    const { create, events, listed, so } = yield* workloads
    const label = unique("daemon")
    const nodes = [yield* node({ pool: label }), yield* node({ pool: label }), yield* node({ pool: "other" })]
    yield* create("daemonsets", "agent", spec("agent", {}, { nodeSelector: { pool: label } }))
    const pods = yield* listed("pods", ({ length }) => length === 2)
    const meant = pods.map((pod) => {
      const { nodeSelectorTerms } = pod["spec"].affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
      assert.lengthOf(nodeSelectorTerms, 1)
      const [field] = nodeSelectorTerms[0].matchFields
      assert.strictEqual(field.key, "metadata.name")
      assert.strictEqual(field.operator, "In")
      return field.values[0]
    })
    assert.sameMembers(meant, [nodes[0]!.name, nodes[1]!.name])
    const [pod] = pods
    const tolerated = pod!["spec"].tolerations.map(({ effect, key, operator }: Json) => `${key} ${operator} ${effect}`)
    for (
      const toleration of [
        "not-ready Exists NoExecute",
        "unreachable Exists NoExecute",
        "disk-pressure Exists NoSchedule",
        "memory-pressure Exists NoSchedule",
        "pid-pressure Exists NoSchedule",
        "unschedulable Exists NoSchedule"
      ]
    ) assert.include(tolerated, `node.kubernetes.io/${toleration}`)
    assert.strictEqual(pod!["metadata"].generateName, "agent-")
    assert.strictEqual(pod!["metadata"].labels["pod-template-generation"], "1")
    const [revision] = yield* listed("controllerrevisions", ({ length }) => length === 1)
    const hash = pod!["metadata"].labels["controller-revision-hash"]
    assert.match(hash, hashPattern)
    assert.strictEqual(revision!["metadata"].name, `agent-${hash}`)
    assert.strictEqual(revision!["metadata"].labels["controller-revision-hash"], hash)
    const set = yield* so("daemonsets", "agent", ({ status }) => status.currentNumberScheduled === 2)
    assert.deepStrictEqual(set["status"], {
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      desiredNumberScheduled: 2,
      numberReady: 0,
      observedGeneration: 1,
      updatedNumberScheduled: 2,
      numberUnavailable: 2
    })
    const told = yield* events("agent", ({ length }) => length === 2)
    assert.sameMembers(told.map(({ message }) => message), names(pods).map((name) => `Created pod: ${name}`))
    assert.deepStrictEqual(told[0]!["source"], { component: "daemonset-controller" })
  }),

  statement("153b", "a DaemonSet follows its nodes, and is updated within maxUnavailable", {
    controllers: true
  }, function*() {
    const { unique } = yield* Target
    const { create, listed, patch, ready, so } = yield* workloads
    const label = unique("daemon")
    const first = yield* node({ pool: label })
    yield* create("daemonsets", "agent", spec("agent", {}, { nodeSelector: { pool: label } }))
    yield* listed("pods", ({ length }) => length === 1)
    const second = yield* node({ pool: label })
    const pods = yield* listed("pods", ({ length }) => length === 2)
    for (const name of names(pods)) yield* ready(name)
    yield* so("daemonsets", "agent", ({ status }) => status.numberAvailable === 2)
    yield* patch("daemonsets", "agent", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    const isNew = (pod: Json) => pod["spec"].containers[0].image === "nginx:2"
    const mixed = yield* listed("pods", (all) => all.length === 2 && all.some(isNew))
    assert.lengthOf(mixed.filter(isNew), 1, "one at a time")
    yield* ready(mixed.find(isNew)!["metadata"].name)
    const updated = yield* listed("pods", (all) => all.length === 2 && all.every(isNew))
    for (const name of names(updated)) yield* ready(name)
    const set = yield* so("daemonsets", "agent", ({ status }) => status.updatedNumberScheduled === 2)
    assert.strictEqual(set["metadata"].annotations["deprecated.daemonset.template.generation"], "2")
    yield* first.patch({ metadata: { labels: { pool: "none" } } })
    const left = yield* listed("pods", ({ length }) => length === 1)
    const { nodeSelectorTerms } = left[0]!["spec"].affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
    assert.deepStrictEqual(nodeSelectorTerms[0].matchFields[0].values, [second.name])
    yield* so("daemonsets", "agent", ({ status }) => status.desiredNumberScheduled === 1)
  }),

  statement("154a", "a node that is not ready, or not to be scheduled on, is tainted", {
    controllers: true
  }, function*() {
    const { until } = yield* Target
    const mine = yield* node({})
    // Where no node is well nobody is driven away.
    yield* (yield* node({})).report("True")
    const notReady = ["node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"]
    yield* mine.report("False")
    const bad = yield* until(mine.get, (answer) => taintsOf(answer).length === 2)
    assert.deepStrictEqual(taintsOf(bad), notReady)
    yield* mine.report("True")
    const good = yield* until(mine.get, (answer) => taintsOf(answer).length === 0)
    assert.isUndefined(good.object["spec"].taints)
    yield* mine.patch({ spec: { unschedulable: true } })
    const cordoned = yield* until(mine.get, (answer) => taintsOf(answer).length === 1)
    assert.deepStrictEqual(taintsOf(cordoned), ["node.kubernetes.io/unschedulable:NoSchedule"])
    assert.isString(cordoned.object["spec"].taints[0].timeAdded)
    yield* mine.patch({ spec: { unschedulable: null } })
    yield* until(mine.get, (answer) => taintsOf(answer).length === 0)
  }),

  statement("154b", "Pods go from a node whose taint they do not tolerate, or not for long", {
    controllers: true
  }, function*() {
    const { request, until } = yield* Target
    const { get, namespace, watched } = yield* workloads
    const mine = yield* node({})
    yield* mine.report("True")
    yield* until(mine.get, (answer) => taintsOf(answer).length === 0)
    const tolerations = (seconds: number | undefined) => [{
      key: "example.com/bad",
      operator: "Exists",
      effect: "NoExecute",
      ...(seconds === undefined ? {} : { tolerationSeconds: seconds })
    }]
    const on = (name: string, list: ReadonlyArray<unknown>) =>
      request("POST", `/api/v1/namespaces/${namespace}/pods`, {
        body: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name },
          spec: {
            nodeName: mine.name,
            terminationGracePeriodSeconds: 0,
            containers: [container("nginx:1")],
            tolerations: list
          }
        }
      })
    yield* on("intolerant", [])
    yield* on("patient", tolerations(2))
    yield* on("tolerant", tolerations(undefined))
    const watching = yield* watched("pods")
    const leaves = Effect.map(
      Effect.repeat(watching.take(1), { until: ([event]) => event?.type === "DELETED" }),
      ([event]) => (event!.object as Json)["metadata"].name
    )
    const now = () => Clock.Clock.defaultValue().currentTimeMillisUnsafe()
    const tainted = now()
    yield* mine.patch({ spec: { taints: [{ key: "example.com/bad", effect: "NoExecute" }] } })
    assert.strictEqual(yield* leaves, "intolerant")
    assert.strictEqual(yield* leaves, "patient", "it was still there")
    assert.isAtLeast(now() - tainted, 1900, "as long as it tolerates")
    assert.strictEqual((yield* get("pods", "tolerant")).status, 200)
    yield* request("DELETE", `/api/v1/namespaces/${namespace}/pods/tolerant`, { query: { gracePeriodSeconds: "0" } })
  })
]
