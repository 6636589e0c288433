/**
 * `JobController`: runs and counts the Pods of Jobs, as in kube-controller-manager.
 *
 * At most `parallelism` Pods are active, and no more than completions are missing. A failed Pod is replaced after a
 * back-off (`JobBackoff`). Every Pod is counted exactly once: its uid is written to `uncountedTerminatedPods`, then its
 * tracking finalizer is removed, then the count is increased. A Job that has ended (`JobOutcome`) deletes its active
 * Pods; finished Pods stay. With `ttlSecondsAfterFinished` the Job is deleted after that time. Changes of Pods are
 * batched for one second. Jobs with another controller in `managedBy` are left alone.
 *
 * Not simulated: the limit of 500 Pods that are accounted for in one sync.
 *
 * Source: k8s.io/kubernetes/pkg/controller/job/job_controller.go, pkg/controller/ttlafterfinished.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerOf, isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Job, type JobStatus } from "../kinds/batch.v1.ts"
import { Pod } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { timestamp } from "./server/Exchange.ts"
import type * as Agenda from "./sim/Agenda.ts"
import { claim, matcher } from "./sim/Claims.ts"
import * as Informers from "./sim/Informers.ts"
import * as JobBackoff from "./sim/JobBackoff.ts"
import * as JobIndexes from "./sim/JobIndexes.ts"
import * as JobOutcome from "./sim/JobOutcome.ts"
import * as JobPods from "./sim/JobPods.ts"
import * as Loop from "./sim/Loop.ts"
import { withoutZeros } from "./sim/Numbers.ts"
import * as PodControl from "./sim/PodControl.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import { ownerKey } from "./sim/Triggers.ts"

export const defaults = {
  /** How long changes of Pods are batched, in milliseconds. */
  batch: 1000
} as const

/** Reconciles the Jobs of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

const isForeign = ({ spec }: Job): boolean =>
  spec.managedBy !== undefined && spec.managedBy !== "kubernetes.io/job-controller"

/** The counts of Pods after creations and deletions, and the first failure. */
interface Managed {
  readonly active: number
  readonly ready: number
  readonly terminating: number
  readonly failure?: KubeError | undefined
}

/** The state of a Job and its Pods. */
interface View extends Managed {
  readonly job: Job
  readonly pods: ReadonlyArray<Pod>
  readonly running: ReadonlyArray<Pod>
  readonly succeeded: number
  readonly backoff: JobBackoff.Record
  readonly succeededIndexes: JobIndexes.Indexes
  readonly failedIndexes: JobIndexes.Indexes
  /**
   * Failed Pods that are to be replaced, by index. They are kept until then, because they record how often the index
   * has failed.
   */
  readonly delayed: ReadonlyMap<number, Pod>
}

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const jobs = yield* informers.of(Job)
  const pods = yield* informers.of(Pod)
  const recorder = yield* Recorder.make("job-controller")
  const backoffs = new Map<string, JobBackoff.Record>()

  const now = () => clock.currentTimeMillisUnsafe()

  const untrack = (pod: Pod): Effect.Effect<void, KubeError> =>
    client.patch(
      Pod,
      pod,
      Patch.strategic({
        metadata: { uid: pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [JobPods.finalizer] }
      })
    ).pipe(Effect.asVoid, Effect.catchReason("KubeError", "NotFound", () => Effect.void))

  /** Deletes Pods. Those that are not to be counted lose their finalizer first. */
  const remove = Effect.fnUntraced(function*(
    { active, job, ready, terminating }: View,
    unwanted: ReadonlyArray<Pod>,
    counted: boolean
  ): Effect.fn.Return<Managed, never, KubeClient> {
    let removed: Managed = { active, ready, terminating }
    const failure = yield* PodControl.forAll(unwanted, (pod) =>
      Effect.gen(function*() {
        if (!counted && JobPods.isTracked(pod)) yield* untrack(pod)
        yield* PodControl.remove(recorder, job, pod)
        removed = {
          active: removed.active - 1,
          ready: removed.ready - (PodFacts.isReady(pod) ? 1 : 0),
          terminating: removed.terminating + 1
        }
      }))
    return { ...removed, failure }
  })

  /** Creates or deletes Pods until the desired number is active. Pods are created only when their back-off is over. */
  const manage = Effect.fnUntraced(function*(key: string, view: View): Effect.fn.Return<Managed, never, KubeClient> {
    const { active, job, ready, running, terminating } = view
    const { backoffLimitPerIndex, completions, parallelism = 1, suspend = false } = job.spec
    if (suspend) return yield* remove(view, JobPods.excess(job, running, active, now()), false)
    const wanted = completions === undefined
      ? view.succeeded > 0 ? active : parallelism
      : Math.max(0, Math.min(completions - view.succeeded, parallelism))
    const unwanted = JobPods.excess(job, running, Math.max(0, active - wanted), now())
    if (unwanted.length > 0) return yield* remove(view, unwanted.slice(0, PodControl.defaults.burst), false)
    const missing = wanted - active - (JobPods.replacesFailedOnly(job) ? terminating : 0)
    if (missing <= 0) return view
    const wait = (delay: number): Managed => {
      agenda.soon(key, now() + Math.max(delay, defaults.batch))
      return { active: 0, ready, terminating }
    }
    const delay = backoffLimitPerIndex === undefined ? JobBackoff.remaining(view.backoff, now()) : 0
    if (delay > 0) return wait(delay)
    let indexes: ReadonlyArray<number | undefined> = Array.from({
      length: Math.min(missing, PodControl.defaults.burst)
    })
    if (JobPods.isIndexed(job)) {
      const ending = JobPods.replacesFailedOnly(job) ? view.pods.filter(PodFacts.isTerminating) : []
      const taken = [view.succeededIndexes, view.failedIndexes, JobPods.indexesOf([...running, ...ending])]
      const free = JobIndexes.firstFree(taken, indexes.length, completions ?? 0)
      const delays = free.map((index) => delayOf(view.delayed.get(index)))
      indexes = free.filter((_, at) => delays[at] === 0)
      if (indexes.length === 0 && free.length > 0) return wait(Math.min(...delays))
    }
    let created = 0
    const failure = yield* PodControl.slowStart(indexes.length, (at) => {
      const index = indexes[at]
      const pod = JobPods.make(job, index, index === undefined ? undefined : view.delayed.get(index))
      return Effect.tap(PodControl.create(recorder, job, pod), () => Effect.sync(() => created++))
    })
    return { active: active + created, ready, terminating, failure }
  })

  const delayOf = (failed: Pod | undefined): number =>
    failed === undefined ? 0 : JobBackoff.remaining(
      { failures: JobPods.allFailuresBefore(failed) + 1, last: JobPods.finishedAt(failed) },
      now()
    )

  const write = (job: Job, status: JobStatus): Effect.Effect<Job, KubeError> => {
    const next = plain(status)
    return JsonValue.equals(plain(job.status ?? {}), next)
      ? Effect.succeed(job)
      : client.replace(Job, { ...job, status: next }, { subresource: "status" })
  }

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const job = jobs.get(parseKey(key))
    if (job === undefined || JobOutcome.finished(job) !== undefined) return void backoffs.delete(key)
    if (isForeign(job)) return
    const indexed = JobPods.isIndexed(job)
    const { completions, suspend = false } = job.spec
    const { conditions: before = [], startTime: started = suspend ? undefined : timestamp(now()) } = job.status ?? {}
    const uncounted = {
      succeeded: job.status?.uncountedTerminatedPods?.succeeded ?? [],
      failed: job.status?.uncountedTerminatedPods?.failed ?? []
    }
    const own = yield* claim({
      owner: job,
      ownerResource: Job,
      resource: Pod,
      candidates: [...pods.controlledBy(job.metadata.uid), ...pods.orphans(job.metadata.namespace)],
      matches: matcher(job.spec.selector),
      finalizers: [JobPods.finalizer]
    })
    const running = own.filter(PodFacts.isActive)
    const tracked = own.filter(JobPods.isTracked)
    const fresh = tracked.filter((pod) => JobPods.isValid(job, pod))
    const succeededNow = fresh.filter(({ metadata, status }) =>
      status?.phase === "Succeeded" && !uncounted.succeeded.includes(metadata.uid)
    )
    const failedNow = fresh.filter((pod) => JobPods.isFailed(job, pod) && !uncounted.failed.includes(pod.metadata.uid))
    const counts = (pod: Pod): boolean => JobPods.verdict(job, pod).counts
    const succeededBefore = JobIndexes.parse(job.status?.completedIndexes, completions ?? 0)
    const succeededIndexes = new Set([...succeededBefore, ...indexed ? JobPods.indexesOf(succeededNow) : []])
    const perIndex = indexed && job.spec.backoffLimitPerIndex !== undefined
    const failedIndexes = new Set([
      ...JobIndexes.parse(job.status?.failedIndexes, completions ?? 0),
      ...perIndex ? JobPods.indexesOf(fresh.filter((pod) => JobPods.failsIndex(job, pod))) : []
    ])
    const failed = (job.status?.failed ?? 0) + uncounted.failed.length + failedNow.filter(counts).length
    const delayed = new Map<number, Pod>()
    if (perIndex) {
      const settled = [succeededIndexes, failedIndexes, JobPods.indexesOf(running)]
      for (const pod of fresh.filter((candidate) => JobPods.isFailed(job, candidate))) {
        const index = JobPods.indexOf(pod)!
        const other = delayed.get(index)
        const isLater = other === undefined || (
          JobPods.allFailuresBefore(other) <= JobPods.allFailuresBefore(pod) &&
          JobPods.finishedAt(other) <= JobPods.finishedAt(pod)
        )
        if (isLater && !settled.some((set) => set.has(index))) delayed.set(index, pod)
      }
    }
    const view: View = {
      job,
      pods: own,
      running,
      active: running.length,
      ready: running.filter(PodFacts.isReady).length,
      terminating: own.filter(PodFacts.isTerminating).length,
      succeeded: indexed
        ? succeededIndexes.size
        : (job.status?.succeeded ?? 0) + uncounted.succeeded.length + succeededNow.length,
      backoff: JobBackoff.after(backoffs.get(key) ?? JobBackoff.none, succeededNow, failedNow),
      succeededIndexes,
      failedIndexes,
      delayed
    }

    let outcome = JobOutcome.interim(job, { ...view, startTime: started, failed }, now())
    let conditions = before
    let startTime = started
    let managed: Managed = view
    if (outcome !== undefined) {
      managed = yield* remove(view, running, true)
      // Some Pods may still have to be accounted for.
      if (managed.active > 0) outcome = undefined
    } else {
      if (!isTerminating(job)) managed = yield* manage(key, view)
      const done = managed.active === 0 &&
        (completions === undefined ? view.succeeded > 0 : view.succeeded >= completions)
      if (done) outcome = JobOutcome.completed(now())
      else if (!isTerminating(job)) {
        const told = suspend
          ? JobOutcome.condition("Suspended", "JobSuspended", "Job suspended", now())
          : JobOutcome.condition("Suspended", "JobResumed", "Job resumed", now(), "False")
        conditions = JobOutcome.withCondition(before, told)
        if (conditions !== before) {
          if (!suspend) startTime = timestamp(now())
          yield* recorder.normal(job, suspend ? "Suspended" : "Resumed", told.message!)
        }
      }
    }
    const over = JobOutcome.deadline(job, startTime)
    if (outcome === undefined && over < Infinity) agenda.soon(key, over)

    // First the uids are recorded, then the finalizers are removed, then the Pods are counted.
    const failsAll = outcome?.type === "FailureTarget"
    const settled = tracked.filter((pod) =>
      isTerminating(job) || outcome !== undefined || pod.status?.phase === "Succeeded" ||
      (JobPods.isFailed(job, pod) && delayed.get(JobPods.indexOf(pod) ?? -1) !== pod)
    )
    const uidsOf = (known: ReadonlyArray<string>, more: ReadonlyArray<Pod>) => [
      ...new Set([...known, ...more.map(({ metadata }) => metadata.uid)])
    ]
    const nextFailed = settled.filter((pod) =>
      pod.status?.phase !== "Succeeded" && (failsAll || JobPods.isFailed(job, pod)) && JobPods.isValid(job, pod) &&
      counts(pod)
    )
    const noted = {
      succeeded: indexed
        ? uncounted.succeeded
        : uidsOf(uncounted.succeeded, settled.filter(({ status }) => status?.phase === "Succeeded")),
      failed: uidsOf(uncounted.failed, nextFailed)
    }
    const count = (status: JobStatus, held: ReadonlySet<string>): JobStatus => {
      const stays = (uid: string) => held.has(uid)
      const { failed = [], succeeded = [] } = status.uncountedTerminatedPods ?? {}
      const [failedLeft, succeededLeft] = [failed.filter(stays), succeeded.filter(stays)]
      return {
        ...status,
        succeeded: indexed
          ? succeededIndexes.size
          : (status.succeeded ?? 0) + succeeded.length - succeededLeft.length,
        failed: (status.failed ?? 0) + failed.length - failedLeft.length,
        uncountedTerminatedPods: { failed: failedLeft, succeeded: succeededLeft }
      }
    }
    const held = new Set(tracked.map(({ metadata }) => metadata.uid))
    const first = count({
      ...job.status,
      conditions: outcome === undefined ? conditions : JobOutcome.withCondition(conditions, outcome),
      ...(startTime === undefined ? {} : { startTime }),
      active: managed.active,
      ready: managed.ready,
      terminating: managed.terminating,
      ...(indexed ? { completedIndexes: JobIndexes.format(succeededIndexes) } : {}),
      ...(perIndex ? { failedIndexes: JobIndexes.format(failedIndexes) } : {}),
      uncountedTerminatedPods: noted
    }, held)
    let stored = yield* write(job, first)
    backoffs.set(key, view.backoff)
    const stuck = yield* PodControl.forAll(
      settled,
      (pod) => Effect.tap(untrack(pod), () => Effect.sync(() => held.delete(pod.metadata.uid)))
    )
    let second = count(first, held)
    const left = second.uncountedTerminatedPods
    const final = outcome === undefined || stuck !== undefined || managed.terminating > 0 ||
        (left?.failed ?? []).length + (left?.succeeded ?? []).length > 0
      ? undefined
      : JobOutcome.final(outcome, now())
    if (final !== undefined) {
      second = {
        ...second,
        conditions: JobOutcome.withCondition(second.conditions ?? [], final),
        ...(final.type === "Complete" ? { completionTime: timestamp(now()) } : {})
      }
    }
    stored = yield* write(stored, second)
    if (final !== undefined) yield* tell(stored)
    const failure = stuck ?? managed.failure
    if (failure !== undefined) return yield* failure
  })

  const tell = Effect.fnUntraced(function*(job: Job) {
    const { message = "", reason = "", type } = JobOutcome.finished(job)!
    if (type === "Failed") return yield* recorder.warning(job, reason, message)
    if ((job.status?.succeeded ?? 0) > (job.spec.completions ?? Infinity)) {
      const text = "Too many succeeded pods running after completion count reached"
      yield* recorder.warning(job, "TooManySucceededPods", text)
    }
    yield* recorder.normal(job, "Completed", "Job completed")
  })

  /** The Job that still has to account for a Pod. */
  const keeper = (pod: Pod): Job | undefined => {
    const key = ownerKey(Job, pod)
    const job = key === undefined ? undefined : jobs.get(parseKey(key))
    return job?.metadata.uid === controllerOf(pod)?.uid && job !== undefined && JobOutcome.finished(job) === undefined
      ? job
      : undefined
  }

  const agenda = yield* Loop.make({ sync, reads: [jobs, pods] })

  /** Removes the finalizer of Pods that no Job will count any more. */
  const orphans = yield* Loop.make({
    reads: [jobs, pods],
    sync: Effect.fnUntraced(function*(key) {
      const pod = pods.get(parseKey(key))
      if (pod === undefined || !JobPods.isTracked(pod) || keeper(pod) !== undefined) return
      const owner = controllerOf(pod)
      if (owner !== undefined && (owner.kind !== "Job" || owner.apiVersion !== "batch/v1")) return
      const job = jobs.get({ namespace: pod.metadata.namespace, name: owner?.name ?? "" })
      if (job !== undefined && job.metadata.uid === owner?.uid && isForeign(job)) return
      yield* untrack(pod)
    })
  })

  const expiries: Agenda.Agenda = yield* Loop.make({
    reads: [jobs],
    sync: Effect.fnUntraced(function*(key): Effect.fn.Return<void, KubeError> {
      const job = jobs.get(parseKey(key))
      const end = job === undefined ? undefined : JobOutcome.finished(job)?.lastTransitionTime
      const ttl = job?.spec.ttlSecondsAfterFinished
      if (job === undefined || end === undefined || ttl === undefined || isTerminating(job)) return
      const expiry = Date.parse(end) + ttl * 1000
      if (expiry > now()) return expiries.at(key, expiry)
      yield* client.delete(Job, job, { propagationPolicy: "Foreground" })
    })
  })

  jobs.listen((job, before) => {
    const key = keyString((job ?? before)!)
    if (job === undefined) expiries.forget(key)
    else expiries.now(key)
    if (job === undefined || JobOutcome.finished(job) !== undefined) {
      for (const pod of pods.controlledBy((job ?? before)!.metadata.uid)) orphans.now(keyString(pod))
    }
    const isNews = job === undefined || before === undefined || job.metadata.generation !== before.metadata.generation
    agenda.soon(key, now() + (isNews ? 0 : defaults.batch))
  })
  pods.listen((pod, before) => {
    for (const key of new Set([ownerKey(Job, pod), ownerKey(Job, before)])) {
      if (key !== undefined) agenda.soon(key, now() + defaults.batch)
    }
    if (pod === undefined) return
    if (JobPods.isTracked(pod) && keeper(pod) === undefined) orphans.now(keyString(pod))
    if (controllerOf(pod) !== undefined || isTerminating(pod)) return
    for (const job of jobs.inNamespace(pod.metadata.namespace)) {
      if (matcher(job.spec.selector)(pod)) agenda.soon(keyString(job), now() + defaults.batch)
    }
  })
})

/** The status without counts of 0, except for those that are always present. */
const plain = (status: JobStatus): JobStatus => {
  const { uncountedTerminatedPods } = status
  return {
    ...withoutZeros(status, ["ready", "terminating"]),
    ...(uncountedTerminatedPods === undefined
      ? {}
      : { uncountedTerminatedPods: withoutZeros(uncountedTerminatedPods, []) })
  }
}
