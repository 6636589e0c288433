/**
 * `CronSchedule`: when a CronJob is due, and what was missed. Pure.
 *
 * A schedule has five fields with names, steps, lists and `?` for `*`, or is a macro: `@hourly`, `@daily`, …,
 * `@every 90m`. It may begin with `TZ=` or `CRON_TZ=`. If both day fields are restricted, a day needs to match only one
 * of them. Times in the hour that is skipped when clocks change do not occur that day; times in the hour that is
 * repeated occur twice.
 *
 * Source: github.com/robfig/cron/v3; k8s.io/kubernetes/pkg/controller/cronjob/utils.go.
 */
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as GoDuration from "../../schema/GoDuration.ts"
import * as CronFields from "./CronFields.ts"
import type { CronJob } from "../../kinds/batch.v1.ts"

/** `next`: the first time after a given one, in milliseconds; Infinity if there is none. */
export interface Schedule {
  readonly next: (after: number) => number
}

const macros: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *"
}

/** The whole seconds in a duration of Go such as `1h30m`, at least 1. */
const seconds = (text: string): number =>
  // Microseconds first: 4.35 hours are a little less than 261 minutes in floating point.
  Math.max(1, Math.floor(Math.round(GoDuration.millis(text) * 1000) / 1_000_000))

const every = (period: number): Schedule => ({ next: (after) => (Math.floor(after / 1000) + period) * 1000 })

/** Times that the clock of the zone skips are left out. */
const calendar = (cron: Cron.Cron): Schedule => ({
  next: (after) => {
    const found = Result.try(() => {
      for (let time = Cron.next(cron, new Date(after));; time = Cron.next(cron, time)) {
        if (Cron.match(cron, time)) return time.getTime()
      }
    })
    return Result.getOrElse(found, () => Infinity)
  }
})

export const isZone = (zone: string): boolean => Option.isSome(DateTime.zoneMakeNamed(zone))

/** A schedule that begins with `@`, which must be written exactly. */
const described = (text: string): Result.Result<Schedule | string, string> => {
  if (!text.startsWith("@every ")) {
    const expression = macros[text]
    return expression === undefined ? Result.fail(`unrecognized descriptor: ${text}`) : Result.succeed(expression)
  }
  const length = text.slice("@every ".length)
  const fault = GoDuration.fault(length)
  return fault === undefined
    ? Result.succeed(every(seconds(length)))
    : Result.fail(`failed to parse duration ${text}: ${fault}`)
}

/** Parses a schedule, or says why it is invalid. */
export const parse = (text: string, timeZone: string = "UTC"): Result.Result<Schedule, string> => {
  const [, zone = timeZone, after] = /^(?:CRON_)?TZ=([^ ]*) (.*)$/s.exec(text) ?? []
  if (!isZone(zone)) return Result.fail(`provided bad location ${zone}: unknown time zone ${zone}`)
  const rest = after?.trim() ?? text
  const read = rest.startsWith("@") ? described(rest) : Result.succeed(rest)
  return Result.flatMap(
    read,
    (schedule) =>
      typeof schedule !== "string" ?
        Result.succeed(schedule) :
        Result.flatMap(CronFields.read(schedule), (plain) =>
          Cron.parse(plain, zone, { onDstOverlap: "both" }).pipe(
            Result.map(calendar),
            Result.mapError(({ message }) => message)
          ))
  )
}

/** A time in the zone, as RFC 3339. */
export const zoned = (time: number, zone: string): string =>
  DateTime.formatIsoOffset(DateTime.makeZonedUnsafe(time, { timeZone: zone })).replace(".000", "").replace(
    "+00:00",
    "Z"
  )

/** The last scheduled time for which no Job was started, if any, and how many there were. */
export interface Missed {
  readonly time: number | undefined
  readonly count: number
  /** The time from which on scheduled times count. */
  readonly earliest: number
}

export const missed = (
  { metadata, spec, status }: CronJob,
  schedule: Schedule,
  now: number,
  limited: boolean
): Missed => {
  const start = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp)
  const deadline = limited ? now - (spec.startingDeadlineSeconds ?? Infinity) * 1000 : -Infinity
  const earliest = Math.max(start, deadline)
  const first = schedule.next(earliest)
  if (now < first) return { time: undefined, count: 0, earliest }
  const second = schedule.next(first)
  if (now < second) return { time: first, count: 0, earliest }
  // The number of times if all intervals were like the first one.
  const pace = Math.max(1000, second - first)
  const count = Math.floor((now - first) / pace) + 1
  let time: number | undefined
  for (let next = schedule.next(first + (count - 2) * pace); next <= now; next = schedule.next(next)) time = next
  return { time, count, earliest }
}

/** When to sync again: just after the next scheduled time. */
export const wakeAt = (cronJob: CronJob, schedule: Schedule, now: number): number => {
  const { count, earliest, time } = missed(cronJob, schedule, now, false)
  return schedule.next(time ?? (count === 0 ? earliest : now)) + 100
}
