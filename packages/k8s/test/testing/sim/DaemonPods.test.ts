import { assert, describe, it } from "@effect/vitest"
import type { DaemonSet } from "../../../src/kinds/apps.v1.ts"
import type { Node, Pod, Taint } from "../../../src/kinds/core.v1.ts"
import * as DaemonPods from "../../../src/testing/sim/DaemonPods.ts"
import * as NodeHealth from "../../../src/testing/sim/NodeHealth.ts"

const metadata = (name: string) => ({
  name,
  namespace: "default",
  uid: name,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
})

const node = (name: string, taints: ReadonlyArray<Taint> = [], ready?: string): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: metadata(name),
  spec: { taints },
  status: ready === undefined ? {} : { conditions: [{ type: "Ready", status: ready }] }
})

const set = (rollingUpdate: object = { maxUnavailable: 1 }): DaemonSet => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: metadata("agent"),
  spec: {
    selector: {},
    template: { spec: { containers: [] } },
    updateStrategy: { type: "RollingUpdate", rollingUpdate }
  }
})

const pod = (name: string, on: string, hash: string, ready = true): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { ...metadata(name), labels: { "controller-revision-hash": hash } },
  spec: { nodeName: on, containers: [] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] }
})

const plan = (of: DaemonSet, pods: ReadonlyArray<Pod>, nodes = ["a", "b", "c"].map((name) => node(name))) => {
  const { create, remove } = DaemonPods.planUpdate(of, "new", nodes, DaemonPods.byNode(pods), 0)
  return { create, remove: remove.map(({ metadata }) => metadata.name) }
}

describe("DaemonPods", () => {
  it("runs where the template tolerates, and stays unless it is driven away", () => {
    const fit = (key: string, effect: string) => DaemonPods.fit(set(), node("a", [{ key, effect }]))
    assert.deepStrictEqual(fit("x", "NoSchedule"), { run: false, stay: true })
    assert.deepStrictEqual(fit("x", "NoExecute"), { run: false, stay: false })
    assert.deepStrictEqual(fit("x", "PreferNoSchedule"), { run: true, stay: true })
    assert.deepStrictEqual(fit("node.kubernetes.io/unschedulable", "NoSchedule"), { run: true, stay: true })
    assert.deepStrictEqual(fit("node.kubernetes.io/not-ready", "NoExecute"), { run: true, stay: true })
  })

  it("replaces Pods within maxUnavailable, those that are not available anyway first", () => {
    const old = ["a", "b", "c"].map((on) => pod(`old-${on}`, on, "old"))
    assert.lengthOf(plan(set(), old).remove, 1)
    assert.lengthOf(plan(set({ maxUnavailable: "50%" }), old).remove, 2)
    const broken = [pod("bad", "a", "old", false), ...old.slice(1)]
    assert.deepStrictEqual(plan(set(), broken).remove, ["bad"])
    assert.deepStrictEqual(plan(set(), old.slice(1)).remove, [], "one is missing already")
  })

  it("with a surge new Pods come up beside the old, which go once those are available", () => {
    const of = set({ maxSurge: 1, maxUnavailable: 0 })
    const old = ["a", "b", "c"].map((on) => pod(`old-${on}`, on, "old"))
    assert.lengthOf(plan(of, old).create, 1)
    const pending = [...old, pod("new-a", "a", "new", false)]
    assert.deepStrictEqual(plan(of, pending), { create: [], remove: [] })
    const done = plan(of, [...old, pod("new-a", "a", "new")])
    assert.deepStrictEqual(done.remove, ["old-a"])
    assert.lengthOf(done.create, 1)
  })

  it("a node has one Pod; which of several stays is the oldest", () => {
    const needs = DaemonPods.planNode(set(), "new", node("a"), [pod("x", "a", "new"), pod("b", "a", "new")], 0)
    assert.deepStrictEqual(needs.remove.map(({ metadata }) => metadata.name), ["x"])
    assert.deepStrictEqual(DaemonPods.planNode(set(), "new", node("a"), undefined, 0).create, ["a"])
  })
})

describe("NodeHealth", () => {
  const keys = (of: ReadonlyArray<Taint>) => of.map(({ effect, key }) => `${key.split("/")[1]}:${effect}`).toSorted()

  it("conditions become taints, and taints of others stay", () => {
    const own = { key: "example.com/own", effect: "NoSchedule" }
    assert.deepStrictEqual(keys(NodeHealth.taints(node("a", [own], "Unknown"), true, "now")), [
      "own:NoSchedule",
      "unreachable:NoExecute",
      "unreachable:NoSchedule"
    ])
    assert.deepStrictEqual(keys(NodeHealth.taints(node("a", [], "False"), false, "now")), ["not-ready:NoSchedule"])
    const bad = NodeHealth.taints(node("a", [own], "False"), true, "now")
    assert.deepStrictEqual(NodeHealth.taints(node("a", bad, "True"), true, "now"), [own])
    const same = node("a", [own], "True")
    assert.strictEqual(NodeHealth.taints(same, true, "now"), same.spec!.taints)
  })

  it("a Pod stays as long as the least patient of its tolerations", () => {
    const taints = ["x", "y"].map((key) => ({ key, effect: "NoExecute" }))
    const patience = (...tolerations: ReadonlyArray<object>) =>
      NodeHealth.patience({ ...pod("p", "a", "h"), spec: { containers: [], tolerations } as Pod["spec"] }, taints)
    assert.strictEqual(patience(), 0)
    assert.strictEqual(patience({ operator: "Exists" }), Infinity)
    assert.strictEqual(patience({ key: "x", operator: "Exists", tolerationSeconds: 5 }), 0)
    assert.strictEqual(
      patience({ key: "x", operator: "Exists", tolerationSeconds: 5 }, { operator: "Exists", tolerationSeconds: 3 }),
      3000
    )
  })
})
