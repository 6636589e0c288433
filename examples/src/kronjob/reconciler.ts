import { Action, Cache, Conditions, Controller, KubeClient, ObjectStatus, Reconciler } from "@effect-operator/core"
import { controllerOf, controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { Job } from "@effect-operator/k8s/kinds"
import { Clock, Effect, Result } from "effect"
import { KronJob } from "./resource.ts"
import { parse } from "./schedule.ts"

export const scheduledAt = "batch.tutorial.skuber.io/scheduled-at"

const timestamp = (millis: number) => new Date(millis).toISOString().replace(".000", "")

/** When and how a Job ended; undefined while it runs. */
const outcome = ({ status }: Job) => {
  const end = status?.conditions?.find(({ status, type }) =>
    status === "True" && (type === "Complete" || type === "Failed")
  )
  return end === undefined ? undefined : {
    succeeded: end.type === "Complete",
    at: Date.parse(status?.completionTime ?? end.lastTransitionTime ?? "")
  }
}

/** The scheduled time of a Job. */
const slotOf = (job: Job) => Date.parse(job.metadata.annotations?.[scheduledAt] ?? "") || 0

/**
 * The name contains the scheduled time, so that a Job is not created twice if the response to its creation was lost.
 */
const nameOf = (kronJob: KronJob, slot: number) =>
  `${kronJob.metadata.name.slice(0, 50).replace(/[^a-z0-9]+$/, "")}-${slot / 1000}`

const create = Effect.fnUntraced(function*(kronJob: KronJob, slot: number) {
  const client = yield* KubeClient.KubeClient
  const { image, command, args, restartPolicy = "OnFailure" } = kronJob.spec.jobTemplate
  const metadata = {
    namespace: kronJob.metadata.namespace,
    name: nameOf(kronJob, slot),
    annotations: { [scheduledAt]: timestamp(slot) },
    ownerReferences: [controllerReference(kronJob)]
  }
  const container = { name: "job", image, ...(command && { command }), ...(args && { args }) }
  return yield* client.create(Job, {
    metadata,
    spec: { backoffLimit: 2, template: { spec: { restartPolicy, containers: [container] } } }
  }).pipe(
    Effect.catchReason(
      "KubeError",
      "AlreadyExists",
      (reason) =>
        Effect.filterOrFail(
          client.get(Job, metadata),
          (job) => controllerOf(job)?.uid === kronJob.metadata.uid,
          () => new Reconciler.Terminal({ message: `the name is taken: ${reason.message}` })
        )
    )
  )
})

/** Deletes its Pods as well. */
const remove = (job: Job) =>
  KubeClient.KubeClient.use((client) => client.delete(Job, job, { propagationPolicy: "Background" })).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.void)
  )

/** Finished Jobs that have expired or exceed the limit. */
const surplus = ({ spec }: KronJob, jobs: ReadonlyArray<Job>, now: number): ReadonlyArray<Job> => {
  const expiry = (spec.completedJobsExpirySeconds ?? Infinity) * 1000
  const beyond = (limit: number, succeeded: boolean) =>
    jobs.filter((job) => outcome(job)?.succeeded === succeeded).sort((a, b) => slotOf(b) - slotOf(a)).slice(limit)
  return [
    ...new Set([
      ...jobs.filter((job) => now - (outcome(job)?.at ?? now) >= expiry),
      ...beyond(spec.successfulJobsHistoryLimit ?? 3, true),
      ...beyond(spec.failedJobsHistoryLimit ?? 1, false)
    ])
  ]
}

export const controller = Controller.make("kronjob", {
  for: KronJob,
  owns: [Job],
  concurrency: 2,

  reconcile: Effect.fn("KronJob.reconcile")(function*(kronJob, { events }) {
    const now = yield* Clock.currentTimeMillis
    const { metadata: { namespace, creationTimestamp }, spec, status } = kronJob
    const jobs = (yield* Cache.list(Job, { namespace, owner: kronJob })).filter((job) => !isTerminating(job))
    const parsed = parse(spec.schedule, { timeZone: spec.timeZone, since: Date.parse(creationTimestamp) })
    const schedule = Result.getOrUndefined(parsed)

    let active = jobs.filter((job) => outcome(job) === undefined)
    // An existing Job counts even if a crash kept it out of the status.
    let last = Math.max(Date.parse(status?.lastScheduleTime ?? "") || 0, ...jobs.map(slotOf))
    const slot = schedule?.last(now) ?? 0
    const inTime = now - slot < (spec.startingDeadlineSeconds ?? Infinity) * 1000
    const blocked = spec.concurrencyPolicy === "Forbid" && active.length > 0
    // No Job starts for a time before the KronJob was created, or while another Job blocks it; the end of that Job
    // triggers the next reconcile.
    if (slot > Math.max(last, Date.parse(creationTimestamp)) && inTime && !blocked && spec.suspend !== true) {
      if (spec.concurrencyPolicy === "Replace") {
        yield* Effect.forEach(active, remove, { discard: true })
        active = []
      }
      const job = yield* create(kronJob, slot)
      yield* events.normal({ reason: "JobCreated", note: `created Job ${job.metadata.name}` })
      active.push(job)
      last = slot
    }

    const successes = jobs.flatMap((job) => outcome(job)?.succeeded === true ? [outcome(job)!.at] : [])
    const success = Math.max(Date.parse(status?.lastSuccessfulTime ?? "") || 0, ...successes)
    const conditions = yield* Conditions.state(kronJob, status?.conditions, {
      type: "Scheduled",
      status: schedule !== undefined && spec.suspend !== true,
      reason: schedule === undefined ? "InvalidSchedule" : spec.suspend === true ? "Suspended" : "Scheduled",
      message: Result.isFailure(parsed)
        ? `spec.${parsed.failure}`
        : `${spec.schedule} in ${spec.timeZone ?? "UTC"}`
    })
    yield* ObjectStatus.write(KronJob, kronJob, {
      active: active.map(({ kind, metadata: { name, namespace, uid } }) => ({ kind, namespace, name, uid }))
        .sort((a, b) => a.name.localeCompare(b.name)),
      ...(last > 0 && { lastScheduleTime: timestamp(last) }),
      ...(success > 0 && { lastSuccessfulTime: timestamp(success) }),
      conditions
    })
    // Delete Jobs only now that the status has recorded their outcome.
    yield* Effect.forEach(surplus(kronJob, jobs, now), remove, { discard: true })

    const expiries = jobs.flatMap((job) =>
      spec.completedJobsExpirySeconds === undefined || outcome(job) === undefined
        ? []
        : [outcome(job)!.at + spec.completedJobsExpirySeconds * 1000]
    )
    const next = spec.suspend === true ? undefined : schedule?.next(now)
    const wake = Math.min(next ?? Infinity, ...expiries.filter((at) => at > now))
    return wake === Infinity ? Action.done : Action.requeueAfter(wake - now)
  })
})
