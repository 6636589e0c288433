/**
 * `CronJobController`: creates a Job at every scheduled time of a CronJob, as in kube-controller-manager.
 *
 * The name of a Job contains its CronJob's name and the minute of the scheduled time. If several times were missed,
 * only the last one is made up for, unless it is older than `startingDeadlineSeconds`. With `Forbid` no Job starts
 * while another is active, with `Replace` the other one is deleted. Finished Jobs are kept up to the history limits.
 * The controller sleeps until the next scheduled time.
 *
 * Source: k8s.io/kubernetes/pkg/controller/cronjob/{cronjob_controllerv2,utils}.go.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerReference, isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { CronJob, type CronJobStatus, Job } from "../kinds/batch.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as FieldError from "../schema/FieldError.ts"
import { timestamp } from "./server/Exchange.ts"
import type * as Agenda from "./sim/Agenda.ts"
import * as CronSchedule from "./sim/CronSchedule.ts"
import * as Informers from "./sim/Informers.ts"
import * as JobOutcome from "./sim/JobOutcome.ts"
import * as Loop from "./sim/Loop.ts"
import { said } from "./sim/PodControl.ts"
import * as Recorder from "./sim/Recorder.ts"
import { ownerKey } from "./sim/Triggers.ts"

/** Reconciles the CronJobs of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const cronJobs = yield* informers.of(CronJob)
  const jobs = yield* informers.of(Job)
  const recorder = yield* Recorder.make("cronjob-controller")

  /** Deletes a Job; whether that succeeded. */
  const remove = (cronJob: CronJob, job: Job): Effect.Effect<boolean> =>
    client.delete(Job, job, { propagationPolicy: "Background" }).pipe(
      Effect.andThen(recorder.normal(cronJob, "SuccessfulDelete", `Deleted job ${job.metadata.name}`)),
      Effect.as(true),
      Effect.catch((error) =>
        Effect.as(recorder.warning(cronJob, "FailedDelete", `Deleted job: ${said(error)}`), false)
      )
    )

  /** The status, updated from the existing Jobs. */
  const review = Effect.fnUntraced(function*(cronJob: CronJob, own: ReadonlyArray<Job>) {
    let { active = [], lastSuccessfulTime } = cronJob.status ?? {}
    for (const job of own) {
      const { name, uid } = job.metadata
      const end = JobOutcome.finished(job)
      const known = active.some((reference) => reference.uid === uid)
      if (end === undefined && !known) {
        const message = `Saw a job that the controller did not create or forgot: ${name}`
        yield* recorder.warning(cronJob, "UnexpectedJob", message)
      }
      if (end !== undefined && known) {
        active = active.filter((reference) => reference.uid !== uid)
        yield* recorder.normal(cronJob, "SawCompletedJob", `Saw completed job: ${name}, condition: ${end.type}`)
      }
      const time = end?.type === "Complete" ? job.status?.completionTime : undefined
      if (time !== undefined && !(time <= (lastSuccessfulTime ?? ""))) lastSuccessfulTime = time
    }
    for (const { name, uid } of active) {
      if (own.some(({ metadata }) => metadata.uid === uid)) continue
      active = active.filter((reference) => reference.uid !== uid)
      yield* recorder.normal(cronJob, "MissingJob", `Active job went missing: ${name}`)
    }
    return { ...cronJob.status, active, ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }) }
  })

  /** Deletes the oldest finished Jobs beyond the limits. */
  const clean = Effect.fnUntraced(function*(cronJob: CronJob, own: ReadonlyArray<Job>) {
    const started = ({ status }: Job) => status?.startTime ?? "~"
    const { failedJobsHistoryLimit = Infinity, successfulJobsHistoryLimit = Infinity } = cronJob.spec
    for (
      const [type, limit] of [["Complete", successfulJobsHistoryLimit], ["Failed", failedJobsHistoryLimit]] as const
    ) {
      const ended = own.filter((job) => JobOutcome.finished(job)?.type === type && !isTerminating(job)).sort((a, b) =>
        started(a) === started(b) ? (a.metadata.name < b.metadata.name ? -1 : 1) : started(a) < started(b) ? -1 : 1
      )
      for (const job of ended.slice(0, Math.max(0, ended.length - limit))) yield* remove(cronJob, job)
    }
  })

  const create = Effect.fnUntraced(function*(
    cronJob: CronJob,
    name: string,
    time: number
  ): Effect.fn.Return<Job, KubeError> {
    const { metadata: { namespace }, spec: { jobTemplate, timeZone = "UTC" } } = cronJob
    const scheduled = CronSchedule.zoned(time, timeZone)
    const { annotations, labels } = jobTemplate.metadata ?? {}
    return yield* client.create(Job, {
      metadata: {
        namespace,
        name,
        ...(labels === undefined ? {} : { labels }),
        annotations: { ...annotations, "batch.kubernetes.io/cronjob-scheduled-timestamp": scheduled },
        ownerReferences: [controllerReference(cronJob)]
      },
      spec: jobTemplate.spec ?? { template: {} }
    }).pipe(
      Effect.tap(() => recorder.normal(cronJob, "SuccessfulCreate", `Created job ${name}`)),
      Effect.catchReason("KubeError", "AlreadyExists", () => client.get(Job, { namespace, name })),
      Effect.tapError((error) => recorder.warning(cronJob, "FailedCreate", `Error creating job: ${said(error)}`))
    )
  })

  /** The schedule; undefined if no Job may be started. */
  const scheduleOf = Effect.fnUntraced(function*(cronJob: CronJob, now: number) {
    const { schedule: text, suspend = false, timeZone } = cronJob.spec
    if (isTerminating(cronJob)) return undefined
    if (timeZone !== undefined && !CronSchedule.isZone(timeZone)) {
      const message = `invalid timeZone: ${FieldError.quote(timeZone)}: unknown time zone ${timeZone}`
      yield* recorder.warning(cronJob, "UnknownTimeZone", message)
      return undefined
    }
    if (suspend) return undefined
    const schedule = CronSchedule.parse(text, timeZone)
    if (Result.isSuccess(schedule)) {
      if (schedule.success.next(now) < Infinity) return schedule.success
      const message = `invalid schedule: ${text} : time difference between two schedules is less than 1 second`
      yield* recorder.warning(cronJob, "InvalidSchedule", message)
      return undefined
    }
    const message = `unparseable schedule: ${FieldError.quote(text)} : ${schedule.failure}`
    yield* recorder.warning(cronJob, "UnparseableSchedule", message)
    return undefined
  })

  /** Starts the Job that is due, if any; returns the updated status. */
  const start = Effect.fnUntraced(function*(
    cronJob: CronJob,
    status: CronJobStatus,
    { count, time }: CronSchedule.Missed,
    now: number
  ): Effect.fn.Return<CronJobStatus, KubeError> {
    if (time === undefined) return status
    const { concurrencyPolicy, startingDeadlineSeconds = Infinity } = cronJob.spec
    if (count > 100) {
      const message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
      yield* recorder.warning(cronJob, "TooManyMissedTimes", message)
    }
    if (time + startingDeadlineSeconds * 1000 < now) {
      const due = new Date(time).toUTCString().replace("GMT", "+0000")
      yield* recorder.warning(cronJob, "MissSchedule", `Missed scheduled time to start a job: ${due}`)
      return status
    }
    const name = `${cronJob.metadata.name}-${Math.floor(time / 60_000)}`
    let active = status.active ?? []
    const isDone = active.some((reference) => reference.name === name) || status.lastScheduleTime === timestamp(time)
    if (isDone) return status
    if (concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid"
      yield* recorder.normal(cronJob, "JobAlreadyActive", message)
      return status
    }
    if (concurrencyPolicy === "Replace") {
      for (const { name, namespace, uid } of active) {
        const job = jobs.get({ namespace, name: name ?? "" })
        if (job === undefined || (yield* remove(cronJob, job))) active = active.filter((other) => other.uid !== uid)
      }
    }
    const job = yield* create(cronJob, name, time)
    const { namespace, resourceVersion, uid } = job.metadata
    if (!job.metadata.ownerReferences?.some((owner) => owner.uid === cronJob.metadata.uid)) return status
    const reference = { kind: "Job", namespace, name, uid, apiVersion: "batch/v1", resourceVersion }
    return { ...status, active: [...active, reference], lastScheduleTime: timestamp(time) }
  })

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const cronJob = cronJobs.get(parseKey(key))
    if (cronJob === undefined) return
    const now = clock.currentTimeMillisUnsafe()
    const own = jobs.controlledBy(cronJob.metadata.uid)
    const reviewed = yield* review(cronJob, own)
    const schedule = yield* scheduleOf(cronJob, now)
    const due = schedule === undefined ? undefined : CronSchedule.missed(cronJob, schedule, now, true)
    const status = due === undefined ? reviewed : yield* start(cronJob, reviewed, due, now)
    yield* clean(cronJob, own)
    if (!JsonValue.equals(plain(cronJob.status ?? {}), plain(status))) {
      yield* client.replace(CronJob, { ...cronJob, status: plain(status) }, { subresource: "status" })
    }
    if (schedule === undefined) return
    const next = CronSchedule.wakeAt({ ...cronJob, status }, schedule, now)
    if (next < Infinity) agenda.soon(key, next)
  })

  const agenda: Agenda.Agenda = yield* Loop.make({ sync, reads: [cronJobs, jobs] })

  cronJobs.listen((cronJob, before) => {
    const key = keyString((cronJob ?? before)!)
    if (cronJob === undefined) agenda.forget(key)
    else agenda.now(key)
  })
  jobs.listen((job, before) => {
    for (const key of new Set([ownerKey(CronJob, job), ownerKey(CronJob, before)])) {
      if (key !== undefined) agenda.now(key)
    }
  })
})

/** The canonical form of a status: without an empty `active`. */
const plain = ({ active = [], ...status }: CronJobStatus): CronJobStatus =>
  active.length === 0 ? status : { ...status, active }
