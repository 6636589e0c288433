/**
 * `PodFacts`: what controllers read from a Pod, as pure functions: whether it is active, ready or available, and the
 * order of deletion.
 *
 * Source: k8s.io/kubernetes/pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go (ActivePodsWithRanks).
 */
import type { Pod, PodCondition } from "../../kinds/core.v1.ts"

/** Neither finished nor being deleted. */
export const isActive = (pod: Pod): boolean => !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined

/** Succeeded or Failed. */
export const isTerminal = (pod: Pod): boolean => pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed"

/** Being deleted, and not finished. */
export const isTerminating = (pod: Pod): boolean => !isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined

/** A condition of the Pod's status. */
export const condition = (pod: Pod, type: string): PodCondition | undefined =>
  pod.status?.conditions?.find((candidate) => candidate.type === type)

/** The condition Ready is True. */
export const isReady = (pod: Pod): boolean => condition(pod, "Ready")?.status === "True"

/**
 * When a ready Pod becomes or became available, in milliseconds; undefined if it is not ready or the time is unknown.
 */
export const availableAt = (pod: Pod, minReadySeconds: number): number | undefined => {
  const ready = condition(pod, "Ready")
  if (ready?.status !== "True") return undefined
  if (minReadySeconds === 0) return 0
  return ready.lastTransitionTime === undefined
    ? undefined
    : Date.parse(ready.lastTransitionTime) + minReadySeconds * 1000
}

/** Ready for at least `minReadySeconds`. */
export const isAvailable = (pod: Pod, minReadySeconds: number, now: number): boolean =>
  (availableAt(pod, minReadySeconds) ?? Infinity) <= now

/** The earliest time at which a ready Pod that is not available yet becomes available; Infinity if none does. */
export const nextAvailable = (pods: ReadonlyArray<Pod>, minReadySeconds: number, now: number): number =>
  pods.reduce((next, pod) => {
    const at = availableAt(pod, minReadySeconds)
    return at !== undefined && at > now && at < next ? at : next
  }, Infinity)

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

const costAnnotation = "controller.kubernetes.io/pod-deletion-cost"

/** The deletion cost in the Pod's annotation; 0 if it is missing or invalid. */
export const deletionCost = (pod: Pod): number => {
  const text = pod.metadata.annotations?.[costAnnotation] ?? ""
  const cost = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : 0
  return Math.abs(cost) <= 0x7fff_ffff ? cost : 0
}

/** The highest restart counts of its regular containers and of its sidecars. */
const restarts = (pod: Pod): readonly [number, number] => {
  const most = (statuses: ReadonlyArray<{ readonly restartCount: number }> | undefined) =>
    (statuses ?? []).reduce((max, { restartCount }) => Math.max(max, restartCount), 0)
  const sidecars = new Set(
    (pod.spec.initContainers ?? []).flatMap(({ name, restartPolicy }) => restartPolicy === "Always" ? [name] : [])
  )
  return [
    most(pod.status?.containerStatuses),
    most(pod.status?.initContainerStatuses?.filter(({ name }) => sidecars.has(name)))
  ]
}

/** The age on a logarithmic scale, so that the choice among old Pods is practically random. */
const ageRank = (time: string | undefined, now: number): number => {
  const age = now - Date.parse(time ?? "")
  return age > 0 ? Math.floor(Math.log2(age * 1_000_000)) : -1
}

/**
 * Pods in the order of deletion: first those without a node, then pending, not ready, with low deletion cost, on a node
 * with many `related` Pods, young, and often restarted ones.
 */
export const deletionOrder = (
  pods: ReadonlyArray<Pod>,
  related: ReadonlyArray<Pod>,
  now: number
): ReadonlyArray<Pod> => {
  const onNode = new Map<string, number>()
  for (const pod of related) {
    const node = pod.spec.nodeName ?? ""
    if (isActive(pod)) onNode.set(node, (onNode.get(node) ?? 0) + 1)
  }
  const facts = pods.map((pod) => ({
    pod,
    node: pod.spec.nodeName ?? "",
    phase: phaseOrder[pod.status?.phase ?? ""] ?? 0,
    ready: isReady(pod),
    cost: deletionCost(pod),
    crowd: onNode.get(pod.spec.nodeName ?? "") ?? 0,
    readyTime: condition(pod, "Ready")?.lastTransitionTime,
    restarts: restarts(pod)
  }))
  type Facts = (typeof facts)[number]
  const byAge = (a: Facts, b: Facts, timeA: string | undefined, timeB: string | undefined): number =>
    ageRank(timeA, now) - ageRank(timeB, now) || (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1)
  const compare = (a: Facts, b: Facts): number => {
    if (a.node !== b.node && (a.node === "" || b.node === "")) return a.node === "" ? -1 : 1
    if (a.phase !== b.phase) return a.phase - b.phase
    if (a.ready !== b.ready) return a.ready ? 1 : -1
    if (a.cost !== b.cost) return a.cost - b.cost
    if (a.crowd !== b.crowd) return b.crowd - a.crowd
    if (a.ready && b.ready && a.readyTime !== b.readyTime) return byAge(a, b, a.readyTime, b.readyTime)
    if (a.restarts[0] !== b.restarts[0]) return b.restarts[0] - a.restarts[0]
    if (a.restarts[1] !== b.restarts[1]) return b.restarts[1] - a.restarts[1]
    const [createdA, createdB] = [a.pod.metadata.creationTimestamp, b.pod.metadata.creationTimestamp]
    return createdA === createdB ? 0 : byAge(a, b, createdA, createdB)
  }
  return facts.sort(compare).map(({ pod }) => pod)
}
