/**
 * `JobPods`: what a Job reads from its Pods, and the Pods it creates. Pure.
 *
 * A Pod is counted once: while it has the tracking finalizer, it has not been counted yet. The Job determines which
 * Pods count as failed: usually those that are being deleted, too. Its failure policy may ignore a failure or end the
 * Job.
 *
 * Source: k8s.io/kubernetes/pkg/controller/job/{job_controller,indexed_job_utils,pod_failure_policy,backoff_utils}.go.
 */
import type * as Resource from "@effect-operator/core/Resource"
import type { Job, PodFailurePolicyOnExitCodesRequirement } from "../../kinds/batch.v1.ts"
import type { Container, ContainerStatus, Pod } from "../../kinds/core.v1.ts"
import * as PodControl from "./PodControl.ts"
import * as PodFacts from "./PodFacts.ts"

export const finalizer = "batch.kubernetes.io/job-tracking"

const indexKey = "batch.kubernetes.io/job-completion-index"
const failuresKey = "batch.kubernetes.io/job-index-failure-count"
const ignoredKey = "batch.kubernetes.io/job-index-ignored-failure-count"

/** The maximum length of the prefix of a generated name. */
const longestPrefix = 58

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed"

/** Whether a Pod that is being deleted is replaced only when it has finished. */
export const replacesFailedOnly = ({ spec }: Job): boolean =>
  spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined

export const isTracked = (pod: Pod): boolean => pod.metadata.finalizers?.includes(finalizer) === true

const count = (pod: Pod, key: string): number | undefined => {
  const text = pod.metadata.annotations?.[key] ?? ""
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

/** The completion index, if it has one. */
export const indexOf = (pod: Pod): number | undefined => count(pod, indexKey)

export const indexesOf = (pods: ReadonlyArray<Pod>): ReadonlySet<number> =>
  new Set(pods.flatMap((pod) => indexOf(pod) ?? []))

/** Whether the Pod has an index that the Job uses. */
export const isValid = (job: Job, pod: Pod): boolean =>
  !isIndexed(job) || (indexOf(pod) ?? Infinity) < (job.spec.completions ?? 0)

/** The failures of the index before this Pod. */
export const failuresBefore = (pod: Pod): number => count(pod, failuresKey) ?? 0

/** Includes failures that a policy ignored. */
export const allFailuresBefore = (pod: Pod): number => failuresBefore(pod) + (count(pod, ignoredKey) ?? 0)

export const isFailed = (job: Job, pod: Pod): boolean =>
  pod.status?.phase === "Failed" ||
  (!replacesFailedOnly(job) && pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== "Succeeded")

/** What the failure policy says about a failed Pod. */
export interface Verdict {
  readonly action?: string
  readonly counts: boolean
  /** Why the Job fails. */
  readonly message?: string
}

export const verdict = ({ spec }: Job, pod: Pod): Verdict => {
  const { name, namespace } = pod.metadata
  for (const [index, { action, onExitCodes, onPodConditions = [] }] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const matching = `matching ${action} rule at index ${index}`
    if (onExitCodes !== undefined) {
      const status = failing(pod, onExitCodes)
      if (status === undefined) continue
      const code = status.state?.terminated?.exitCode
      const message = `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${code} ${matching}`
      return ruling(action, message)
    }
    const condition = pod.status?.conditions?.find(({ status, type }) =>
      onPodConditions.some((pattern) => pattern.type === type && (pattern.status ?? "True") === status)
    )
    if (condition === undefined) continue
    return ruling(action, `Pod ${namespace}/${name} has condition ${condition.type} ${matching}`)
  }
  return { counts: true }
}

const ruling = (action: string, message: string): Verdict => ({
  action,
  counts: action !== "Ignore",
  ...(action === "FailJob" ? { message } : {})
})

const failing = (
  { status }: Pod,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement
): ContainerStatus | undefined =>
  [...status?.containerStatuses ?? [], ...status?.initContainerStatuses ?? []].find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0
    return code !== 0 && (containerName ?? name) === name && values.includes(code) === (operator === "In")
  })

/** Whether the index of a Pod has finally failed. */
export const failsIndex = (job: Job, pod: Pod): boolean => {
  if (!isFailed(job, pod)) return false
  const { action, counts } = verdict(job, pod)
  return action === "FailIndex" || (counts && failuresBefore(pod) >= (job.spec.backoffLimitPerIndex ?? Infinity))
}

/** When it finished, in milliseconds. */
export const finishedAt = (pod: Pod): number => {
  const sidecars = new Set(
    (pod.spec.initContainers ?? []).flatMap(({ name, restartPolicy }) => restartPolicy === "Always" ? [name] : [])
  )
  const statuses = [
    ...pod.status?.containerStatuses ?? [],
    ...(pod.status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name))
  ]
  const ends = statuses.map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""))
  if (ends.length > 0 && !ends.some(Number.isNaN)) return Math.max(...ends)
  const ready = PodFacts.condition(pod, "Ready")
  if (ready?.status === "False" && ready.lastTransitionTime !== undefined) return Date.parse(ready.lastTransitionTime)
  const { creationTimestamp, deletionGracePeriodSeconds = 0, deletionTimestamp } = pod.metadata
  return deletionTimestamp === undefined
    ? Date.parse(creationTimestamp)
    : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
}

const withIndexVariable = (container: Container): Container => {
  const name = "JOB_COMPLETION_INDEX"
  const env = container.env ?? []
  if (env.some((variable) => variable.name === name)) return container
  const fieldRef = { fieldPath: `metadata.labels['${indexKey}']` }
  return { ...container, env: [...env, { name, valueFrom: { fieldRef } }] }
}

/** A Pod of the Job. With an index if it is Indexed, as the successor of the failed Pod `replaced`. */
export const make = (job: Job, index?: number, replaced?: Pod): Resource.Input<Pod> => {
  const { template } = job.spec
  const before = template.metadata?.finalizers ?? []
  const finalizers = before.includes(finalizer) ? before : [...before, finalizer]
  if (index === undefined) return PodControl.fromTemplate(job, template, { finalizers })
  const suffix = `-${index}-`
  const perIndex = job.spec.backoffLimitPerIndex === undefined ? {} : failureCounts(job, replaced)
  const pod = PodControl.fromTemplate(job, template, {
    finalizers,
    generateName: `${job.metadata.name.slice(0, longestPrefix - suffix.length)}${suffix}`,
    labels: { ...template.metadata?.labels, [indexKey]: String(index) },
    annotations: { ...template.metadata?.annotations, [indexKey]: String(index), ...perIndex }
  })
  const { initContainers } = pod.spec
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withIndexVariable) }),
      containers: pod.spec.containers.map(withIndexVariable),
      hostname: `${job.metadata.name}-${index}`
    }
  }
}

const failureCounts = (job: Job, replaced: Pod | undefined): Readonly<Record<string, string>> => {
  if (replaced === undefined) return { [failuresKey]: "0" }
  const { counts } = verdict(job, replaced)
  const ignored = allFailuresBefore(replaced) - failuresBefore(replaced) + (counts ? 0 : 1)
  return {
    [failuresKey]: String(failuresBefore(replaced) + (counts ? 1 : 0)),
    ...(ignored === 0 ? {} : { [ignoredKey]: String(ignored) })
  }
}

/** Which active Pods to delete, at least the given number: first those with a duplicate or invalid index. */
export const excess = (job: Job, active: ReadonlyArray<Pod>, atLeast: number, now: number): ReadonlyArray<Pod> => {
  const order = (pods: ReadonlyArray<Pod>) => PodFacts.deletionOrder(pods, [], now)
  const kept = isIndexed(job)
    ? [...indexesOf(active)].filter((index) => index < (job.spec.completions ?? 0)).flatMap((index) =>
      order(active.filter((pod) => indexOf(pod) === index)).slice(-1)
    )
    : active
  const wrong = active.filter((pod) => !kept.includes(pod))
  return [...wrong, ...order(kept).slice(0, Math.max(0, atLeast - wrong.length))]
}
