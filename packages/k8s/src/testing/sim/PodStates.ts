/**
 * The states of a simulated Pod, as pure functions: what is to be done with a Pod next, and the status it then has.
 *
 * A Pod is bound, started, kept running, restarted or removed; `stepOf` reads from the object alone which of these it
 * waits for, so a kubelet that starts anew continues where the last one stopped. The statuses are a kubelet's: phases,
 * conditions and container states as a real one writes them, without the parts only a container runtime knows.
 *
 * Source: "Pod Lifecycle" of the Kubernetes documentation; k8s.io/kubernetes/pkg/kubelet/status/generate.go.
 */
import type { Container, ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from "../../kinds/core.v1.ts"

/** What a Pod waits for. */
export type Step =
  /** A node. */
  | "Bind"
  /** Its containers to run. */
  | "Start"
  /** Stopped containers to run again. */
  | "Restart"
  /** Its readiness gates were met or lost. */
  | "Refresh"
  /** Its containers to end by themselves. */
  | "Exit"
  /** Its containers to stop, because it is being deleted. */
  | "Remove"

/** What the kubelet knows and the Pod does not. */
export interface Host {
  readonly now: string
  readonly hostIP: string
  readonly podIP: string
}

/** How containers ended. */
export interface Ending {
  /** 0 for success. */
  readonly exitCode: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** The step a Pod waits for; nothing once it is finished or gone for good. `ends`: its containers end by themselves. */
export const stepOf = (pod: Pod, ends: boolean): Step | undefined => {
  const { metadata, spec, status } = pod
  if (metadata.deletionTimestamp !== undefined) {
    return (metadata.deletionGracePeriodSeconds ?? 0) > 0 ? "Remove" : undefined
  }
  if (isFinished(pod)) return undefined
  if (spec.nodeName === undefined || spec.nodeName === "") return isSchedulable(pod) ? "Bind" : undefined
  if (status?.phase !== "Running") return "Start"
  if (status.containerStatuses?.some(({ state }) => state?.running === undefined) === true) return "Restart"
  if ((conditionOf(pod, "Ready")?.status === "True") !== readinessGatesMet(pod)) return "Refresh"
  return ends ? "Exit" : undefined
}

/** Phase Succeeded or Failed: nothing happens to the Pod any more. */
export const isFinished = (pod: Pod): boolean => pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed"

const isSchedulable = ({ spec }: Pod): boolean =>
  (spec.schedulingGates ?? []).length === 0 && (spec.schedulerName ?? "default-scheduler") === "default-scheduler"

export const conditionOf = (pod: Pod, type: string): PodCondition | undefined =>
  pod.status?.conditions?.find((condition) => condition.type === type)

const readinessGatesMet = (pod: Pod): boolean =>
  (pod.spec.readinessGates ?? []).every(({ conditionType }) => conditionOf(pod, conditionType)?.status === "True")

interface Truth {
  readonly holds: boolean
  readonly reason?: string
  readonly message?: string
}

/** The conditions with some of them set. Others, and the transition time of those that hold as before, stay. */
const withConditions = (
  pod: Pod,
  now: string,
  truths: Readonly<Record<string, Truth>>
): ReadonlyArray<PodCondition> => {
  const before = pod.status?.conditions ?? []
  const set = Object.entries(truths).map(([type, { holds, message, reason }]): PodCondition => {
    const status = holds ? "True" : "False"
    const old = conditionOf(pod, type)
    return {
      type,
      status,
      lastTransitionTime: old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : now,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message })
    }
  })
  return [...before.filter(({ type }) => !Object.hasOwn(truths, type)), ...set]
}

const readyTruth = (pod: Pod): Truth =>
  readinessGatesMet(pod)
    ? { holds: true }
    : { holds: false, reason: "ReadinessGatesNotReady", message: "the status of pod readiness gate is not \"True\"" }

const containerStatus = (
  pod: Pod,
  container: Container,
  state: ContainerState,
  more: Partial<ContainerStatus> = {}
): ContainerStatus => {
  const image = container.image ?? ""
  return {
    name: container.name,
    image,
    imageID: `sim://${image}`,
    containerID: `sim://${pod.metadata.uid}/${container.name}`,
    ready: state.running !== undefined,
    started: state.running !== undefined,
    restartCount: 0,
    state,
    ...more
  }
}

/** All containers run: the phase is Running, and the Pod is ready unless a readiness gate says otherwise. */
export const running = (pod: Pod, host: Host): PodStatus => ({
  ...pod.status,
  phase: "Running",
  conditions: withConditions(pod, host.now, {
    PodReadyToStartContainers: { holds: true },
    Initialized: { holds: true },
    ContainersReady: { holds: true },
    Ready: readyTruth(pod),
    PodScheduled: { holds: true }
  }),
  hostIP: host.hostIP,
  hostIPs: [{ ip: host.hostIP }],
  podIP: host.podIP,
  podIPs: [{ ip: host.podIP }],
  startTime: pod.status?.startTime ?? host.now,
  ...((pod.spec.initContainers ?? []).length === 0
    ? {}
    : { initContainerStatuses: pod.spec.initContainers!.map((container) => initStatus(pod, container, host.now)) }),
  containerStatuses: pod.spec.containers.map((container) =>
    containerStatus(pod, container, { running: { startedAt: host.now } })
  )
})

/** An init container has completed; a sidecar (restartPolicy Always) runs on. */
const initStatus = (pod: Pod, container: Container, now: string): ContainerStatus =>
  container.restartPolicy === "Always"
    ? containerStatus(pod, container, { running: { startedAt: now } })
    : containerStatus(pod, container, { terminated: terminated({ exitCode: 0 }, now, now) }, { ready: true })

const terminated = (ending: Ending, startedAt: string | undefined, now: string) => ({
  exitCode: ending.exitCode,
  reason: ending.exitCode === 0 ? "Completed" : "Error",
  ...(startedAt === undefined ? {} : { startedAt }),
  finishedAt: now
})

/** Stopped containers run again: each has been restarted once more. */
export const restarted = (pod: Pod, now: string): PodStatus => ({
  ...pod.status,
  conditions: withConditions(pod, now, { ContainersReady: { holds: true }, Ready: readyTruth(pod) }),
  containerStatuses: (pod.status?.containerStatuses ?? []).map((container) =>
    container.state?.running !== undefined ? container : {
      ...container,
      ready: true,
      started: true,
      restartCount: container.restartCount + 1,
      state: { running: { startedAt: now } }
    }
  )
})

/** The Ready condition follows the readiness gates. */
export const refreshed = (pod: Pod, now: string): PodStatus => ({
  ...pod.status,
  conditions: withConditions(pod, now, { Ready: readyTruth(pod) })
})

/** Whether the Pod's restart policy starts containers again that ended so. */
export const restarts = (pod: Pod, ending: Ending): boolean => {
  const policy = pod.spec.restartPolicy ?? "Always"
  return policy === "Always" || (policy === "OnFailure" && ending.exitCode !== 0)
}

const stopped = (pod: Pod, ending: Ending, now: string, waiting: boolean): ReadonlyArray<ContainerStatus> =>
  pod.spec.containers.map((container) => {
    const before = pod.status?.containerStatuses?.find(({ name }) => name === container.name)
    const ended = { terminated: terminated(ending, before?.state?.running?.startedAt, now) }
    return {
      ...(before ?? containerStatus(pod, container, ended)),
      ready: false,
      started: false,
      state: waiting ? { waiting: { reason: "CrashLoopBackOff" } } : ended,
      ...(waiting ? { lastState: ended } : {})
    }
  })

/** All containers ended and wait to be restarted. */
export const crashed = (pod: Pod, ending: Ending, now: string): PodStatus => {
  const unready: Truth = { holds: false, reason: "ContainersNotReady" }
  return {
    ...pod.status,
    conditions: withConditions(pod, now, { ContainersReady: unready, Ready: unready }),
    containerStatuses: stopped(pod, ending, now, true)
  }
}

/** All containers ended for good: Succeeded or Failed, by the exit code. */
export const finished = (pod: Pod, ending: Ending, now: string): PodStatus => {
  const phase = ending.exitCode === 0 ? "Succeeded" : "Failed"
  const unready: Truth = { holds: false, reason: ending.exitCode === 0 ? "PodCompleted" : "PodFailed" }
  return {
    ...pod.status,
    phase,
    ...(ending.reason === undefined ? {} : { reason: ending.reason }),
    ...(ending.message === undefined ? {} : { message: ending.message }),
    conditions: withConditions(pod, now, { ContainersReady: unready, Ready: unready }),
    containerStatuses: stopped(pod, ending, now, false)
  }
}
