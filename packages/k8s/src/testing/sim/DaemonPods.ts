/**
 * `DaemonPods`: the nodes on which a DaemonSet should run a Pod, and the Pods to delete, as pure functions.
 *
 * A node is eligible if it matches the template's node name, selector and affinity, and the template tolerates its
 * taints, including the default tolerations of daemons. A Pod on a node that it no longer tolerates stays, unless the
 * taint is NoExecute.
 *
 * Source: k8s.io/kubernetes/pkg/controller/daemon/{daemon_controller,update}.go, daemon/util/daemonset_util.go.
 */
import type { DaemonSet, DaemonSetStatus } from "../../kinds/apps.v1.ts"
import type { Affinity, Node, Pod, PodSpec, PodTemplateSpec, Toleration } from "../../kinds/core.v1.ts"
import { matchesAffinity, untolerated, withToleration } from "./NodeMatching.ts"
import { scaled, withoutZeros } from "./Numbers.ts"
import * as PodFacts from "./PodFacts.ts"

export const hashLabel = "controller-revision-hash"
const generationLabel = "pod-template-generation"
const generationAnnotation = "deprecated.daemonset.template.generation"

const automatic: ReadonlyArray<readonly [string, string]> = [
  ["node.kubernetes.io/not-ready", "NoExecute"],
  ["node.kubernetes.io/unreachable", "NoExecute"],
  ["node.kubernetes.io/disk-pressure", "NoSchedule"],
  ["node.kubernetes.io/memory-pressure", "NoSchedule"],
  ["node.kubernetes.io/pid-pressure", "NoSchedule"],
  ["node.kubernetes.io/unschedulable", "NoSchedule"]
]

const tolerationsOf = (spec: PodSpec): ReadonlyArray<Toleration> => {
  const added = spec.hostNetwork === true
    ? [...automatic, ["node.kubernetes.io/network-unavailable", "NoSchedule"] as const]
    : automatic
  return added.reduce(
    (all, [key, effect]) => withToleration(all, { key, operator: "Exists", effect }),
    spec.tolerations ?? []
  )
}

/** The affinity restricted to one node. */
const pinned = (affinity: Affinity | undefined, node: string): Affinity => ({
  ...affinity,
  nodeAffinity: {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }]
    }
  }
})

/** The Pod template for a node. */
export const templateFor = (set: DaemonSet, hash: string, node: string): PodTemplateSpec => {
  const { metadata = {}, spec = { containers: [] } } = set.spec.template
  const generation = set.metadata.annotations?.[generationAnnotation]
  return {
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        ...(generation === undefined ? {} : { [generationLabel]: generation }),
        [hashLabel]: hash
      }
    },
    spec: { ...spec, tolerations: tolerationsOf(spec), affinity: pinned(spec.affinity, node) }
  }
}

/** Whether the set should run a Pod on a node, and whether an existing one may stay. */
export const fit = (set: DaemonSet, node: Node): { readonly run: boolean; readonly stay: boolean } => {
  const spec = set.spec.template.spec ?? { containers: [] }
  const named = (spec.nodeName ?? "") === "" || spec.nodeName === node.metadata.name
  if (!named || !matchesAffinity(spec, node)) return { run: false, stay: false }
  const { taints } = node.spec ?? {}
  if ((taints ?? []).length === 0) return { run: true, stay: true }
  const tolerations = tolerationsOf(spec)
  const stay = untolerated(taints, tolerations, ["NoExecute"]) === undefined
  return { run: stay && untolerated(taints, tolerations, ["NoSchedule"]) === undefined, stay }
}

/** The node of a Pod, or the one it is pinned to. */
export const nodeOf = ({ spec }: Pod): string => {
  if (spec.nodeName !== undefined && spec.nodeName !== "") return spec.nodeName
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  for (const { matchFields = [] } of terms) {
    for (const { key, operator, values = [] } of matchFields) {
      if (key === "metadata.name" && operator === "In" && values.length === 1) return values[0]!
    }
  }
  return ""
}

/** The Pods by node. */
export const byNode = (pods: ReadonlyArray<Pod>): Map<string, Array<Pod>> => {
  const nodes = new Map<string, Array<Pod>>()
  for (const pod of pods) {
    const node = nodeOf(pod)
    const there = nodes.get(node)
    if (there === undefined) nodes.set(node, [pod])
    else there.push(pod)
  }
  return nodes
}

/** Whether a Pod has the current template. */
export const isUpdated = (set: DaemonSet, hash: string, pod: Pod): boolean => {
  const generation = set.metadata.annotations?.[generationAnnotation]
  return pod.metadata.labels?.[hashLabel] === hash ||
    (generation !== undefined && pod.metadata.labels?.[generationLabel] === generation)
}

/** Pods with a node first, then by age, oldest first. */
export const byAge = (a: Pod, b: Pod): number => {
  const [nodeA, nodeB] = [(a.spec.nodeName ?? "") !== "", (b.spec.nodeName ?? "") !== ""]
  if (nodeA !== nodeB) return nodeA ? -1 : 1
  const [timeA, timeB] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp]
  return timeA === timeB ? (a.metadata.name < b.metadata.name ? -1 : 1) : (timeA < timeB ? -1 : 1)
}

const isStaying = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined

const isAvailable = (set: DaemonSet, pod: Pod, now: number): boolean =>
  PodFacts.isAvailable(pod, set.spec.minReadySeconds ?? 0, now)

const isRolling = ({ spec }: DaemonSet): boolean => (spec.updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate"

const surge = (set: DaemonSet, nodes: number): number =>
  isRolling(set) ? scaled(set.spec.updateStrategy?.rollingUpdate?.maxSurge, nodes, "up") : 0

/** The nodes on which to create Pods, and the Pods to delete. */
export interface Plan {
  readonly create: ReadonlyArray<string>
  readonly remove: ReadonlyArray<Pod>
}

/** Which of several running Pods on a node to delete. */
const excess = (set: DaemonSet, hash: string, running: ReadonlyArray<Pod>, now: number): ReadonlyArray<Pod> => {
  const sorted = [...running].sort(byAge)
  if (surge(set, 1) === 0) return sorted.slice(1)
  const isNew = (pod: Pod) => pod.metadata.labels?.[hashLabel] === hash
  const [fresh, old] = [sorted.find(isNew), sorted.find((pod) => !isNew(pod))]
  const more = sorted.filter((pod) => pod !== fresh && pod !== old)
  const replaced = fresh !== undefined && old !== undefined && (!PodFacts.isReady(old) || isAvailable(set, fresh, now))
  return replaced ? [...more, old] : more
}

/** What to do on a node. Finished Pods are not counted; `finished` lists those that may be replaced. */
export const planNode = (
  set: DaemonSet,
  hash: string,
  node: Node,
  pods: ReadonlyArray<Pod> | undefined,
  now: number
): Plan & { readonly finished: ReadonlyArray<Pod> } => {
  const { run, stay } = fit(set, node)
  const staying = (pods ?? []).filter(isStaying)
  if (run && pods === undefined) return { create: [node.metadata.name], remove: [], finished: [] }
  if (!stay) return { create: [], remove: staying, finished: [] }
  const finished = staying.filter(PodFacts.isTerminal)
  const running = staying.filter((pod) => !PodFacts.isTerminal(pod))
  const replace = surge(set, 1) > 0 && running.length === 0 && run
  return { create: replace ? [node.metadata.name] : [], remove: excess(set, hash, running, now), finished }
}

/** The new and the old Pod on a node; undefined if there are several of either. */
const pairOn = (set: DaemonSet, hash: string, pods: ReadonlyArray<Pod>) => {
  const staying = pods.filter(isStaying)
  const fresh = staying.filter((pod) => isUpdated(set, hash, pod))
  const old = staying.filter((pod) => !isUpdated(set, hash, pod))
  return fresh.length > 1 || old.length > 1 ? undefined : { fresh: fresh[0], old: old[0] }
}

/** The next step of a rolling update, once every node has its Pod. */
export const planUpdate = (
  set: DaemonSet,
  hash: string,
  nodes: ReadonlyArray<Node>,
  pods: ReadonlyMap<string, ReadonlyArray<Pod>>,
  now: number
): Plan => {
  if (!isRolling(set)) return { create: [], remove: [] }
  const meant = new Set(nodes.filter((node) => fit(set, node).run).map(({ metadata }) => metadata.name))
  const all = new Map(pods)
  for (const name of meant) if (!all.has(name)) all.set(name, [])
  const { maxUnavailable } = set.spec.updateStrategy?.rollingUpdate ?? {}
  const maxSurge = surge(set, meant.size)
  const most = scaled(maxUnavailable ?? 1, meant.size, "up")
  return maxSurge > 0
    ? planSurge(set, hash, meant, all, maxSurge, now)
    : planReplace(set, hash, all, meant.size > 0 && most === 0 ? 1 : most, now)
}

const planReplace = (
  set: DaemonSet,
  hash: string,
  pods: ReadonlyMap<string, ReadonlyArray<Pod>>,
  maxUnavailable: number,
  now: number
): Plan => {
  let unavailable = 0
  const broken: Array<Pod> = []
  const candidates: Array<Pod> = []
  for (const there of pods.values()) {
    const pair = pairOn(set, hash, there)
    if (pair === undefined || (pair.old === undefined) === (pair.fresh === undefined)) unavailable += 1
    else if (pair.fresh !== undefined) unavailable += isAvailable(set, pair.fresh, now) ? 0 : 1
    else if (isAvailable(set, pair.old!, now)) candidates.push(pair.old!)
    else {
      broken.push(pair.old!)
      unavailable += 1
    }
  }
  return { create: [], remove: [...broken, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))] }
}

const planSurge = (
  set: DaemonSet,
  hash: string,
  meant: ReadonlySet<string>,
  pods: ReadonlyMap<string, ReadonlyArray<Pod>>,
  maxSurge: number,
  now: number
): Plan => {
  let surging = 0
  let available = 0
  const remove: Array<Pod> = []
  const unmeant: Array<Pod> = []
  const broken: Array<string> = []
  const candidates: Array<string> = []
  for (const [node, there] of pods) {
    const pair = pairOn(set, hash, there)
    if (pair === undefined) {
      surging += 1
      continue
    }
    const { fresh, old } = pair
    const either = old ?? fresh
    if (either !== undefined && isAvailable(set, either, now)) available += 1
    if (old === undefined) continue
    if (fresh !== undefined) {
      if (isAvailable(set, fresh, now)) remove.push(old)
      else surging += 1
    } else if (!meant.has(node)) (isAvailable(set, old, now) ? unmeant : remove).push(old)
    else (isAvailable(set, old, now) ? candidates : broken).push(node)
  }
  const spare = Math.max(0, available - meant.size)
  return {
    create: [...broken, ...candidates.slice(0, Math.max(0, maxSurge - surging))],
    remove: [...remove, ...unmeant.slice(0, spare)]
  }
}

/** The canonical form of a status, without zeros. */
export const plain = (status: DaemonSetStatus | undefined): DaemonSetStatus =>
  withoutZeros(
    status ?? { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "collisionCount"]
  )

/** The status, counted over all nodes. */
export const statusOf = (
  set: DaemonSet,
  hash: string,
  nodes: ReadonlyArray<Node>,
  pods: ReadonlyMap<string, ReadonlyArray<Pod>>,
  now: number
): DaemonSetStatus => {
  let [desired, current, misscheduled, ready, available, updated] = [0, 0, 0, 0, 0, 0]
  for (const node of nodes) {
    const there = pods.get(node.metadata.name) ?? []
    if (!fit(set, node).run) {
      if (there.length > 0) misscheduled += 1
      continue
    }
    desired += 1
    const pod = [...there].sort(byAge)[0]
    if (pod === undefined) continue
    current += 1
    if (PodFacts.isReady(pod)) ready += 1
    if (isAvailable(set, pod, now)) available += 1
    if (isUpdated(set, hash, pod)) updated += 1
  }
  return plain({
    ...set.status,
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    desiredNumberScheduled: desired,
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    numberReady: ready,
    updatedNumberScheduled: updated,
    numberAvailable: available,
    numberUnavailable: desired - available
  })
}
