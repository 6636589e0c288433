import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { CronJob, type CronJobSpec, Job } from "../../src/kinds/batch.v1.ts"
import { Event } from "../../src/kinds/core.v1.ts"
import * as CronJobController from "../../src/testing/CronJobController.ts"
import * as GarbageCollector from "../../src/testing/GarbageCollector.ts"
import * as JobController from "../../src/testing/JobController.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as CronSchedule from "../../src/testing/sim/CronSchedule.ts"
import { layer } from "./support/server.ts"
import { random } from "./support/random.ts"

/** Jobs take so many seconds. */
const cluster = (seconds: number) =>
  Layer.mergeAll(
    CronJobController.layer,
    JobController.layer,
    GarbageCollector.layer,
    Kubelet.layer({ ending: () => ({ exitCode: 0, after: `${seconds} seconds` }) })
  ).pipe(Layer.provideMerge(layer))

const key = { namespace: "default", name: "tick" }
const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } }
const create = (spec: Partial<CronJobSpec>) =>
  KubeClient.use((client) =>
    client.create(CronJob, {
      metadata: key,
      spec: { schedule: "* * * * *", jobTemplate: { spec: { template } }, ...spec }
    })
  )
const status = Effect.map(KubeClient.use((client) => client.get(CronJob, key)), ({ status }) => status)
const jobs = KubeClient.use((client) => Stream.runCollect(client.list(Job))).pipe(
  Effect.map((all) => all.map(({ metadata }) => metadata.name).sort())
)
const events = KubeClient.use((client) => Stream.runCollect(client.list(Event))).pipe(
  Effect.map((all) =>
    all.filter(({ involvedObject }) => involvedObject.kind === "CronJob").map(({ message, reason }) =>
      `${reason}: ${message}`
    )
  )
)

describe("CronJobController", () => {
  it.effect("makes a Job every time, keeps as many as the limit says", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create({ timeZone: "America/New_York" })
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(yield* jobs, ["tick-1"])
      const { active, lastScheduleTime } = (yield* status)!
      assert.deepInclude(active?.[0], { kind: "Job", name: "tick-1", apiVersion: "batch/v1" })
      assert.strictEqual(lastScheduleTime, "1970-01-01T00:01:00Z")
      const { annotations } = (yield* client.get(Job, { namespace: "default", name: "tick-1" })).metadata
      const scheduled = annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"]
      assert.strictEqual(scheduled, "1969-12-31T19:01:00-05:00")
      yield* TestClock.adjust("330 seconds")
      assert.deepStrictEqual(yield* jobs, ["tick-4", "tick-5", "tick-6"])
      assert.isUndefined((yield* status)?.active)
      assert.isDefined((yield* status)?.lastSuccessfulTime)
      const told = yield* events
      for (
        const text of [
          "SuccessfulCreate: Created job tick-6",
          "SawCompletedJob: Saw completed job: tick-5, condition: Complete",
          "SuccessfulDelete: Deleted job tick-1"
        ]
      ) assert.include(told, text)
    }).pipe(Effect.provide(cluster(2))))

  it.effect("Forbid waits for the Job that is active, Replace deletes it", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create({ concurrencyPolicy: "Forbid" })
      yield* TestClock.adjust("130 seconds")
      assert.deepStrictEqual(yield* jobs, ["tick-1"])
      assert.include(
        yield* events,
        "JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid"
      )
      yield* client.patch(CronJob, key, Patch.merge({ spec: { concurrencyPolicy: "Replace" } }))
      yield* TestClock.adjust("60 seconds")
      const left = yield* jobs
      assert.lengthOf(left, 1)
      assert.notStrictEqual(left[0], "tick-1")
    }).pipe(Effect.provide(cluster(100_000))))

  it.effect("makes up once for what was missed while suspended, unless it is too late", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const change = (spec: object) => client.patch(CronJob, key, Patch.merge({ spec }))
      yield* create({ suspend: true })
      yield* TestClock.adjust("125 minutes")
      assert.lengthOf(yield* jobs, 0)
      yield* change({ suspend: false })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* jobs, ["tick-125"])
      const many = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
      assert.include(yield* events, `TooManyMissedTimes: ${many}`)
      yield* change({ suspend: true, schedule: "@hourly", startingDeadlineSeconds: 20 })
      yield* TestClock.adjust("1 hour")
      yield* change({ suspend: false })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* jobs, ["tick-125"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* jobs, ["tick-125", "tick-240"])
      const refused = yield* Effect.flip(change({ schedule: "61 * * * *" }))
      assert.strictEqual(refused.reason._tag, "Invalid", "the server takes no schedule that cannot be read")
    }).pipe(Effect.provide(cluster(2))))
})

describe("CronSchedule", () => {
  it.effect("a day that never comes is told, and nothing is started", () =>
    Effect.gen(function*() {
      yield* create({ schedule: "59 23 31 2 *" })
      yield* TestClock.adjust("5 days")
      assert.deepStrictEqual(yield* jobs, [])
      yield* TestClock.adjust("1 minute")
      const client = yield* KubeClient
      yield* client.patch(CronJob, key, Patch.merge({ metadata: { labels: { a: "b" } } }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* events, [
        "InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second"
      ])
    }).pipe(Effect.provide(cluster(1))))

  it("knows macros, names and zones, and nothing else", () => {
    const first = (text: string, zone?: string) =>
      Result.match(CronSchedule.parse(text, zone), {
        onSuccess: ({ next }) => new Date(next(Date.UTC(2026, 0, 1, 0, 0, 1))).toISOString(),
        onFailure: (message) => message
      })
    assert.strictEqual(first("@monthly"), "2026-02-01T00:00:00.000Z")
    assert.strictEqual(first("@every 1h30m"), "2026-01-01T01:30:01.000Z")
    assert.strictEqual(first("0 8-18/2 ? jan,mar MON-FRI", "Europe/Berlin"), "2026-01-01T07:00:00.000Z")
    assert.strictEqual(first("TZ=Asia/Tokyo 0 12 * * *"), "2026-01-01T03:00:00.000Z")
    assert.strictEqual(first("0 0 0 * * *"), "expected exactly 5 fields, found 6: [0 0 0 * * *]")
  })

  it("agrees with a walk over the minutes of the days on which clocks change", () => {
    const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000)
    const { int, pick } = random(seed)
    const zones = ["America/New_York", "Europe/Berlin", "UTC"]
    const formats = new Map(zones.map((zone) => [
      zone,
      new Intl.DateTimeFormat("en-US", { timeZone: zone, hour: "numeric", minute: "numeric", hourCycle: "h23" })
    ]))
    for (let round = 0; round < 200; round++) {
      const [zone, minute, hour] = [pick(zones), int(60), int(5)]
      const start = pick([Date.UTC(2026, 2, 7, 12), Date.UTC(2026, 9, 24, 12), Date.UTC(2026, 9, 31, 12)]) +
        int(1000) * 60_000
      const schedule = Result.getOrThrow(CronSchedule.parse(`${minute} ${hour} * * *`, zone))
      let walked = start
      const isDue = (time: number) =>
        formats.get(zone)!.format(time) === `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`
      do walked += 60_000
      while (!isDue(walked))
      const say = `seed ${seed}: ${minute} ${hour} * * * in ${zone} after ${new Date(start).toISOString()}`
      assert.strictEqual(new Date(schedule.next(start)).toISOString(), new Date(walked).toISOString(), say)
    }
  })
})
