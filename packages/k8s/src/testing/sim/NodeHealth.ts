/**
 * `NodeHealth`: how the control plane reacts to the conditions and taints of a node, as pure functions.
 *
 * Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go, tainteviction/taint_eviction.go.
 */
import type { Node, NodeCondition, Pod, Taint } from "../../kinds/core.v1.ts"
import { tolerates } from "./NodeMatching.ts"

const prefix = "node.kubernetes.io/"
const notReady = `${prefix}not-ready`
const unreachable = `${prefix}unreachable`
const unschedulable = `${prefix}unschedulable`

/** The taint for each status of a condition. */
const byCondition: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: `${prefix}memory-pressure` },
  DiskPressure: { True: `${prefix}disk-pressure` },
  NetworkUnavailable: { True: `${prefix}network-unavailable` },
  PIDPressure: { True: `${prefix}pid-pressure` }
}

const managed = new Set([unschedulable, ...Object.values(byCondition).flatMap((statuses) => Object.values(statuses))])

/** The status of the condition Ready; undefined if there is none. */
export const readiness = ({ status }: Node): string | undefined =>
  status?.conditions?.find(({ type }) => type === "Ready")?.status

/** Whether the node is not ready, or its readiness is unknown. */
export const isBad = (node: Node): boolean => (readiness(node) ?? "True") !== "True"

const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

/**
 * The taints that a node should have; the same value if it has them. `drives`: whether nodes that are not ready evict
 * Pods.
 */
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
  // A node without conditions loses even the taint it was created with.
  const kept = have.filter((taint) => !isOurs(taint) || wanted.some((other) => same(other, taint)))
  const added = wanted.filter((taint) => !have.some((other) => same(other, taint)))
  return added.length === 0 && kept.length === have.length
    ? have
    : [...kept, ...added.map((taint) => ({ ...taint, timeAdded: now }))]
}

const reported = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]

/** The conditions of a silent node. */
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

/** How long a Pod may stay on a node with these taints, in milliseconds; Infinity if forever. */
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
