import { assert, describe, it } from "@effect/vitest"
import type { Pod } from "../../../src/kinds/core.v1.ts"
import * as PodFacts from "../../../src/testing/sim/PodFacts.ts"

interface Facts {
  readonly node?: string
  readonly phase?: string
  readonly ready?: number
  readonly cost?: string
  readonly restarts?: number
  readonly created?: number
}

const time = (seconds: number) => new Date(seconds * 1000).toISOString()

const pod = (name: string, facts: Facts = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "default",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: time(facts.created ?? 0),
    ...(facts.cost === undefined
      ? {}
      : { annotations: { "controller.kubernetes.io/pod-deletion-cost": facts.cost } })
  },
  spec: { containers: [], ...(facts.node === "" ? {} : { nodeName: facts.node ?? "n" }) },
  status: {
    phase: facts.phase ?? "Running",
    ...(facts.ready === undefined
      ? {}
      : { conditions: [{ type: "Ready", status: "True", lastTransitionTime: time(facts.ready) }] }),
    containerStatuses: [{ name: "c", image: "x", imageID: "", ready: true, restartCount: facts.restarts ?? 0 }]
  }
})

const order = (pods: ReadonlyArray<Pod>, related: ReadonlyArray<Pod> = pods) =>
  PodFacts.deletionOrder(pods, related, 1_000_000_000).map(({ metadata }) => metadata.name)

describe("PodFacts", () => {
  it("Pods are given up in this order, each rule before the next", () => {
    assert.deepStrictEqual(
      order([
        pod("ready", { ready: 0 }),
        pod("dear", { ready: 0, cost: "7" }),
        pod("cheap", { ready: 0, cost: "-1" }),
        pod("unready"),
        pod("pending", { phase: "Pending" }),
        pod("unassigned", { node: "", phase: "Pending" })
      ]),
      ["unassigned", "pending", "unready", "cheap", "ready", "dear"]
    )
    const crowded = [pod("a", { ready: 0, node: "x" }), pod("b", { ready: 0, node: "y" })]
    assert.deepStrictEqual(order(crowded, [...crowded, pod("c", { node: "y" })]), ["b", "a"])
    assert.deepStrictEqual(order([pod("old", { ready: 0 }), pod("young", { ready: 999_000 })]), ["young", "old"])
    assert.deepStrictEqual(order([pod("a"), pod("b", { restarts: 3 })]), ["b", "a"])
    assert.deepStrictEqual(order([pod("a"), pod("b", { created: 999_999 })]), ["b", "a"])
  })

  it("a cost that is no number costs nothing", () => {
    const cost = (text: string) => PodFacts.deletionCost(pod("a", { cost: text }))
    assert.deepStrictEqual(["5", "-5", "+5", "05", "1.5", "x", "99999999999"].map(cost), [5, -5, 0, 0, 0, 0, 0])
  })

  it("a Pod is available once it was ready long enough", () => {
    const ready = pod("a", { ready: 100 })
    assert.isTrue(PodFacts.isAvailable(ready, 0, 0))
    assert.isFalse(PodFacts.isAvailable(ready, 5, 104_999))
    assert.isTrue(PodFacts.isAvailable(ready, 5, 105_000))
    assert.isFalse(PodFacts.isAvailable(pod("b"), 0, 1e12))
    assert.strictEqual(PodFacts.nextAvailable([ready, pod("b")], 5, 100_000), 105_000)
    assert.strictEqual(PodFacts.nextAvailable([ready], 5, 105_000), Infinity)
  })
})
