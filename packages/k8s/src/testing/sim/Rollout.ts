/**
 * `Rollout`: the arithmetic of a Deployment, as pure functions: the next size of each of its ReplicaSets.
 *
 * Nothing here writes. During a rolling update the Pods of all ReplicaSets together never exceed the desired replicas
 * plus `maxSurge`, and no step reduces the available Pods below the desired replicas minus `maxUnavailable`.
 *
 * Source: k8s.io/kubernetes/pkg/controller/deployment/{rolling,sync}.go, deployment/util/deployment_util.go.
 */
import type { Deployment, ReplicaSet } from "../../kinds/apps.v1.ts"
import type { PodTemplateSpec } from "../../kinds/core.v1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { scaled } from "./Numbers.ts"

/** The label that distinguishes the ReplicaSets of a Deployment. */
export const hashLabel = "pod-template-hash"

const prefix = "deployment.kubernetes.io/"
export const annotation = {
  revision: `${prefix}revision`,
  history: `${prefix}revision-history`,
  desired: `${prefix}desired-replicas`,
  max: `${prefix}max-replicas`
} as const

/** A ReplicaSet and its new number of replicas. */
export interface Resize {
  readonly set: ReplicaSet
  readonly replicas: number
}

/** The desired replicas. */
export const replicasOf = ({ spec }: Deployment | ReplicaSet): number => spec.replicas ?? 1

export const isRolling = ({ spec }: Deployment): boolean => (spec.strategy?.type ?? "RollingUpdate") === "RollingUpdate"

/** The allowed surplus and shortage of Pods. They are never both 0, which would block the rollout. */
const fenceposts = (deployment: Deployment): { readonly surge: number; readonly unavailable: number } => {
  const total = replicasOf(deployment)
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {}
  const surge = scaled(maxSurge, total, "up")
  const unavailable = scaled(maxUnavailable, total, "down")
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

export const maxSurge = (deployment: Deployment): number => isRolling(deployment) ? fenceposts(deployment).surge : 0

export const maxUnavailable = (deployment: Deployment): number =>
  isRolling(deployment) ? Math.min(fenceposts(deployment).unavailable, replicasOf(deployment)) : 0

/** The desired replicas of all ReplicaSets together. */
export const wanted = (sets: ReadonlyArray<ReplicaSet>): number => sets.reduce((sum, set) => sum + replicasOf(set), 0)

/** The sum of a count in their statuses. */
export const counted = (
  sets: ReadonlyArray<ReplicaSet>,
  count: "replicas" | "readyReplicas" | "availableReplicas"
): number => sets.reduce((sum, { status }) => sum + (status?.[count] ?? 0), 0)

export const isActive = (set: ReplicaSet): boolean => replicasOf(set) > 0

/** Oldest first. */
export const byAge = (a: ReplicaSet, b: ReplicaSet): number => {
  const [timeA, timeB] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp]
  return timeA === timeB ? (a.metadata.name < b.metadata.name ? -1 : 1) : (timeA < timeB ? -1 : 1)
}

/** A revision in an annotation, an int64; undefined if it is invalid. */
export const parseRevision = (text: string): bigint | undefined => {
  const number = /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined
  return number === undefined || BigInt.asIntN(64, number) !== number ? undefined : number
}

/** The revision of a ReplicaSet; 0 if it has none. */
export const revisionOf = ({ metadata }: ReplicaSet | Deployment): bigint =>
  parseRevision(metadata.annotations?.[annotation.revision] ?? "") ?? 0n

const byRevision = (a: ReplicaSet, b: ReplicaSet): number => {
  const [one, two] = [revisionOf(a), revisionOf(b)]
  return one === two ? byAge(a, b) : one < two ? -1 : 1
}

const withoutHash = (template: PodTemplateSpec | undefined): JsonValue.JsonObject => {
  const { creationTimestamp: _, labels = {}, ...metadata } = template?.metadata ?? {}
  const { [hashLabel]: __, ...others } = labels
  return { ...template, metadata: Object.keys(others).length === 0 ? metadata : { ...metadata, labels: others } }
}

/** Whether two templates are equal except for the hash label. */
export const sameTemplate = (a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean =>
  JsonValue.equals(withoutHash(a), withoutHash(b))

/** The ReplicaSet of the current template (the oldest, if there are several), and all others. */
export const divide = (
  deployment: Deployment,
  sets: ReadonlyArray<ReplicaSet>
): { readonly current: ReplicaSet | undefined; readonly old: ReadonlyArray<ReplicaSet> } => {
  const sorted = [...sets].sort(byAge)
  const current = sorted.find((set) => sameTemplate(set.spec.template, deployment.spec.template))
  return { current, old: sorted.filter((set) => set !== current) }
}

/** The size to which the current ReplicaSet may grow, given the sizes of all. */
export const growth = (deployment: Deployment, all: ReadonlyArray<ReplicaSet>, current: number): number => {
  const desired = replicasOf(deployment)
  if (!isRolling(deployment)) return desired
  const surge = scaled(deployment.spec.strategy?.rollingUpdate?.maxSurge, desired, "up")
  const room = desired + surge - wanted(all)
  return room <= 0 ? current : current + Math.min(room, desired - current)
}

/** The next size of the current ReplicaSet. */
export const resizeCurrent = (
  deployment: Deployment,
  all: ReadonlyArray<ReplicaSet>,
  current: ReplicaSet
): ReadonlyArray<Resize> => {
  const [have, want] = [replicasOf(current), replicasOf(deployment)]
  if (have === want) return []
  const replicas = have > want ? want : growth(deployment, all, have)
  return replicas === have ? [] : [{ set: current, replicas }]
}

/** The next sizes of the old ReplicaSets: first they lose unavailable Pods, then others as far as allowed. */
export const resizeOld = (
  deployment: Deployment,
  old: ReadonlyArray<ReplicaSet>,
  current: ReplicaSet
): ReadonlyArray<Resize> => {
  const active = old.filter(isActive).sort(byAge)
  if (wanted(active) === 0) return []
  const all = [...old, current]
  const minimum = replicasOf(deployment) - maxUnavailable(deployment)
  const missing = replicasOf(current) - (current.status?.availableReplicas ?? 0)
  const most = wanted(all) - minimum - missing
  if (most <= 0) return []

  const sizes = new Map(active.map((set) => [set, replicasOf(set)]))
  const shrink = (budget: number, amount: (set: ReplicaSet, size: number) => number): void => {
    let left = budget
    for (const set of active) {
      if (left <= 0) return
      const size = sizes.get(set)!
      const less = Math.min(left, amount(set, size))
      sizes.set(set, size - less)
      left -= less
    }
  }
  // A ReplicaSet with more Pods than desired has not been synced since it was shrunk.
  if (active.some((set) => (set.status?.availableReplicas ?? 0) > replicasOf(set))) return []
  shrink(most, (set, size) => size - (set.status?.availableReplicas ?? 0))
  shrink(counted(all, "availableReplicas") - minimum, (_, size) => size)
  return active.flatMap((set) => sizes.get(set) === replicasOf(set) ? [] : [{ set, replicas: sizes.get(set)! }])
}

const annotated = (set: ReplicaSet, key: string): number | undefined => {
  const text = set.metadata.annotations?.[key]
  return text !== undefined && /^\d+$/.test(text) && Number(text) <= 0x7fff_ffff ? Number(text) : undefined
}

/** Whether the Deployment was scaled since its ReplicaSets were last annotated. */
export const wasScaled = (deployment: Deployment, sets: ReadonlyArray<ReplicaSet>): boolean =>
  sets.filter(isActive).some((set) => {
    const desired = annotated(set, annotation.desired)
    return desired !== undefined && desired !== replicasOf(deployment)
  })

/** The annotations with the size of the Deployment. */
export const sizeAnnotations = (deployment: Deployment): Readonly<Record<string, string>> => ({
  [annotation.desired]: String(replicasOf(deployment)),
  [annotation.max]: String(replicasOf(deployment) + maxSurge(deployment))
})

const isSaturated = (deployment: Deployment, set: ReplicaSet | undefined): boolean => {
  const desired = replicasOf(deployment)
  return set !== undefined && replicasOf(set) === desired && annotated(set, annotation.desired) === desired &&
    (set.status?.availableReplicas ?? 0) === desired
}

/** The sizes when a Deployment is scaled or paused. Sets of unchanged size may need new annotations. */
export const rescale = (
  deployment: Deployment,
  current: ReplicaSet | undefined,
  old: ReadonlyArray<ReplicaSet>
): ReadonlyArray<Resize> => {
  const all = current === undefined ? old : [...old, current]
  const active = all.filter(isActive)
  if (active.length <= 1) {
    const only = active[0] ?? current ?? [...old].sort(byAge).at(-1)
    return only === undefined || replicasOf(only) === replicasOf(deployment)
      ? []
      : [{ set: only, replicas: replicasOf(deployment) }]
  }
  if (isSaturated(deployment, current)) return old.filter(isActive).map((set) => ({ set, replicas: 0 }))
  return isRolling(deployment) ? proportional(deployment, active) : []
}

/** Resizes every active ReplicaSet proportionally; the largest gets the rounding difference. */
const proportional = (deployment: Deployment, active: ReadonlyArray<ReplicaSet>): ReadonlyArray<Resize> => {
  const desired = replicasOf(deployment)
  const allowed = desired > 0 ? desired + maxSurge(deployment) : 0
  const toAdd = allowed - wanted(active)
  // Among sets of equal size, the newer ones grow first and the older ones shrink first.
  const sorted = [...active].sort((a, b) => replicasOf(b) - replicasOf(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)))
  let added = 0
  const sizes = sorted.map((set) => {
    const left = toAdd - added
    const share = left === 0 ? 0 : fraction(deployment, set)
    const part = toAdd > 0 ? Math.min(share, left) : Math.max(share, left)
    added += part
    return replicasOf(set) + part
  })
  return sorted.map((set, index) => ({
    set,
    replicas: index === 0 && toAdd !== 0 ? Math.max(0, sizes[0]! + toAdd - added) : sizes[index]!
  }))
}

const fraction = (deployment: Deployment, set: ReplicaSet): number => {
  const size = replicasOf(set)
  if (replicasOf(deployment) === 0) return -size
  const before = annotated(set, annotation.max) || (deployment.status?.replicas ?? 0)
  if (before === 0) return 0
  const exact = size * (replicasOf(deployment) + maxSurge(deployment)) / before
  return Math.trunc(exact + 0.5) - size
}

/** Old ReplicaSets beyond the history limit, by revision. */
export const outdated = (deployment: Deployment, old: ReadonlyArray<ReplicaSet>): ReadonlyArray<ReplicaSet> => {
  const limit = deployment.spec.revisionHistoryLimit ?? 10
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (limit === 0x7fff_ffff || alive.length <= limit) return []
  return alive.sort(byRevision).slice(0, alive.length - limit).filter((
    set
  ) =>
    (set.status?.replicas ?? 0) === 0 && replicasOf(set) === 0 &&
    (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0)
  )
}
