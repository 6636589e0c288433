/** Jobs and CronJobs: statements 155 and 156. */
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { condition, container, type Json, names, ownerOf, workloads } from "../Workloads.ts"

const template = (more: Json = {}) => ({
  template: { spec: { restartPolicy: "Never", containers: [container("work:1")], ...more } }
})

const isOf = (phase: string) => ({ status }: Json) => status.phase === phase

/** Pods as they are while nobody has ended them. */
const unended = (items: ReadonlyArray<Json>) => items.filter(isOf("Pending"))

export const jobs = [
  statement("155a", "a Job makes Pods up to its parallelism, and is complete when enough have succeeded", {
    controllers: true
  }, function*() {
    const { create, ended, events, items, listed, minor, so } = yield* workloads
    const { object: job } = yield* create("jobs", "work", { completions: 3, parallelism: 2, ...template() })
    const pods = yield* listed("pods", ({ length }) => length === 2)
    const { controller, kind, uid } = ownerOf(pods[0]!)
    assert.deepStrictEqual([kind, uid, controller], ["Job", job.metadata.uid, true])
    const [first] = pods
    assert.match(first!["metadata"].name, /^work-[a-z0-9]{5}$/)
    assert.strictEqual(first!["metadata"].generateName, "work-")
    assert.strictEqual(first!["metadata"].labels["job-name"], "work")
    assert.strictEqual(first!["metadata"].labels["controller-uid"], job.metadata.uid)
    const selecting = minor >= 27 ? "batch.kubernetes.io/controller-uid" : "controller-uid"
    assert.deepStrictEqual(job["spec"].selector, { matchLabels: { [selecting]: job.metadata.uid } })
    const started = yield* so("jobs", "work", ({ status }) => status.active === 2)
    assert.match(started["status"].startTime, /Z$/)
    assert.isUndefined(started["status"].conditions)
    yield* (yield* Target).sleep(1200)
    assert.lengthOf(yield* items("pods"), 2, "no more than may run at a time")

    yield* ended(first!["metadata"].name, "Succeeded")
    yield* so("jobs", "work", ({ status }) => status.succeeded === 1 && status.active === 2)
    const three = yield* listed("pods", ({ length }) => length === 3)
    assert.lengthOf(unended(three), 2)
    for (const { metadata } of unended(three)) yield* ended(metadata.name, "Succeeded")
    const done = yield* so("jobs", "work", (object) => condition(object, "Complete")?.["status"] === "True")
    assert.strictEqual(done["status"].succeeded, 3)
    assert.isUndefined(done["status"].active)
    assert.match(done["status"].completionTime, /Z$/)
    assert.lengthOf(yield* items("pods"), 3, "what has ended stays")
    const told = yield* events("work", ({ length }) => length === 4)
    assert.sameMembers(
      told.map(({ message }) => message),
      [...names(three).map((name) => `Created pod: ${name}`), "Job completed"]
    )
    assert.sameMembers(told.map(({ reason }) => reason), [...Array(3).fill("SuccessfulCreate"), "Completed"])
  }),

  statement("155b", "a Job without completions is done when one Pod has succeeded and none is left", {
    controllers: true
  }, function*() {
    const { create, ended, items, listed, so } = yield* workloads
    const { object: job } = yield* create("jobs", "queue", { parallelism: 2, ...template() })
    assert.isUndefined(job["spec"].completions)
    const pods = yield* listed("pods", ({ length }) => length === 2)
    yield* ended(pods[0]!["metadata"].name, "Succeeded")
    const going = yield* so("jobs", "queue", ({ status }) => status.succeeded === 1 && status.active === 1)
    assert.isUndefined(condition(going, "Complete"))
    assert.lengthOf(yield* items("pods"), 2, "the other goes on, and no third comes")
    yield* ended(pods[1]!["metadata"].name, "Succeeded")
    const done = yield* so("jobs", "queue", (object) => condition(object, "Complete") !== undefined)
    assert.strictEqual(done["status"].succeeded, 2)
    assert.isUndefined(done["status"].failed)
  }),

  statement("155c", "a Job whose Pods fail more often than its limit has failed, and takes away what runs", {
    controllers: true
  }, function*() {
    const { create, ended, events, listed, so } = yield* workloads
    yield* create("jobs", "bad", { parallelism: 2, completions: 2, backoffLimit: 0, ...template() })
    const pods = yield* listed("pods", ({ length }) => length === 2)
    yield* ended(pods[0]!["metadata"].name, "Failed")
    const failed = yield* so("jobs", "bad", (object) => condition(object, "Failed")?.["status"] === "True")
    const { message, reason } = condition(failed, "Failed")!
    assert.strictEqual(reason, "BackoffLimitExceeded")
    assert.strictEqual(message, "Job has reached the specified backoff limit")
    assert.isUndefined(failed["status"].completionTime)
    assert.isUndefined(failed["status"].succeeded)
    const left = yield* listed("pods", (items) => unended(items).length === 0)
    assert.deepStrictEqual(names(left), [pods[0]!["metadata"].name], "the failed Pod stays for its log")
    const told = yield* events("bad", (all) => all.some(({ type }) => type === "Warning"))
    assert.deepInclude(told.find(({ type }) => type === "Warning"), { reason: "BackoffLimitExceeded", message })
  }),

  statement("155d", "a Job that runs longer than its deadline has failed", { controllers: true }, function*() {
    const { create, listed, minor, patch, so, watched } = yield* workloads
    const watching = yield* watched("pods")
    yield* create("jobs", "late", { activeDeadlineSeconds: 2, ...template() })
    const [pod] = yield* watching.take(1)
    assert.strictEqual(pod!.type, "ADDED")
    // The controller of 1.20 looks once, a deadline after its first attempt to write the start. If that has failed, it
    // is too early, and looks again only when something happens.
    if (minor < 22) {
      yield* (yield* Target).sleep(3000)
      yield* patch("jobs", "late", { metadata: { annotations: { looked: "again" } } })
    }
    const failed = yield* so("jobs", "late", (object) => condition(object, "Failed")?.["status"] === "True")
    const { message, reason } = condition(failed, "Failed")!
    assert.strictEqual(reason, "DeadlineExceeded")
    assert.strictEqual(message, "Job was active longer than specified deadline")
    yield* listed("pods", ({ length }) => length === 0)
    const { status } = yield* so("jobs", "late", ({ status }) => status.active === undefined)
    assert.isUndefined(status.succeeded)
  }),

  statement("155e", "a Pod that failed is replaced after a wait", {
    controllers: true,
    note: "until 1.26 the first failure was not waited for"
  }, function*() {
    const { create, ended, listed, minor, so } = yield* workloads
    yield* create("jobs", "again", { backoffLimit: 3, ...template() })
    const [first] = yield* listed("pods", ({ length }) => length === 1)
    const failed = Clock.Clock.defaultValue().currentTimeMillisUnsafe()
    yield* ended(first!["metadata"].name, "Failed")
    const pods = yield* listed("pods", ({ length }) => length === 2)
    const [next] = unended(pods)
    // Who waits waits for ten seconds.
    const waited = Date.parse(next!["metadata"].creationTimestamp) - failed
    if (minor >= 27) assert.isAtLeast(waited, 3000, "not at once")
    else assert.isBelow(waited, 3000, "at once")
    yield* ended(next!["metadata"].name, "Succeeded")
    const done = yield* so("jobs", "again", (object) => condition(object, "Complete") !== undefined)
    assert.strictEqual(done["status"].failed, 1)
    assert.strictEqual(done["status"].succeeded, 1)
  }),

  statement("155f", "what a Job has made goes with it, and what it was told to orphan stays", {
    controllers: true
  }, function*() {
    const { create, get, gone, listed, remove } = yield* workloads
    yield* create("jobs", "goes", template())
    const [pod] = yield* listed("pods", ({ length }) => length === 1)
    assert.strictEqual((yield* remove("jobs", "goes", { propagationPolicy: "Background" })).status, 200)
    yield* listed("pods", ({ length }) => length === 0)
    assert.strictEqual((yield* get("pods", pod!["metadata"].name)).status, 404)
    yield* create("jobs", "leaves", template())
    const [kept] = yield* listed("pods", ({ length }) => length === 1)
    // Of a Pod that it has not heard of yet the collector takes no notice when its owner is deleted.
    const lost = { apiVersion: "v1", kind: "ConfigMap", name: "lost", uid: "00000000-0000-4000-8000-000000000000" }
    yield* create("pods", "canary", { containers: [container("work:1")] }, { ownerReferences: [lost] })
    yield* gone("pods", "canary")
    yield* remove("jobs", "leaves", { propagationPolicy: "Orphan" })
    const [free] = yield* listed(
      "pods",
      ([item]) => item !== undefined && item["metadata"].ownerReferences === undefined
    )
    assert.strictEqual(free!["metadata"].uid, kept!["metadata"].uid)
  }),

  statement(
    "155g",
    "a suspended Job has no Pods, and goes on with a new start",
    { controllers: true, since: 22 },
    function*() {
      const { create, listed, patch, so } = yield* workloads
      yield* create("jobs", "rests", { suspend: true, ...template() })
      const resting = yield* so("jobs", "rests", (object) => condition(object, "Suspended")?.["status"] === "True")
      assert.isUndefined(resting["status"].startTime)
      yield* patch("jobs", "rests", { spec: { suspend: false } })
      yield* listed("pods", ({ length }) => length === 1)
      const going = yield* so("jobs", "rests", ({ status }) => status.startTime !== undefined)
      assert.deepInclude(condition(going, "Suspended"), {
        status: "False",
        reason: "JobResumed",
        message: "Job resumed"
      })
      yield* patch("jobs", "rests", { spec: { suspend: true } })
      yield* listed("pods", ({ length }) => length === 0)
    }
  ),

  statement(
    "155h",
    "a Job that is over goes when its time to live has passed",
    { controllers: true, since: 23 },
    function*() {
      const { create, ended, get, gone, listed } = yield* workloads
      yield* create("jobs", "brief", { ttlSecondsAfterFinished: 1, ...template() })
      const [pod] = yield* listed("pods", ({ length }) => length === 1)
      yield* ended(pod!["metadata"].name, "Succeeded")
      yield* gone("jobs", "brief")
      yield* listed("pods", ({ length }) => length === 0)
      assert.strictEqual((yield* get("pods", pod!["metadata"].name)).status, 404)
    }
  ),

  statement("155i", "an indexed Job completes every index once", { controllers: true, since: 24 }, function*() {
    const { create, ended, listed, so } = yield* workloads
    yield* create("jobs", "indexed", { completionMode: "Indexed", completions: 3, parallelism: 3, ...template() })
    const pods = yield* listed("pods", ({ length }) => length === 3)
    const indexOf = ({ metadata }: Json) => metadata.annotations["batch.kubernetes.io/job-completion-index"]
    assert.deepStrictEqual(pods.map(indexOf).sort(), ["0", "1", "2"])
    for (const pod of pods) assert.isTrue(pod["metadata"].name.startsWith(`indexed-${indexOf(pod)}-`))
    for (const pod of pods.filter((pod) => indexOf(pod) !== "1")) yield* ended(pod["metadata"].name, "Succeeded")
    const two = yield* so("jobs", "indexed", ({ status }) => status.succeeded === 2)
    assert.strictEqual(two["status"].completedIndexes, "0,2")
    yield* ended(pods.find((pod) => indexOf(pod) === "1")!["metadata"].name, "Succeeded")
    const done = yield* so("jobs", "indexed", (object) => condition(object, "Complete")?.["status"] === "True")
    assert.strictEqual(done["status"].completedIndexes, "0-2")
  }),

  statement("156a", "a CronJob has a history of Jobs named after their time, and none while it is suspended", {
    controllers: true,
    since: 21,
    note: "the real one of 1.20 serves batch/v1beta1 only"
  }, function*() {
    const { create, get, items, listed, patch } = yield* workloads
    const { object: cron, status } = yield* create("cronjobs", "nightly", {
      schedule: "* * * * *",
      suspend: true,
      jobTemplate: { spec: template() }
    })
    assert.strictEqual(status, 201)
    assert.strictEqual(cron["spec"].concurrencyPolicy, "Allow")
    assert.strictEqual(cron["spec"].successfulJobsHistoryLimit, 3)
    assert.strictEqual(cron["spec"].failedJobsHistoryLimit, 1)
    yield* (yield* Target).sleep(500)
    assert.lengthOf(yield* items("jobs"), 0)
    const { object: later } = yield* get("cronjobs", "nightly")
    assert.isUndefined(later["status"].lastScheduleTime)

    // As if it had run before: what was missed while it was suspended is made up for, once.
    const created = Date.parse(cron["metadata"].creationTimestamp)
    const lastScheduleTime = new Date(created - 5 * 60_000).toISOString().replace(/\.\d+/, "")
    yield* patch("cronjobs", "nightly/status", { status: { lastScheduleTime } })
    yield* patch("cronjobs", "nightly", { spec: { suspend: false } })
    const [job] = yield* listed("jobs", ({ length }) => length > 0)
    const minute = Number(/^nightly-(\d+)$/.exec(job!["metadata"].name)?.[1])
    const started = Date.parse(job!["metadata"].creationTimestamp)
    assert.closeTo(minute, started / 60_000, 1.1, "named after the minute that it was due")
    const { controller, kind, uid } = ownerOf(job!)
    assert.deepStrictEqual([kind, uid, controller], ["CronJob", cron["metadata"].uid, true])
  })
]
