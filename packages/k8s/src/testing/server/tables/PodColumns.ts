/**
 * `PodColumns`: the table row of a Pod.
 *
 * Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go `printPod`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import { age, type Column, column, nameColumn, orNone } from "../../../api/PrinterColumns.ts"

export interface Summary {
  readonly ready: number
  readonly total: number
  readonly reason: string
  readonly restarts: number
  /** When a restarted container ended last. */
  readonly lastRestart: string
}

const count = (value: unknown): number => typeof value === "number" ? value : 0

const conditionIs = (pod: KubeObject, type: string, status: string): boolean =>
  arrayAt(pod, "status", "conditions").some((entry) =>
    stringAt(entry, "type") === type && stringAt(entry, "status") === status
  )

/** Why a container ended, as the table prints it. */
const ended = (terminated: unknown): string => {
  const reason = stringAt(terminated, "reason")
  if (reason !== "") return reason
  const signal = count(at(terminated, "signal"))
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${count(at(terminated, "exitCode"))}`
}

const startReason = (pod: KubeObject): string => {
  const gated = arrayAt(pod, "status", "conditions").some((entry) =>
    stringAt(entry, "type") === "PodScheduled" && stringAt(entry, "reason") === "SchedulingGated"
  )
  return gated ? "SchedulingGated" : stringAt(pod, "status", "reason") || stringAt(pod, "status", "phase")
}

/** The init containers of a Pod up to the first that blocks the others. */
interface Initialization {
  /** Why the others are blocked; undefined if they are not. */
  readonly reason: string | undefined
  readonly seen: ReadonlyArray<unknown>
  /** The sidecars among them. */
  readonly sidecars: ReadonlyArray<unknown>
  /** How many of these sidecars are ready. */
  readonly ready: number
}

const initialization = (pod: KubeObject): Initialization => {
  const containers = arrayAt(pod, "spec", "initContainers")
  const isSidecar = (status: unknown) =>
    containers.some((entry) =>
      stringAt(entry, "name") === stringAt(status, "name") && stringAt(entry, "restartPolicy") === "Always"
    )
  const statuses = arrayAt(pod, "status", "initContainerStatuses")
  const isOver = (status: unknown) => {
    const terminated = at(status, "state", "terminated")
    return terminated !== undefined && count(at(terminated, "exitCode")) === 0
  }
  const isStarted = (status: unknown) => !isOver(status) && isSidecar(status) && at(status, "started") === true
  const blocking = statuses.findIndex((status) => !isOver(status) && !isStarted(status))
  const seen = blocking < 0 ? statuses : statuses.slice(0, blocking + 1)
  const reason = () => {
    const terminated = at(statuses[blocking], "state", "terminated")
    if (terminated !== undefined) return `Init:${ended(terminated)}`
    const waiting = stringAt(statuses[blocking], "state", "waiting", "reason")
    return waiting !== "" && waiting !== "PodInitializing" ? `Init:${waiting}` : `Init:${blocking}/${containers.length}`
  }
  return {
    reason: blocking < 0 ? undefined : reason(),
    seen,
    sidecars: seen.filter(isSidecar),
    ready: seen.filter((status) => isStarted(status) && at(status, "ready") === true).length
  }
}

/** A container's reason; `undefined` while it runs or has no state. */
const containerReason = (status: unknown): string | undefined => {
  const waiting = stringAt(status, "state", "waiting", "reason")
  if (waiting !== "") return waiting
  const terminated = at(status, "state", "terminated")
  return terminated === undefined ? undefined : ended(terminated)
}

/** The counts and the reason of a Pod. */
export const summary = (pod: KubeObject): Summary => {
  const statuses = arrayAt(pod, "status", "containerStatuses")
  const total = [
    ...arrayAt(pod, "spec", "containers"),
    ...arrayAt(pod, "spec", "initContainers").filter((entry) => stringAt(entry, "restartPolicy") === "Always")
  ].length
  const initial = initialization(pod)
  const past = initial.reason === undefined || conditionIs(pod, "Initialized", "True")
  const counted = past ? [...initial.sidecars, ...statuses] : initial.seen
  const running = past
    ? statuses.filter((status) =>
      containerReason(status) === undefined && at(status, "ready") === true &&
      at(status, "state", "running") !== undefined
    )
    : []
  let reason = initial.reason ?? startReason(pod)
  if (past) {
    // The reason of the first container that has one wins, except that a failed one takes precedence over "Completed".
    const failed = statuses.filter((status) =>
      stringAt(status, "state", "waiting", "reason") === "" &&
      count(at(status, "state", "terminated", "exitCode")) !== 0
    ).map(containerReason)[0]
    reason = statuses.map(containerReason).find((own) => own !== undefined) ?? reason
    if (reason === "Completed") {
      if (running.length > 0 && conditionIs(pod, "Ready", "True")) reason = "Running"
      else reason = failed ?? (running.length > 0 ? "NotReady" : reason)
    }
  }
  const phase = stringAt(pod, "status", "phase")
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (stringAt(pod, "status", "reason") === "NodeLost") reason = "Unknown"
    else if (phase !== "Failed" && phase !== "Succeeded") reason = "Terminating"
  }
  const ends = counted.map((status) => stringAt(status, "lastState", "terminated", "finishedAt")).sort()
  return {
    ready: running.length + initial.ready,
    total,
    reason,
    restarts: counted.reduce<number>((sum, status) => sum + count(at(status, "restartCount")), 0),
    lastRestart: ends.at(-1) ?? ""
  }
}

const restarts = (pod: KubeObject, now: number): string => {
  const { lastRestart, restarts } = summary(pod)
  return restarts > 0 && lastRestart !== "" ? `${restarts} (${age(lastRestart, now)} ago)` : String(restarts)
}

const readinessGates = (pod: KubeObject): string => {
  const gates = arrayAt(pod, "spec", "readinessGates")
  const met = gates.filter((gate) => conditionIs(pod, stringAt(gate, "conditionType"), "True"))
  return gates.length === 0 ? "<none>" : `${met.length}/${gates.length}`
}

const completion = {
  Succeeded: "The pod has completed successfully.",
  Failed: "The pod failed."
} as const

/** The conditions of the row of a finished Pod, by which kubectl can hide it. */
export const conditions = (pod: KubeObject): { readonly conditions?: ReadonlyArray<unknown> } => {
  const phase = stringAt(pod, "status", "phase")
  return phase === "Succeeded" || phase === "Failed"
    ? { conditions: [{ type: "Completed", status: "True", reason: phase, message: completion[phase] }] }
    : {}
}

export const columns: ReadonlyArray<Column> = [
  nameColumn,
  column("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.", (pod) => {
    const { ready, total } = summary(pod)
    return `${ready}/${total}`
  }),
  column("Status", "string", "The aggregate status of the containers in this pod.", (pod) => summary(pod).reason),
  column(
    "Restarts",
    "string",
    "The number of times the containers in this pod have been restarted and when the last container in this pod has " +
      "restarted.",
    restarts
  ),
  column("Age", "string", "", (pod, now) => age(pod.metadata.creationTimestamp, now)),
  column("IP", "string", "", (pod) => orNone(stringAt(pod, "status", "podIP")), 1),
  column("Node", "string", "", (pod) => orNone(stringAt(pod, "spec", "nodeName")), 1),
  column("Nominated Node", "string", "", (pod) => orNone(stringAt(pod, "status", "nominatedNodeName")), 1),
  column("Readiness Gates", "string", "", readinessGates, 1)
]
