/**
 * `Scheduling`: selects the node of a Pod, or says why no node fits. Pure.
 *
 * These plugins of the default scheduler are implemented: NodeUnschedulable, NodeName, TaintToleration, NodeAffinity
 * (with the node selector) and NodeResourcesFit, in this order; a node is rejected by the first that fails. Among the
 * nodes that fit, the one with the fewest Pods is selected. Not implemented: spread, affinity between Pods, ports,
 * volumes, preemption.
 *
 * Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins, pkg/scheduler/framework/types.go (FitError).
 */
import type { Node, Pod } from "../../kinds/core.v1.ts"
import { matchesAffinity, untolerated } from "./NodeMatching.ts"
import { type Amounts, amounts, most, plus } from "./Quantities.ts"

/** The resources that the Pods of a node use. */
export interface Load {
  readonly pods: number
  readonly requested: Amounts
}

export const noLoad: Load = { pods: 0, requested: new Map() }

/** The requests of a Pod: the sum of its containers or its largest init container, whichever is more. */
export const requestsOf = ({ spec }: Pod): Amounts => {
  const asked = (container: Pod["spec"]["containers"][number]): Amounts => amounts(container.resources?.requests)
  let sum: Amounts = new Map()
  for (const container of spec.containers) sum = plus(sum, asked(container))
  let sidecars: Amounts = new Map()
  let first: Amounts = new Map()
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      sidecars = plus(sidecars, asked(container))
      first = most(first, sidecars)
    } else first = most(first, plus(sidecars, asked(container)))
  }
  return plus(most(plus(sum, sidecars), first), amounts(spec.overhead))
}

/** Why a node is rejected; `hopeless` if removing other Pods would not help. */
interface Refusal {
  readonly reasons: ReadonlyArray<string>
  readonly hopeless: boolean
}

const unschedulable = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }

const refuse = (pod: Pod, requests: Amounts, node: Node, load: Load): Refusal | undefined => {
  const { spec = {} } = node
  const hopeless = (reason: string): Refusal => ({ reasons: [reason], hopeless: true })
  if (
    spec.unschedulable === true && untolerated([unschedulable], pod.spec.tolerations, ["NoSchedule"]) !== undefined
  ) return hopeless("node(s) were unschedulable")
  if (untolerated(spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]) !== undefined) {
    return hopeless("node(s) had untolerated taint(s)")
  }
  if (!matchesAffinity(pod.spec, node)) return hopeless("node(s) didn't match Pod's node affinity/selector")
  return lacking(requests, amounts(node.status?.allocatable), load)
}

/** A node that does not report its resources has enough. */
const lacking = (requests: Amounts, allocatable: Amounts, load: Load): Refusal | undefined => {
  if (allocatable.size === 0) return undefined
  const reasons: Array<string> = []
  let hopeless = false
  const pods = allocatable.get("pods")
  if (pods !== undefined && BigInt(load.pods + 1) * 1000n > pods) reasons.push("Too many pods")
  for (const [name, amount] of requests) {
    const capacity = allocatable.get(name) ?? 0n
    if (amount === 0n || amount <= capacity - (load.requested.get(name) ?? 0n)) continue
    reasons.push(`Insufficient ${name}`)
    hopeless ||= amount > capacity
  }
  return reasons.length === 0 ? undefined : { reasons, hopeless }
}

/** The name of the node, or why there is none. */
export type Decision =
  | { readonly _tag: "Node"; readonly name: string }
  | { readonly _tag: "None"; readonly message: string }

/** Selects a node for one Pod. */
export const decide = (pod: Pod, nodes: ReadonlyArray<Node>, loadOf: (name: string) => Load): Decision => {
  if (nodes.length === 0) return { _tag: "None", message: "no nodes available to schedule pods" }
  const requests = requestsOf(pod)
  const refusals: Array<Refusal> = []
  let best: { readonly name: string; readonly pods: number } | undefined
  for (const node of nodes) {
    const { name } = node.metadata
    const load = loadOf(name)
    const refusal = refuse(pod, requests, node, load)
    if (refusal !== undefined) refusals.push(refusal)
    else if (best === undefined || load.pods < best.pods) best = { name, pods: load.pods }
  }
  return best === undefined
    ? { _tag: "None", message: misfit(nodes.length, refusals) }
    : { _tag: "Node", name: best.name }
}

const counted = (reasons: ReadonlyArray<string>): string => {
  const counts = new Map<string, number>()
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].map(([reason, count]) => `${count} ${reason}`).sort().join(", ")
}

const misfit = (total: number, refusals: ReadonlyArray<Refusal>): string => {
  const none = `0/${total} nodes are available`
  const preemption = refusals.map(({ hopeless }) =>
    hopeless ? "Preemption is not helpful for scheduling" : "No preemption victims found for incoming pod"
  )
  return `${none}: ${counted(refusals.flatMap(({ reasons }) => reasons))}. no new claims to deallocate, ` +
    `preemption: ${none}: ${counted(preemption)}.`
}
