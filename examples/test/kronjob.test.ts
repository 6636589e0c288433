import { KubeClient, type KubeClient as Client, Manager } from "@effect-operator/core"
import { Crd } from "@effect-operator/k8s"
import { Job, Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, TestClient, TestCluster, VirtualTime } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random, Result, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/kronjob/example.ts"
import { controller, scheduledAt } from "../src/kronjob/reconciler.ts"
import { KronJob } from "../src/kronjob/resource.ts"
import { parse } from "../src/kronjob/schedule.ts"
import { all, assertQuiet, crashAtWrite } from "./support/Operator.ts"

const key = { namespace: "default", name: "report" }
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/**
 * The calendar, computed another way: every minute of some time, and what the clock of a zone shows then, as `Intl`
 * knows it. It is asked every quarter of an hour: no zone changes its clock at another time.
 */
const calendar = (zone: string, from: number, to: number, shows: (clock: Wall) => boolean): ReadonlyArray<number> => {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    weekday: "short",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric"
  })
  const found: Array<number> = []
  for (let quarter = from; quarter < to; quarter += 15 * minute) {
    const parts = Object.fromEntries(format.formatToParts(quarter).map(({ type, value }) => [type, value]))
    for (let i = 0; i < 15; i++) {
      const wall: Wall = {
        minute: Number(parts["minute"]) + i,
        hour: Number(parts["hour"]),
        day: Number(parts["day"]),
        month: Number(parts["month"]),
        weekday: parts["weekday"]!
      }
      if (shows(wall)) found.push(quarter + i * minute)
    }
  }
  return found
}

interface Wall {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: string
}

const berlin = "Europe/Berlin"
const from = Date.UTC(2026, 0, 1)
const to = Date.UTC(2027, 0, 1)

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri"]
const schedules: ReadonlyArray<readonly [string, string, (wall: Wall) => boolean]> = [
  ["30 2 * * *", berlin, ({ hour, minute }) => hour === 2 && minute === 30],
  [
    "*/20 * 25-31 3,10 *",
    berlin,
    ({ day, minute, month }) => minute % 20 === 0 && day >= 25 && [3, 10].includes(month)
  ],
  [
    "0 1-3 * 3,10 *",
    berlin,
    ({ hour, minute, month }) => minute === 0 && hour >= 1 && hour <= 3 && [3, 10].includes(month)
  ],
  [
    "15 9 * * MON-FRI",
    "America/New_York",
    ({ hour, minute, weekday }) => hour === 9 && minute === 15 && weekdays.includes(weekday)
  ],
  [
    "0 12 1,15 * 0",
    "Australia/Lord_Howe",
    ({ day, hour, minute, weekday }) => hour === 12 && minute === 0 && (day === 1 || day === 15 || weekday === "Sun")
  ],
  ["45 1 * * *", "Australia/Lord_Howe", ({ hour, minute }) => hour === 1 && minute === 45],
  ["0 0 31 * *", "UTC", ({ day, hour, minute }) => day === 31 && hour === 0 && minute === 0],
  ["@hourly", "UTC", ({ minute }) => minute === 0],
  ["@daily", berlin, ({ hour, minute }) => hour === 0 && minute === 0],
  ["@midnight", "UTC", ({ hour, minute }) => hour === 0 && minute === 0],
  ["@weekly", berlin, ({ hour, minute, weekday }) => weekday === "Sun" && hour === 0 && minute === 0],
  ["@monthly", "America/New_York", ({ day, hour, minute }) => day === 1 && hour === 0 && minute === 0],
  ["@yearly", berlin, ({ day, hour, minute, month }) => month === 1 && day === 1 && hour === 0 && minute === 0],
  ["@annually", "UTC", ({ day, hour, minute, month }) => month === 1 && day === 1 && hour === 0 && minute === 0],
  ["15 9 ? * MON", berlin, ({ hour, minute, weekday }) => hour === 9 && minute === 15 && weekday === "Mon"],
  ["?/30 6 1 ? ?", "UTC", ({ day, hour, minute }) => day === 1 && hour === 6 && minute % 30 === 0],
  ["0 3 29 2 *", "UTC", () => false]
]

for (const [text, zone, shows] of schedules) {
  it(`${text} in ${zone} is due when the calendar of a year says so`, () => {
    const schedule = Result.getOrThrow(parse(text, { timeZone: zone }))
    const expected = calendar(zone, from, to, shows)
    const due: Array<number> = []
    for (let at = schedule.next(from - 1); at !== undefined && at < to; at = schedule.next(at)) due.push(at)
    assert.deepStrictEqual(due, expected)
    // A search backwards takes a while: of what is due every hour some weeks are enough.
    for (const [i, at] of expected.slice(0, 1000).entries()) {
      if (i === 0) continue
      assert.deepStrictEqual([schedule.last(at), schedule.last(at - 1), schedule.last(at + 999)], [
        at,
        expected[i - 1],
        at
      ])
    }
  })
}

for (
  const [text, seconds] of [
    ["@every 1h30m", 5400],
    ["@every 90m", 5400],
    ["@every 1.5h", 5400],
    ["@every 45s", 45],
    ["@every 2500ms", 2],
    ["@every 1ns", 1]
  ] as const
) {
  it(`${text} is due every ${seconds} seconds, counted from when it began`, () => {
    const since = Date.UTC(2026, 2, 28, 23, 59, 17)
    const { last, next } = Result.getOrThrow(parse(text, { timeZone: berlin, since }))
    const at = (n: number) => since + n * seconds * 1000
    assert.deepStrictEqual([next(since - day), next(since), next(at(1) - 1), next(at(1))], [at(1), at(1), at(1), at(2)])
    assert.deepStrictEqual([last(since), last(at(1) - 1), last(at(1)), last(at(40) + 999)], [
      undefined,
      undefined,
      at(1),
      at(40)
    ])
  })
}

const remedy =
  "write five fields, such as \"30 2 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly, \"@every 90m\""

for (
  const [text, why] of [
    ["often", "Invalid number of segments in cron expression"],
    ["* * * *", "Invalid number of segments in cron expression"],
    ["60 * * * *", "Expected a value between 0 and 59 (60)"],
    ["* 24 * * *", "Expected a value between 0 and 23 (24)"],
    ["*/0 * * * *", "Expected step value to be greater than 0 (*/0)"],
    ["5? * * * *", "Expected a positive integer (5?)"],
    ["@reboot", "there is no such name for a schedule"],
    ["@Daily", "there is no such name for a schedule"],
    ["@every", "there is no such name for a schedule"],
    ["@every day", "\"day\" is no duration, such as 90m or 1h30m"],
    ["@every 1d", "\"1d\" is no duration, such as 90m or 1h30m"],
    ["@every -1h", "\"-1h\" is no duration, such as 90m or 1h30m"],
    ["@every 3000000h", "\"3000000h\" is longer than 292 years"],
    ["TZ=Europe/Berlin 0 3 * * *", "a time zone has no place in it"],
    ["CRON_TZ=UTC @daily", "a time zone has no place in it"]
  ] as const
) {
  it(`${text} is no schedule, and is told why and what one is`, () => {
    const said = Result.getOrThrow(Result.flip(parse(text)))
    assert.strictEqual(said, `schedule: ${JSON.stringify(text)}: ${why}: ${remedy}`)
  })
}

it("an unknown time zone is told of, whatever the schedule; one that is never due ends the search", () => {
  for (const text of ["* * * * *", "@daily", "@every 1h"]) {
    assert.strictEqual(
      Result.getOrThrow(Result.flip(parse(text, { timeZone: "Europe/Atlantis" }))),
      "timeZone: \"Europe/Atlantis\": there is no such zone: write one of the IANA database, such as \"Europe/Berlin\""
    )
  }
  const never = Result.getOrThrow(parse("0 0 30 2 *"))
  assert.deepStrictEqual([never.next(from), never.last(from)], [undefined, undefined])
})

/** The server alone: Jobs end when the test says so, and time without an operator costs nothing. */
const bare = Layer.effectDiscard(Crd.install(KronJob)).pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.ApiServer.layer),
  Layer.provideMerge(VirtualTime.layer),
  Layer.fresh
)

const operator = Manager.layer([controller])

/** Runs the operator for a time. */
const up = (millis: number) =>
  Effect.scoped(Effect.andThen(Layer.build(Layer.fresh(operator)), TestClock.adjust(millis)))

const create = (spec: Partial<KronJob["spec"]>) =>
  KubeClient.KubeClient.use((client) =>
    client.create(KronJob, {
      metadata: key,
      spec: { schedule: "0 * * * *", jobTemplate: { image: "busybox" }, ...spec }
    })
  )

const change = (spec: Partial<KronJob["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(KronJob, key, KubeClient.Patch.merge({ spec })))

const finish = Effect.fnUntraced(function*(job: Job, how: "Complete" | "Failed") {
  const client = yield* KubeClient.KubeClient
  const at = new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis)).toISOString().replace(/\.\d+/, "")
  const condition = (type: string) => ({
    type,
    status: "True",
    lastTransitionTime: at,
    lastProbeTime: at,
    reason: "Test"
  })
  const status = how === "Complete"
    ? {
      startTime: at,
      completionTime: at,
      succeeded: 1,
      conditions: [condition("SuccessCriteriaMet"), condition("Complete")]
    }
    : { startTime: at, failed: 1, conditions: [condition("FailureTarget"), condition("Failed")] }
  yield* client.patch(Job, job, KubeClient.Patch.merge({ status }), { subresource: "status" })
})

const running = Effect.map(all(Job), (jobs) => jobs.filter(({ status }) => (status?.conditions ?? []).length === 0))

const slots = Effect.map(all(Job), (jobs) => jobs.map((job) => job.metadata.annotations![scheduledAt]!).sort())

/** Every run there ever was, told by the creations of Jobs, whatever became of them. */
const runs: Effect.Effect<
  { readonly made: () => ReadonlyArray<number> },
  never,
  KubeClient.KubeClient | Scope.Scope
> = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  const made: Array<number> = []
  yield* client.observe((write: Client.Write) => {
    if (write._tag !== "Written" || write.object.kind !== "Job" || write.subresource !== undefined) return
    made.push(Date.parse(write.object.metadata.annotations![scheduledAt]!))
  })
  return { made: () => made }
})

it.effect("one year with a zone's daylight saving, outages and suspensions: exactly the runs its policy allows", () =>
  Effect.gen(function*() {
    const { made } = yield* runs
    yield* TestClock.setTime(from)
    const deadline = hour
    yield* create({ schedule: "30 2 * * *", timeZone: berlin, startingDeadlineSeconds: deadline / 1000 })
    const due = calendar(berlin, from, to, ({ hour, minute }) => hour === 2 && minute === 30)
    const expected: Array<number> = []
    let done = from
    /** It is awake from one time to another: what was missed last runs if it is not too old, the rest in time. */
    const awake = (since: number, until: number) => {
      const late = due.findLast((at) => at <= since)
      if (late !== undefined && late > done && since - late < deadline) expected.push(done = late)
      for (const at of due) if (at > since && at <= until && at > done) expected.push(done = at)
    }
    let suspended = false
    for (let now = from; now < to;) {
      const what = yield* Random.nextIntBetween(0, 10)
      // Mostly a day; sometimes the operator is away for some days, sometimes it comes back late.
      const sleep = what === 0 ? 3.5 * day : (yield* Random.nextIntBetween(0, 26 * 60)) * minute
      const work = (yield* Random.nextIntBetween(1, 12)) * minute
      yield* TestClock.adjust(sleep)
      now += sleep
      if (what === 1 || suspended) yield* change({ suspend: suspended = !suspended })
      yield* up(work)
      if (!suspended) awake(now, now + work)
      now += work
      // Jobs end, some badly.
      for (const job of yield* running) yield* finish(job, what === 2 ? "Failed" : "Complete")
      assert.deepStrictEqual(made(), expected)
    }
    assert.isAbove(expected.length, 20)
    assert.isAtMost((yield* all(Job)).length, 5, "finished Jobs are forgotten")
  }).pipe(Effect.scoped, Effect.provide(bare), Random.withSeed("year")))

for (
  const [what, begin, expected] of [
    ["skips", "2026-03-28T12:00:00Z", ["2026-03-30T00:30:00Z"]],
    ["repeats", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]]
  ] as const
) {
  it.effect(`half past two in the night whose clock ${what} it, with the operator up all the time`, () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse(begin))
      yield* create({ schedule: "30 2 * * *", timeZone: berlin })
      yield* up(1.75 * day)
      assert.deepStrictEqual(yield* slots, [...expected])
    }).pipe(Effect.provide(bare)))
}

it.effect("after an outage the last slot that was missed is made up for, unless it is too late", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(from)
    yield* create({})
    yield* up(10 * minute)
    assert.deepStrictEqual(yield* slots, [], "nothing that was due before it was made")
    yield* TestClock.adjust(3 * hour)
    yield* up(10 * minute)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T03:00:00Z"])
    const [job] = yield* all(Job)
    assert.strictEqual(job!.metadata.name, `report-${Date.UTC(2026, 0, 1, 3) / 1000}`, "named after when it was due")
    yield* change({ startingDeadlineSeconds: 600 })
    yield* TestClock.adjust(2 * hour)
    yield* up(10 * minute)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T03:00:00Z"])
  }).pipe(Effect.provide(bare)))

it.effect("Forbid waits for the Job that runs, Replace ends it, Allow does not mind", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(from)
    yield* Layer.build(operator)
    yield* create({ concurrencyPolicy: "Forbid" })
    yield* TestClock.adjust(2 * hour + minute)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T01:00:00Z"])
    const [first] = yield* all(Job)
    yield* finish(first!, "Complete")
    yield* TestClock.adjust(minute)
    assert.deepStrictEqual(
      yield* slots,
      ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"],
      "late, once the other is done"
    )

    yield* change({ concurrencyPolicy: "Replace" })
    yield* TestClock.adjust(hour)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T01:00:00Z", "2026-01-01T03:00:00Z"])
    yield* change({ concurrencyPolicy: "Allow" })
    yield* TestClock.adjust(hour)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T01:00:00Z", "2026-01-01T03:00:00Z", "2026-01-01T04:00:00Z"])
    const [{ status }] = (yield* all(KronJob)) as [KronJob]
    assert.deepStrictEqual(
      status!.active.map(({ name }) => name),
      (yield* running).map(({ metadata }) => metadata.name)
    )
    assert.deepInclude(status!, {
      lastScheduleTime: "2026-01-01T04:00:00Z",
      lastSuccessfulTime: "2026-01-01T02:01:00Z"
    })
  }).pipe(Effect.scoped, Effect.provide(bare)))

it.effect("keeps as much history as it is told to, and for as long; one status write for each run and each end", () =>
  Effect.gen(function*() {
    const server = yield* ApiServer.ApiServer
    yield* TestClock.setTime(from)
    yield* Layer.build(operator)
    yield* create({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1, completedJobsExpirySeconds: 4 * 3600 })
    for (const how of ["Failed", "Complete", "Failed", "Complete", "Complete"] as const) {
      yield* TestClock.adjust(hour)
      for (const job of yield* running) yield* finish(job, how)
    }
    yield* TestClock.adjust(minute)
    assert.deepStrictEqual(yield* slots, [3, 4, 5].map((hour) => `2026-01-01T0${hour}:00:00Z`))
    assert.isAtMost((yield* server.requestCounts)["patch kronjobs/status"] ?? 0, 11)
    yield* change({ suspend: true })
    yield* TestClock.adjust(2.5 * hour)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T04:00:00Z", "2026-01-01T05:00:00Z"], "the failed one has expired")
    yield* TestClock.adjust(2 * hour)
    assert.deepStrictEqual(yield* slots, [])
    yield* assertQuiet
  }).pipe(Effect.scoped, Effect.provide(bare)))

it.effect("@every counts from when the KronJob was made, and an outage makes up for the last that was missed", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(from + 17_000)
    yield* create({ schedule: "@every 1h30m" })
    yield* up(3.1 * hour)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T01:30:17Z", "2026-01-01T03:00:17Z"])
    yield* TestClock.adjust(4 * hour)
    yield* up(minute)
    assert.deepStrictEqual(yield* slots, ["2026-01-01T01:30:17Z", "2026-01-01T03:00:17Z", "2026-01-01T06:00:17Z"])
  }).pipe(Effect.provide(bare)))

it.effect("what is no schedule starts nothing and is reported", () =>
  Effect.gen(function*() {
    yield* Layer.build(operator)
    yield* create({ schedule: "now and then" })
    yield* TestClock.adjust(hour)
    const [{ status }] = (yield* all(KronJob)) as [KronJob]
    assert.deepInclude(status!.conditions[0], {
      status: "False",
      reason: "InvalidSchedule",
      message: `spec.schedule: "now and then": Invalid number of segments in cron expression: ${remedy}`
    })
    yield* assertQuiet
  }).pipe(Effect.scoped, Effect.provide(bare)))

it.effect("a crash at any write neither loses a run nor makes one twice, whatever the policy", () =>
  Effect.gen(function*() {
    for (const concurrencyPolicy of ["Allow", "Forbid", "Replace"] as const) {
      for (let n = 1; n <= 3; n++) {
        yield* Effect.gen(function*() {
          const { made } = yield* runs
          yield* TestClock.setTime(from)
          yield* create({ concurrencyPolicy })
          assert.strictEqual(yield* crashAtWrite(example, n, TestClock.adjust(hour + minute)), n)
          yield* up(minute)
          assert.deepStrictEqual(yield* slots, ["2026-01-01T01:00:00Z"])
          assert.isAtMost(made().length, 1)
          const [{ status }] = (yield* all(KronJob)) as [KronJob]
          assert.strictEqual(status!.lastScheduleTime, "2026-01-01T01:00:00Z")
          assert.strictEqual(status!.active.length, 1)
        }).pipe(Effect.scoped, Effect.provide(bare))
      }
    }
  }))

it.effect("with Jobs that run and end: each minute one Pod, and all of it goes with the KronJob", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create({ schedule: "* * * * *", successfulJobsHistoryLimit: 2 })
    yield* TestClock.adjust("10 minutes")
    const jobs = yield* all(Job)
    const succeeded = jobs.filter(({ status }) => status?.succeeded === 1)
    assert.deepStrictEqual([succeeded.length, jobs.length], [2, 3], "two that are kept, and the one that is due now")
    assert.isAtMost((yield* all(Pod)).length, 3)
    yield* client.delete(KronJob, key)
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual([...yield* all(Job), ...yield* all(Pod)], [])
    yield* assertQuiet
  }).pipe(Effect.provide(
    operator.pipe(Layer.provideMerge(
      TestCluster.layer({ resources: [KronJob], kubelet: { ending: () => ({ exitCode: 0, after: "10 seconds" }) } })
    ))
  )))
