import { assert, describe, it } from "@effect/vitest"
import type { Node, Pod } from "../../../src/kinds/core.v1.ts"
import { matchesAffinity, tolerates, untolerated } from "../../../src/testing/sim/NodeMatching.ts"
import { milli } from "../../../src/testing/sim/Quantities.ts"
import * as Scheduling from "../../../src/testing/sim/Scheduling.ts"

const metadata = { uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" }

const node = (name: string, more: Partial<Node> = {}, labels: Record<string, string> = {}): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { ...metadata, name, labels },
  ...more
})

const pod = (spec: Partial<Pod["spec"]> = {}, requests: Record<string, string> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { ...metadata, name: "p", namespace: "default" },
  spec: { containers: [{ name: "c", image: "x", resources: { requests } }], ...spec }
})

const noLoad = () => Scheduling.noLoad

describe("Scheduling", () => {
  it("takes the node with the fewest Pods of those that fit", () => {
    const loads: Record<string, number> = { a: 3, b: 1, c: 0 }
    const nodes = [node("a"), node("b"), node("c", { spec: { unschedulable: true } })]
    const loadOf = (name: string) => ({ pods: loads[name]!, requested: new Map() })
    assert.deepStrictEqual(Scheduling.decide(pod(), nodes, loadOf), { _tag: "Node", name: "b" })
  })

  it("says why none fits, counted and in order, as the real scheduler does", () => {
    const tainted = { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }
    const small = { status: { allocatable: { cpu: "1", memory: "1Gi", pods: "10" } } }
    const nodes = [
      node("a", tainted),
      node("b", { spec: { unschedulable: true } }),
      node("c", small, { pool: "x" }),
      node("d", small, { pool: "x" }),
      node("e", small)
    ]
    const asks = pod({ nodeSelector: { pool: "x" } }, { cpu: "800m", memory: "2Gi" })
    const used = { pods: 1, requested: new Map([["cpu", 500n * 1n]]) }
    assert.deepStrictEqual(Scheduling.decide(asks, nodes, (name) => name === "c" ? used : Scheduling.noLoad), {
      _tag: "None",
      message: "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, " +
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient memory. no new claims to " +
        "deallocate, preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
    })
    assert.deepStrictEqual(Scheduling.decide(pod(), [], noLoad), {
      _tag: "None",
      message: "no nodes available to schedule pods"
    })
  })

  it("counts what containers ask for together, or the hungriest init container, with sidecars", () => {
    const container = (cpu: string, restartPolicy?: string) => ({
      name: "c",
      image: "x",
      resources: { requests: { cpu } },
      ...(restartPolicy === undefined ? {} : { restartPolicy })
    })
    const cpu = (spec: Partial<Pod["spec"]>) => Scheduling.requestsOf(pod(spec)).get("cpu")
    assert.strictEqual(cpu({ containers: [container("100m"), container("200m")] }), 300n)
    assert.strictEqual(cpu({ containers: [container("100m")], initContainers: [container("1")] }), 1000n)
    assert.strictEqual(
      cpu({ containers: [container("100m")], initContainers: [container("50m", "Always"), container("1")] }),
      1050n
    )
  })
})

describe("NodeMatching", () => {
  it("knows the operators of node affinity", () => {
    const at = node("n", {}, { zone: "a", size: "5" })
    const matches = (key: string, operator: string, values: ReadonlyArray<string> = []) =>
      matchesAffinity({
        containers: [],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }]
            }
          }
        }
      }, at)
    assert.deepStrictEqual(
      [
        matches("zone", "In", ["a", "b"]),
        matches("zone", "NotIn", ["a"]),
        matches("none", "NotIn", ["a"]),
        matches("zone", "Exists"),
        matches("none", "DoesNotExist"),
        matches("size", "Gt", ["4"]),
        matches("size", "Lt", ["5"]),
        matches("zone", "Gt", ["1"])
      ],
      [true, false, true, true, true, true, false, false]
    )
  })

  it("tolerates by key, effect and value; an empty key with Exists everything", () => {
    const taint = { key: "k", value: "v", effect: "NoExecute" }
    assert.isTrue(tolerates({ operator: "Exists" }, taint))
    assert.isTrue(tolerates({ key: "k", value: "v" }, taint))
    assert.isFalse(tolerates({ key: "k", value: "w" }, taint))
    assert.isFalse(tolerates({ key: "k", operator: "Exists", effect: "NoSchedule" }, taint))
    assert.strictEqual(untolerated([taint], [], ["NoSchedule"]), undefined)
    assert.strictEqual(untolerated([taint], undefined, ["NoExecute"]), taint)
  })
})

describe("Quantities", () => {
  it("reads every form, in thousandths rounded up", () => {
    const values = ["100m", "1.5Gi", "2", "1e3", ".5", "1n", "-3k", "0", "x", "", "1.2.3"]
    assert.deepStrictEqual(
      values.map(milli),
      [100n, 1_610_612_736_000n, 2000n, 1_000_000n, 500n, 1n, -3_000_000n, 0n, undefined, undefined, undefined]
    )
  })
})
