/**
 * `PodStatus`: the status that a kubelet reports for a Pod: phase, conditions, container states. Pure.
 *
 * Conditions of others are kept; a transition time changes only with the status of its condition.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go (getPhase), pkg/kubelet/status/generate.go.
 */
import type { ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from "../../kinds/core.v1.ts"
import { timestamp } from "../server/Exchange.ts"
import type { ContainerLife, Ended, Life } from "./PodLife.ts"
import { condition } from "./PodFacts.ts"
import { isInitialized } from "./PodLife.ts"

/** The addresses of the Pod. */
export interface Host {
  readonly hostIP: string
  readonly podIP: string
}

/** Why a Pod failed as a whole. */
export interface Failure {
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

const terminated = (ended: Ended, id: string) => ({
  exitCode: ended.exitCode,
  ...(ended.reason === undefined ? {} : { reason: ended.reason }),
  ...(ended.message === undefined ? {} : { message: ended.message }),
  startedAt: timestamp(ended.startedAt),
  finishedAt: timestamp(ended.finishedAt),
  containerID: id
})

const stateOf = ({ state }: ContainerLife, id: string): ContainerState => {
  switch (state._tag) {
    case "Waiting":
      return { waiting: { reason: state.reason, ...(state.message === undefined ? {} : { message: state.message }) } }
    case "Running":
      return { running: { startedAt: timestamp(state.startedAt) } }
    case "Terminated":
      return { terminated: terminated(state.ended, id) }
  }
}

const isReady = ({ role, state }: ContainerLife, now: number): boolean =>
  role === "Init"
    ? state._tag === "Terminated" && state.ended.exitCode === 0
    : state._tag === "Running" && state.readyAt <= now

const containerStatus = (pod: Pod, entry: ContainerLife, now: number): ContainerStatus => {
  const { container: { image = "", name }, last, restarts, state } = entry
  const id = (run: number) => `sim://${pod.metadata.uid}/${name}/${run}`
  const ran = state._tag !== "Waiting" || last !== undefined
  return {
    name,
    state: stateOf(entry, id(restarts)),
    lastState: last === undefined ? {} : { terminated: terminated(last, id(Math.max(0, restarts - 1))) },
    ready: isReady(entry, now),
    restartCount: restarts,
    image,
    imageID: ran ? `sim://${image}` : "",
    ...(ran ? { containerID: id(restarts) } : {}),
    started: state._tag === "Running"
  }
}

/**
 * Ephemeral containers: they run from the moment they are added until the Pod ends, are never ready nor restarted, and
 * affect nothing else. Their start time is kept from the previous status.
 */
const ephemeralStatuses = (pod: Pod, phase: string, now: number): ReadonlyArray<ContainerStatus> =>
  (pod.spec.ephemeralContainers ?? []).map(({ image = "", name }) => {
    const before = pod.status?.ephemeralContainerStatuses?.find((status) => status.name === name)?.state
    const containerID = `sim://${pod.metadata.uid}/${name}/0`
    const startedAt = before?.running?.startedAt ?? timestamp(now)
    const killed = { exitCode: 137, reason: "Error", startedAt, finishedAt: timestamp(now), containerID }
    const state: ContainerState = before?.terminated !== undefined
      ? before
      : phase === "Pending"
      ? { waiting: { reason: "PodInitializing" } }
      : phase === "Running"
      ? { running: { startedAt } }
      : { terminated: killed }
    const started = state.waiting === undefined ? { imageID: `sim://${image}`, containerID } : { imageID: "" }
    return { name, state, lastState: {}, ready: false, restartCount: 0, image, ...started }
  })

const phaseOf = (life: Life, pod: Pod): string => {
  const { containers } = life
  const policy = pod.spec.restartPolicy ?? "Always"
  const isOver = ({ state }: ContainerLife) => state._tag === "Terminated" && state.until === Infinity
  const failed = ({ state }: ContainerLife) => state._tag === "Terminated" && state.ended.exitCode !== 0
  if (containers.some((entry) => entry.role === "Init" && isOver(entry) && failed(entry))) return "Failed"
  if (!isInitialized(life)) return "Pending"
  const main = containers.filter(({ role }) => role === "Main")
  const neverRan = ({ last, state }: ContainerLife) => state._tag === "Waiting" && last === undefined
  if (main.some(neverRan)) return "Pending"
  if (!main.every(isOver) || policy === "Always") return main.every(isOver) ? ended(main) : "Running"
  return ended(main)
}

/** A Pod whose containers have finally ended is Failed if one of them failed. */
const ended = (main: ReadonlyArray<ContainerLife>): string =>
  main.some(({ state }) => state._tag === "Terminated" && state.ended.exitCode !== 0) ? "Failed" : "Succeeded"

interface Truth {
  readonly holds: boolean
  readonly reason?: string
  readonly message?: string
}

const yes: Truth = { holds: true }

const names = (containers: ReadonlyArray<ContainerLife>): string =>
  `[${containers.map(({ container }) => container.name).join(" ")}]`

const containersReady = (life: Life, phase: string, now: number): Truth => {
  if (phase === "Succeeded") return { holds: false, reason: "PodCompleted" }
  if (phase === "Failed") return { holds: false, reason: "PodFailed" }
  const unready = life.containers.filter((entry) => entry.role !== "Init" && !isReady(entry, now))
  return unready.length === 0
    ? yes
    : { holds: false, reason: "ContainersNotReady", message: `containers with unready status: ${names(unready)}` }
}

const initialized = (life: Life, phase: string): Truth => {
  if (phase === "Succeeded") return { holds: true, reason: "PodCompleted" }
  if (isInitialized(life)) return yes
  const incomplete = life.containers.filter(({ role, state }) =>
    role === "Init"
      ? !(state._tag === "Terminated" && state.ended.exitCode === 0)
      : role === "Sidecar" && state._tag !== "Running"
  )
  return {
    holds: false,
    reason: "ContainersNotInitialized",
    message: `containers with incomplete status: ${names(incomplete)}`
  }
}

/** Readiness also requires the conditions of the readiness gates. */
const podReady = (pod: Pod, containers: Truth): Truth => {
  if (!containers.holds) return containers
  const missing = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = condition(pod, conditionType)
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
    return gate.status === "True"
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`]
  })
  return missing.length === 0
    ? yes
    : { holds: false, reason: "ReadinessGatesNotReady", message: missing.join(", ") }
}

const withConditions = (
  pod: Pod,
  now: string,
  truths: Readonly<Record<string, Truth>>
): ReadonlyArray<PodCondition> => {
  const { generation } = pod.metadata
  const set = Object.entries(truths).map(([type, { holds, message, reason }]): PodCondition => {
    const status = holds ? "True" : "False"
    const before = condition(pod, type)
    const since = before?.status === status ? before.lastTransitionTime : undefined
    return {
      type,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status,
      lastTransitionTime: since ?? now,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message })
    }
  })
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !Object.hasOwn(truths, type))
  return [...set, ...others]
}

/** The current status of a Pod. */
export const render = (pod: Pod, life: Life, host: Host, now: number, failure?: Failure): PodStatus => {
  const phase = failure === undefined ? phaseOf(life, pod) : "Failed"
  const ready = containersReady(life, phase, now)
  const began = life.containers.some(({ last, state }) => state._tag !== "Waiting" || last !== undefined)
  const statuses = (main: boolean) =>
    life.containers.filter(({ role }) => (role === "Main") === main).map((entry) => containerStatus(pod, entry, now))
  const { generation } = pod.metadata
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    conditions: withConditions(pod, timestamp(now), {
      PodReadyToStartContainers: { holds: began && phase !== "Succeeded" && phase !== "Failed" },
      Initialized: initialized(life, phase),
      Ready: podReady(pod, ready),
      ContainersReady: ready,
      PodScheduled: yes
    }),
    ...(failure?.reason === undefined ? {} : { reason: failure.reason }),
    ...(failure?.message === undefined ? {} : { message: failure.message }),
    hostIP: host.hostIP,
    hostIPs: [{ ip: host.hostIP }],
    ...(began ? { podIP: host.podIP, podIPs: [{ ip: host.podIP }] } : {}),
    startTime: timestamp(life.startTime),
    ...((pod.spec.initContainers ?? []).length === 0 ? {} : { initContainerStatuses: statuses(false) }),
    containerStatuses: statuses(true),
    ...((pod.spec.ephemeralContainers ?? []).length === 0
      ? {}
      : { ephemeralContainerStatuses: ephemeralStatuses(pod, phase, now) }),
    ...(pod.status?.qosClass === undefined ? {} : { qosClass: pod.status.qosClass })
  }
}
