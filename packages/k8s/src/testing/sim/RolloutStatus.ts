/**
 * `RolloutStatus`: the status of a Deployment: counts, conditions and revision, in the words of the real controller.
 *
 * Source: k8s.io/kubernetes/pkg/controller/deployment/{progress,sync}.go, deployment/util/deployment_util.go.
 */
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from "../../kinds/apps.v1.ts"
import { timestamp } from "../server/Exchange.ts"
import { withoutZeros } from "./Numbers.ts"
import { annotation, counted, maxUnavailable, parseRevision, replicasOf, revisionOf, wanted } from "./Rollout.ts"

/** The canonical form of a status, without zeros. */
export const plain = (status: DeploymentStatus | undefined): DeploymentStatus =>
  withoutZeros(status ?? {}, ["terminatingReplicas", "collisionCount"])

const never = 0x7fff_ffff

/** Whether a rollout without progress fails at some time. */
export const hasDeadline = ({ spec }: Deployment): boolean => (spec.progressDeadlineSeconds ?? never) !== never

type Conditions = ReadonlyArray<DeploymentCondition>

export const condition = (status: DeploymentStatus | undefined, type: string): DeploymentCondition | undefined =>
  status?.conditions?.find((candidate) => candidate.type === type)

const without = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((candidate) => candidate.type !== type)

/**
 * Sets a condition, unless one with that status and reason exists. The transition time changes only with the status.
 */
const withCondition = (conditions: Conditions, next: DeploymentCondition): Conditions => {
  const before = conditions.find(({ type }) => type === next.type)
  if (before?.status === next.status && before?.reason === next.reason) return conditions
  const transition = before?.status === next.status ? before?.lastTransitionTime : next.lastTransitionTime
  return [
    ...without(conditions, next.type),
    { ...next, ...(transition === undefined ? {} : { lastTransitionTime: transition }) }
  ]
}

/** A condition with the current time. */
export const conditionNow = (
  now: number,
  type: string,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string
): DeploymentCondition => ({
  type,
  status,
  lastUpdateTime: timestamp(now),
  lastTransitionTime: timestamp(now),
  reason,
  message
})

/** The Deployment with a condition; the same value if it has it already. */
export const setCondition = (deployment: Deployment, next: DeploymentCondition): Deployment => {
  const conditions = deployment.status?.conditions ?? []
  const changed = withCondition(conditions, next)
  return changed === conditions ? deployment : { ...deployment, status: { ...deployment.status, conditions: changed } }
}

/** The Deployment with a revision; the same value if it has it already. */
export const setRevision = (deployment: Deployment, revision: string): Deployment => {
  const { annotations } = deployment.metadata
  return annotations?.[annotation.revision] === revision ? deployment : {
    ...deployment,
    metadata: { ...deployment.metadata, annotations: { ...annotations, [annotation.revision]: revision } }
  }
}

/**
 * The Deployment with the condition that it was paused or resumed. Unchanged if neither happened, or if the rollout has
 * exceeded its deadline.
 */
export const setPaused = (deployment: Deployment, now: number): Deployment => {
  const progressing = condition(deployment.status, "Progressing")
  if (!hasDeadline(deployment) || progressing?.reason === "ProgressDeadlineExceeded") return deployment
  const paused = deployment.spec.paused === true
  if (paused === (progressing?.reason === "DeploymentPaused")) return deployment
  return setCondition(
    deployment,
    paused
      ? conditionNow(now, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
      : conditionNow(now, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed")
  )
}

/** The counts, and whether the Deployment has the minimum of available Pods. */
export const counts = (
  deployment: Deployment,
  old: ReadonlyArray<ReplicaSet>,
  current: ReplicaSet | undefined,
  now: number
): DeploymentStatus => {
  const all = current === undefined ? old : [...old, current]
  const available = counted(all, "availableReplicas")
  const { collisionCount, conditions = [] } = deployment.status ?? {}
  const enough = available >= replicasOf(deployment) - maxUnavailable(deployment)
  return plain({
    ...(deployment.metadata.generation === undefined ? {} : { observedGeneration: deployment.metadata.generation }),
    replicas: counted(all, "replicas"),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: counted(all, "readyReplicas"),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted(all) - available),
    ...terminating(all),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: withCondition(
      conditions,
      enough
        ? conditionNow(
          now,
          "Available",
          "True",
          "MinimumReplicasAvailable",
          "Deployment has minimum availability."
        )
        : conditionNow(
          now,
          "Available",
          "False",
          "MinimumReplicasUnavailable",
          "Deployment does not have minimum availability."
        )
    )
  })
}

/** The number of terminating Pods; left out unless every synced ReplicaSet reports it. */
const terminating = (all: ReadonlyArray<ReplicaSet>): { readonly terminatingReplicas?: number } => {
  const looked = all.filter(({ status }) =>
    (status?.observedGeneration ?? 0) > 0 || status?.terminatingReplicas !== undefined
  )
  return looked.every(({ status }) => status?.terminatingReplicas !== undefined)
    ? { terminatingReplicas: looked.reduce((sum, { status }) => sum + (status?.terminatingReplicas ?? 0), 0) }
    : {}
}

/** Whether all desired Pods exist, are up to date and available, and there are no others. */
export const isComplete = (deployment: Deployment, status: DeploymentStatus | undefined): boolean => {
  const desired = replicasOf(deployment)
  return (status?.updatedReplicas ?? 0) === desired && (status?.replicas ?? 0) === desired &&
    (status?.availableReplicas ?? 0) === desired &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
}

const isProgress = (before: DeploymentStatus = {}, next: DeploymentStatus): boolean => {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas
  return (next.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) || old(next) < old(before) ||
    (next.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (next.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
}

/** When a rollout without progress fails, in milliseconds; Infinity if it does not. */
export const deadline = (deployment: Deployment, status: DeploymentStatus | undefined): number => {
  const progressing = condition(status, "Progressing")
  return !hasDeadline(deployment) || progressing?.lastUpdateTime === undefined
    ? Infinity
    : Date.parse(progressing.lastUpdateTime) + deployment.spec.progressDeadlineSeconds! * 1000
}

/** The status during a rollout: counts, progress, and why Pods cannot be created. */
export const rollout = (
  deployment: Deployment,
  old: ReadonlyArray<ReplicaSet>,
  current: ReplicaSet | undefined,
  now: number
): DeploymentStatus => {
  const status = counts(deployment, old, current, now)
  const conditions = withFailure(progress(deployment, status, current, now), old, current)
  return plain({ ...status, conditions })
}

const progress = (
  deployment: Deployment,
  status: DeploymentStatus,
  current: ReplicaSet | undefined,
  now: number
): Conditions => {
  const conditions = status.conditions ?? []
  if (!hasDeadline(deployment)) return without(conditions, "Progressing")
  const before = condition(deployment.status, "Progressing")
  const was = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && before?.reason === "NewReplicaSetAvailable"
  if (was) return conditions
  const who = current === undefined
    ? `Deployment "${deployment.metadata.name}"`
    : `ReplicaSet "${current.metadata.name}"`
  if (isComplete(deployment, status)) {
    const message = `${who} has successfully progressed.`
    return withCondition(conditions, conditionNow(now, "Progressing", "True", "NewReplicaSetAvailable", message))
  }
  if (isProgress(deployment.status, status)) {
    const next = conditionNow(now, "Progressing", "True", "ReplicaSetUpdated", `${who} is progressing.`)
    // The update time counts as progress, even if nothing else changes.
    const since = before?.status === "True" ? before.lastTransitionTime : undefined
    return [...without(conditions, "Progressing"), since === undefined ? next : { ...next, lastTransitionTime: since }]
  }
  const reason = condition(status, "Progressing")?.reason
  const late = reason === "ProgressDeadlineExceeded" ||
    (reason !== "NewReplicaSetAvailable" && deadline(deployment, status) < now)
  if (!late) return conditions
  const message = `${who} has timed out progressing.`
  return withCondition(conditions, conditionNow(now, "Progressing", "False", "ProgressDeadlineExceeded", message))
}

/** Copies the failure of a ReplicaSet, preferably the current one, to the Deployment. */
const withFailure = (
  conditions: Conditions,
  old: ReadonlyArray<ReplicaSet>,
  current: ReplicaSet | undefined
): Conditions => {
  const failures = [...(current === undefined ? [] : [current]), ...old].flatMap(({ status }) =>
    (status?.conditions ?? []).filter(({ type }) => type === "ReplicaFailure")
  )
  const failure = failures[0]
  return failure === undefined ? without(conditions, "ReplicaFailure") : withCondition(conditions, {
    ...failure,
    ...(failure.lastTransitionTime === undefined ? {} : { lastUpdateTime: failure.lastTransitionTime })
  })
}

/** Annotations that a ReplicaSet does not copy from its Deployment. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to",
  ...Object.values(annotation)
])

/** The maximum length of the history of a ReplicaSet's revisions, in characters. */
const maxHistory = 2000

/** The annotations of the current ReplicaSet: those of the Deployment, its revision, and its previous revisions. */
export const setAnnotations = (
  deployment: Deployment,
  set: Pick<ReplicaSet, "metadata"> | undefined,
  revision: bigint
): Readonly<Record<string, string>> => {
  const annotations: Record<string, string> = { ...set?.metadata.annotations }
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!ownAnnotations.has(key)) annotations[key] = value
  }
  const before = annotations[annotation.revision]
  const known = before === undefined || before === "" ? 0n : parseRevision(before)
  if (known === undefined || known >= revision) return annotations
  annotations[annotation.revision] = String(revision)
  if (before === undefined) return annotations
  const history = annotations[annotation.history] ?? ""
  const revisions = history === "" ? [] : history.split(",")
  let length = history.length + before.length + 1
  while (revisions.length > 0 && length > maxHistory) length -= revisions.shift()!.length + 1
  annotations[annotation.history] = [...revisions, before].join(",")
  return annotations
}

/** The next revision after those of the old ReplicaSets. */
export const nextRevision = (old: ReadonlyArray<ReplicaSet>): bigint =>
  old.map(revisionOf).reduce((max, revision) => revision > max ? revision : max, 0n) + 1n
