import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Job, type JobSpec } from "../../src/kinds/batch.v1.ts"
import { Event, Pod } from "../../src/kinds/core.v1.ts"
import * as GarbageCollector from "../../src/testing/GarbageCollector.ts"
import * as JobController from "../../src/testing/JobController.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import { random } from "./support/random.ts"
import { layer } from "./support/server.ts"

/** Containers end after `seconds` with the code that `exitCode` says. */
const cluster = (seconds: number, exitCode: (pod: Pod) => number) =>
  Layer.mergeAll(
    JobController.layer,
    GarbageCollector.layer,
    Kubelet.layer({ ending: (pod) => ({ exitCode: exitCode(pod), after: `${seconds} seconds` }) })
  ).pipe(Layer.provideMerge(layer))

const key = { namespace: "default", name: "pi" }
const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } }
const create = (spec: Partial<JobSpec>) =>
  KubeClient.use((client) => client.create(Job, { metadata: key, spec: { template, ...spec } }))
const get = KubeClient.use((client) => client.get(Job, key))
const pods = KubeClient.use((client) => Stream.runCollect(client.list(Pod)))
const events = KubeClient.use((client) => Stream.runCollect(client.list(Event))).pipe(
  Effect.map((all) =>
    all.filter(({ involvedObject }) => involvedObject.kind === "Job").map(({ message, reason }) =>
      `${reason}: ${message?.replace(/pi-\w+$/, "pi-*")}`
    )
  )
)
const conditions = Effect.map(
  get,
  ({ status }) => status?.conditions?.map(({ message, reason, type }) => `${type} ${reason} ${message}`)
)

const indexAnnotation = "batch.kubernetes.io/job-completion-index"
const indexOf = (pod: Pod) => Number(pod.metadata.annotations?.[indexAnnotation])

describe("JobController", () => {
  it.effect("runs Pods until there are completions enough, at most parallelism at once", () =>
    Effect.gen(function*() {
      yield* create({ completions: 5, parallelism: 2 })
      let most = 0
      for (let second = 0; second < 40; second++) {
        yield* TestClock.adjust("1 second")
        const active = (yield* pods).filter(({ status }) => status?.phase !== "Succeeded")
        most = Math.max(most, active.length)
      }
      assert.strictEqual(most, 2)
      const { status } = yield* get
      assert.deepInclude(status, { succeeded: 5, ready: 0, terminating: 0, uncountedTerminatedPods: {} })
      assert.isUndefined(status?.active)
      assert.deepStrictEqual(yield* conditions, [
        "SuccessCriteriaMet CompletionsReached Reached expected number of succeeded pods",
        "Complete CompletionsReached Reached expected number of succeeded pods"
      ])
      const left = yield* pods
      assert.lengthOf(left, 5)
      for (const pod of left) assert.isUndefined(pod.metadata.finalizers)
      const told = yield* events
      assert.lengthOf(told.filter((text) => text === "SuccessfulCreate: Created pod: pi-*"), 5)
      assert.include(told, "Completed: Job completed")
    }).pipe(Effect.provide(cluster(3, () => 0))))

  it.effect("replaces Pods that fail after 10 s, 20 s, …, until the limit is reached", () =>
    Effect.gen(function*() {
      yield* create({ backoffLimit: 2 })
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(yield* pods, 1)
      yield* TestClock.adjust("4 seconds")
      assert.lengthOf(yield* pods, 2)
      yield* TestClock.adjust("19 seconds")
      assert.lengthOf(yield* pods, 2)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(yield* pods, 3)
      assert.deepInclude((yield* get).status, { failed: 3, ready: 0 })
      assert.deepStrictEqual(yield* conditions, [
        "FailureTarget BackoffLimitExceeded Job has reached the specified backoff limit",
        "Failed BackoffLimitExceeded Job has reached the specified backoff limit"
      ])
      assert.include(yield* events, "BackoffLimitExceeded: Job has reached the specified backoff limit")
    }).pipe(Effect.provide(cluster(1, () => 1))))

  it.effect("is over when its time is, and goes when its time to live is over", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create({ activeDeadlineSeconds: 30, ttlSecondsAfterFinished: 60 })
      yield* TestClock.adjust("29 seconds")
      assert.deepInclude((yield* get).status, { active: 1, ready: 1 })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* conditions, [
        "FailureTarget DeadlineExceeded Job was active longer than specified deadline"
      ])
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude((yield* get).status, { failed: 1, terminating: 0 })
      assert.lengthOf((yield* conditions)!, 2)
      yield* TestClock.adjust("90 seconds")
      assert.lengthOf(yield* Stream.runCollect(client.list(Job)), 0)
    }).pipe(Effect.provide(cluster(1000, () => 0))))

  it.effect("a suspended Job has no Pods, a resumed one starts anew", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const suspend = (suspend: boolean) => client.patch(Job, key, Patch.merge({ spec: { suspend } }))
      yield* create({ parallelism: 2, suspend: true })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* conditions, ["Suspended JobSuspended Job suspended"])
      assert.isUndefined((yield* get).status?.startTime)
      yield* suspend(false)
      yield* TestClock.adjust("5 seconds")
      assert.lengthOf(yield* pods, 2)
      assert.strictEqual((yield* get).status?.conditions?.[0]?.status, "False")
      yield* suspend(true)
      yield* TestClock.adjust("5 seconds")
      assert.lengthOf(yield* pods, 0)
      assert.isUndefined((yield* get).status?.failed)
      const told = yield* events
      for (
        const reason of ["Suspended: Job suspended", "Resumed: Job resumed", "SuccessfulDelete: Deleted pod: pi-*"]
      ) {
        assert.include(told, reason)
      }
    }).pipe(Effect.provide(cluster(1000, () => 0))))

  it.effect("indexes: each succeeds once, and fails on its own with a limit of its own", () =>
    Effect.gen(function*() {
      yield* create({ completionMode: "Indexed", completions: 6, parallelism: 6, backoffLimitPerIndex: 1 })
      yield* TestClock.adjust("2 seconds")
      const first = (yield* pods).find((pod) => indexOf(pod) === 4)!
      assert.match(first.metadata.name, /^pi-4-\w{5}$/)
      assert.strictEqual(first.spec.hostname, "pi-4")
      assert.strictEqual(first.metadata.labels?.[indexAnnotation], "4")
      assert.strictEqual(first.spec.containers[0]?.env?.[0]?.name, "JOB_COMPLETION_INDEX")
      yield* TestClock.adjust("2 minutes")
      assert.deepInclude((yield* get).status, {
        succeeded: 5,
        failed: 2,
        completedIndexes: "0,1,3-5",
        failedIndexes: "2"
      })
      assert.deepStrictEqual(yield* conditions, [
        "FailureTarget FailedIndexes Job has failed indexes",
        "Failed FailedIndexes Job has failed indexes"
      ])
    }).pipe(Effect.provide(cluster(1, (pod) => indexOf(pod) === 2 ? 1 : 0))))

  it.effect("policies: a failure may be passed over or end the Job, some indexes may be enough", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const rule = (action: string) => ({ rules: [{ action, onExitCodes: { operator: "In", values: [3] } }] })
      yield* create({ podFailurePolicy: rule("FailJob") })
      yield* TestClock.adjust("10 seconds")
      const [pod] = yield* pods
      const message = `Container c for pod default/${
        pod!.metadata.name
      } failed with exit code 3 matching FailJob rule at index 0`
      assert.strictEqual((yield* conditions)?.[1], `Failed PodFailurePolicy ${message}`)
      yield* client.delete(Job, key, { propagationPolicy: "Background" })
      yield* TestClock.adjust("10 seconds")
      yield* create({ backoffLimit: 0, podFailurePolicy: rule("Ignore") })
      yield* TestClock.adjust("20 seconds")
      assert.isUndefined((yield* get).status?.failed)
      assert.lengthOf(yield* pods, 2)
    }).pipe(Effect.provide(cluster(1, () => 3))))

  it.effect("takes Pods that are nobody's and lets those of Jobs that have gone go", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const job = yield* create({ parallelism: 1, completions: 1 })
      yield* TestClock.adjust("2 seconds")
      const [pod] = yield* pods
      yield* client.patch(Pod, pod!, Patch.merge({ metadata: { ownerReferences: null } }))
      yield* TestClock.adjust("3 seconds")
      const [adopted] = yield* pods
      assert.strictEqual(adopted!.metadata.ownerReferences?.[0]?.uid, job.metadata.uid)
      assert.deepStrictEqual(adopted!.metadata.finalizers, ["batch.kubernetes.io/job-tracking"])
      yield* client.delete(Job, key, { propagationPolicy: "Background" })
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(yield* pods, 0)
    }).pipe(Effect.provide(cluster(1000, () => 0))))

  it.effect("counts every Pod once whatever becomes of it, and never has too many", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create({ completions: 20, parallelism: 4, backoffLimit: 1000 })
      const fates = new Map<string, string>()
      const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000)
      const { next, pick } = random(seed)
      // After many failures in a row it waits for ten minutes at a time.
      let pause: "1 second" | "1 minute" = "1 second"
      for (let step = 0; step < 4000 && (yield* get).status?.completionTime === undefined; step++) {
        yield* TestClock.adjust(pause)
        const active = (yield* pods).filter(({ metadata, status }) =>
          metadata.deletionTimestamp === undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed"
        )
        assert.isAtMost(active.length, 4, `seed ${seed}`)
        pause = active.length === 0 ? "1 minute" : "1 second"
        for (const pod of active) {
          if (fates.has(pod.metadata.uid) || next() > 0.3) continue
          const fate = pick(["Succeeded", "Failed", "deleted"])
          fates.set(pod.metadata.uid, fate)
          if (fate === "deleted") yield* client.delete(Pod, pod)
          else yield* client.patch(Pod, pod, Patch.merge({ status: { phase: fate } }), { subresource: "status" })
        }
      }
      const of = (...wanted: ReadonlyArray<string>) =>
        [...fates.values()].filter((fate) => wanted.includes(fate)).length
      const { status } = yield* get
      assert.isDefined(status?.completionTime, `seed ${seed}`)
      assert.strictEqual(status?.succeeded, of("Succeeded"), `seed ${seed}`)
      assert.strictEqual(status?.failed ?? 0, of("Failed", "deleted"), `seed ${seed}`)
    }).pipe(Effect.provide(JobController.layer.pipe(Layer.provideMerge(layer)))))
})
