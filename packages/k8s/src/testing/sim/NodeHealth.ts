/**
 * `NodeHealth`: what a control plane concludes from the conditions and taints of a node, as pure functions.
 *
 * Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go, tainteviction/taint_eviction.go.
 */
import type { Node, NodeCondition, Pod, Taint } from "../../kinds/core.v1.ts"
import { tolerates } from "./NodeMatching.ts"

const prefix = "node.kubernetes.io/"
const notReady = `${prefix}not-ready`
const unreachable = `${prefix}unreachable`
const unschedulable = `${prefix}unschedulable`

/** The taint of a condition that has this status. */
const byCondition: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: `${prefix}memory-pressure` },
  DiskPressure: { True: `${prefix}disk-pressure` },
  NetworkUnavailable: { True: `${prefix}network-unavailable` },
  PIDPressure: { True: `${prefix}pid-pressure` }
}

const managed = new Set([unschedulable, ...Object.values(byCondition).flatMap((statuses) => Object.values(statuses))])

/** The status of the condition Ready; undefined where nobody has said anything. */
export const readiness = ({ status }: Node): string | undefined =>
  status?.conditions?.find(({ type }) => type === "Ready")?.status

/** True if the node says, or is said, not to be ready. */
export const isBad = (node: Node): boolean => (readiness(node) ?? "True") !== "True"

const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

/** The taints a node is to have; `drives`: Pods are driven from nodes that are not ready. The same value if it has. */
export const taints = (node: Node, drives: boolean, now: string): ReadonlyArray<Taint> => {
  const have = node.spec?.taints ?? []
  const keys = (node.status?.conditions ?? []).flatMap(({ status, type }) => byCondition[type]?.[status] ?? [])
  const wanted: Array<Taint> = keys.map((key) => ({ key, effect: "NoSchedule" }))
  if (node.spec?.unschedulable === true) wanted.push({ key: unschedulable, effect: "NoSchedule" })
  const ready = readiness(node)
  const driven = [notReady, unreachable]
  const bad = ready === "False" ? notReady : ready === "Unknown" ? unreachable : undefined
  const driving = have.filter(({ effect, key }) => effect === "NoExecute" && driven.includes(key))
  if (bad !== undefined && (drives || driving.length > 0)) wanted.push({ key: bad, effect: "NoExecute" })
  const isOurs = ({ effect, key }: Taint) =>
    effect === "NoSchedule" ? managed.has(key) : effect === "NoExecute" && driven.includes(key)
  // A node that says nothing loses even the taint it came with.
  const kept = have.filter((taint) => !isOurs(taint) || wanted.some((other) => same(other, taint)))
  const added = wanted.filter((taint) => !have.some((other) => same(other, taint)))
  return added.length === 0 && kept.length === have.length
    ? have
    : [...kept, ...added.map((taint) => ({ ...taint, timeAdded: now }))]
}

const reported = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]

/** The conditions of a node that has fallen silent. */
export const silent = (node: Node, now: string): ReadonlyArray<NodeCondition> => {
  const conditions = node.status?.conditions ?? []
  const unknown = reported.map((type): NodeCondition => {
    const before = conditions.find((condition) => condition.type === type)
    const created = node.metadata.creationTimestamp
    const common = { type, status: "Unknown", lastHeartbeatTime: before?.lastHeartbeatTime ?? created }
    if (before === undefined) {
      const message = "Kubelet never posted node status."
      return { ...common, lastTransitionTime: now, reason: "NodeStatusNeverUpdated", message }
    }
    if (before.status === "Unknown") return before
    const message = "Kubelet stopped posting node status."
    return { ...common, lastTransitionTime: now, reason: "NodeStatusUnknown", message }
  })
  return [...unknown, ...conditions.filter(({ type }) => !reported.includes(type))]
}

/** How long a Pod may stay on a node with these taints, in milliseconds; Infinity for ever. */
export const patience = (pod: Pod, all: ReadonlyArray<Taint> | undefined): number => {
  const driving = (all ?? []).filter(({ effect }) => effect === "NoExecute")
  let shortest = Infinity
  for (const taint of driving) {
    const toleration = pod.spec.tolerations?.find((candidate) => tolerates(candidate, taint))
    if (toleration === undefined) return 0
    if (toleration.tolerationSeconds === undefined) continue
    shortest = Math.min(shortest, Math.max(0, toleration.tolerationSeconds) * 1000)
  }
  return shortest
}
