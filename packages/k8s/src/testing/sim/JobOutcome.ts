/**
 * `JobOutcome`: whether and how a Job ends, and the conditions that report it. Pure.
 *
 * A Job that has failed first gets the condition FailureTarget, one that has succeeded SuccessCriteriaMet. When all its
 * Pods are counted and gone, Failed or Complete follows, with the same reason and message.
 *
 * Source: k8s.io/kubernetes/pkg/controller/job/job_controller.go (syncJob), pkg/controller/job/util.
 */
import type { Job, JobCondition } from "../../kinds/batch.v1.ts"
import type { Pod } from "../../kinds/core.v1.ts"
import { timestamp } from "../server/Exchange.ts"
import type { Indexes } from "./JobIndexes.ts"
import * as JobIndexes from "./JobIndexes.ts"
import * as JobPods from "./JobPods.ts"

export const conditionOf = ({ status }: Job, type: string): JobCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type && condition.status === "True")

/** The condition Complete or Failed, if the Job has one. */
export const finished = (job: Job): JobCondition | undefined =>
  conditionOf(job, "Complete") ?? conditionOf(job, "Failed")

export const condition = (
  type: string,
  reason: string,
  message: string,
  now: number,
  status: string = "True"
): JobCondition => ({
  type,
  status,
  lastProbeTime: timestamp(now),
  lastTransitionTime: timestamp(now),
  reason,
  message
})

/** The conditions with this one; the same value if they contain it already, or if it is False and there was none. */
export const withCondition = (
  conditions: ReadonlyArray<JobCondition>,
  next: JobCondition
): ReadonlyArray<JobCondition> => {
  const at = conditions.findIndex(({ type }) => type === next.type)
  if (at < 0) return next.status === "False" ? conditions : [...conditions, next]
  const { message, reason, status } = conditions[at]!
  return status === next.status && reason === next.reason && message === next.message
    ? conditions
    : conditions.with(at, next)
}

/** The final condition after an interim one. */
export const final = ({ message = "", reason = "", type }: JobCondition, now: number): JobCondition =>
  condition(type === "FailureTarget" ? "Failed" : "Complete", reason, message, now)

export const completed = (now: number): JobCondition =>
  condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", now)

/** When an active Job exceeds its deadline; Infinity if it has none. */
export const deadline = ({ spec }: Job, startTime: string | undefined): number =>
  spec.activeDeadlineSeconds === undefined || startTime === undefined || spec.suspend === true
    ? Infinity
    : Date.parse(startTime) + spec.activeDeadlineSeconds * 1000

/** Containers that are restarted in the same Pod count, too. */
const restartedTooOften = ({ spec }: Job, pods: ReadonlyArray<Pod>): boolean => {
  if (spec.template.spec?.restartPolicy !== "OnFailure") return false
  const limit = spec.backoffLimit ?? 6
  const restarts = pods.flatMap(({ status }) =>
    status?.phase === "Running" || status?.phase === "Pending"
      ? [...status.initContainerStatuses ?? [], ...status.containerStatuses ?? []].map((entry) => entry.restartCount)
      : []
  ).reduce((sum, restartCount) => sum + restartCount, 0)
  return limit === 0 ? restarts > 0 : restarts >= limit
}

export interface Progress {
  readonly pods: ReadonlyArray<Pod>
  readonly startTime: string | undefined
  readonly failed: number
  readonly succeededIndexes: Indexes
  readonly failedIndexes: Indexes
}

/** The interim condition that the Job has or should get. */
export const interim = (job: Job, progress: Progress, now: number): JobCondition | undefined => {
  const known = conditionOf(job, "SuccessCriteriaMet") ?? conditionOf(job, "FailureTarget")
  if (known !== undefined) return known
  const fails = (reason: string, message: string) => condition("FailureTarget", reason, message, now)
  const { failed, failedIndexes, pods, startTime, succeededIndexes } = progress
  const ended = pods.find((pod) => JobPods.isFailed(job, pod) && JobPods.verdict(job, pod).message !== undefined)
  if (ended !== undefined) return fails("PodFailurePolicy", JobPods.verdict(job, ended).message!)
  const { backoffLimit = 6, completions = 0, maxFailedIndexes = Infinity, successPolicy } = job.spec
  if (failed > backoffLimit || restartedTooOften(job, pods)) {
    return fails("BackoffLimitExceeded", "Job has reached the specified backoff limit")
  }
  if (deadline(job, startTime) <= now) {
    return fails("DeadlineExceeded", "Job was active longer than specified deadline")
  }
  if (!JobPods.isIndexed(job)) return undefined
  if (failedIndexes.size > maxFailedIndexes) {
    return fails("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
  }
  if (failedIndexes.size > 0 && failedIndexes.size + succeededIndexes.size >= completions) {
    return fails("FailedIndexes", "Job has failed indexes")
  }
  const message = JobIndexes.success(successPolicy, completions, succeededIndexes)
  return message === undefined ? undefined : condition("SuccessCriteriaMet", "SuccessPolicy", message, now)
}
