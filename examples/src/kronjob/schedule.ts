/**
 * Schedules by local time. As with the CronJobs of Kubernetes, a time in the hour that is skipped in spring does not
 * occur that day, and a time in the hour that is repeated in autumn occurs twice.
 *
 * Accepts every schedule of a CronJob: five fields, `?` for `*`, the names `@hourly`, `@daily`, …, and `@every 1h30m`,
 * which does not depend on local time. In addition, six fields, with seconds first.
 *
 * Source: github.com/robfig/cron/v3, parser.go and constantdelay.go.
 */
import { Cron, DateTime, Option, Result } from "effect"

export interface Schedule {
  /** The first scheduled time after `after`, in milliseconds; undefined if there is none. */
  readonly next: (after: number) => number | undefined
  /** The last scheduled time up to and including `now`, in milliseconds; undefined if there is none. */
  readonly last: (now: number) => number | undefined
}

export interface Options {
  /** The time zone; UTC by default. */
  readonly timeZone?: string | undefined
  /**
   * The start of the first `@every` period, in milliseconds; 0 by default. The first scheduled time is one period
   * later.
   */
  readonly since?: number | undefined
}

const named: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *"
}

const remedy =
  "write five fields, such as \"30 2 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly, \"@every 90m\""

/** Parses a schedule. The failure names the option, its value, the reason, and what to write instead. */
export const parse = (text: string, { since = 0, timeZone = "UTC" }: Options = {}): Result.Result<Schedule, string> => {
  const zone = Option.getOrUndefined(DateTime.zoneFromString(timeZone))
  if (zone === undefined) {
    return Result.fail(
      `timeZone: ${JSON.stringify(timeZone)}: there is no such zone: write one of the IANA database, such as ` +
        "\"Europe/Berlin\""
    )
  }
  return Result.mapError(
    read(text.trim(), zone, since),
    (why) => `schedule: ${JSON.stringify(text)}: ${why}: ${remedy}`
  )
}

const read = (text: string, zone: DateTime.TimeZone, since: number): Result.Result<Schedule, string> => {
  if (/^(CRON_)?TZ=/.test(text)) return Result.fail("a time zone has no place in it")
  if (/^@every\s/.test(text)) {
    return Result.map(millis(text.replace(/^@every\s+/, "")), (period) => every(period, since))
  }
  // `?` may stand for a whole field or for an element of a list.
  const fields = named[text] ?? text.replaceAll(/(?<![^\s,])\?(?![^\s,/])/g, "*")
  if (fields.startsWith("@")) return Result.fail("there is no such name for a schedule")
  return Cron.parse(fields, zone, { onDstOverlap: "both" }).pipe(
    Result.mapError(({ input, message }) => input === fields ? message : `${message} (${input})`),
    Result.map((cron) => ({
      next: search(cron, Cron.next),
      last: (now) => search(cron, Cron.prev)(Math.floor(now / 1000) * 1000 + 1000)
    }))
  )
}

/** For a time that is skipped, `Cron` returns a later one, which does not match the schedule. */
const search = (cron: Cron.Cron, step: (cron: Cron.Cron, from: Date) => Date) => (from: number): number | undefined =>
  Result.getOrUndefined(Result.try(() => {
    let time = step(cron, new Date(from))
    while (!Cron.match(cron, time)) time = step(cron, time)
    return time.getTime()
  }))

const units: Readonly<Record<string, number>> = { h: 3.6e6, m: 6e4, s: 1e3, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }

/** The largest duration that Go can represent, 2^63 nanoseconds, in milliseconds. */
const longest = 2 ** 63 / 1e6

/** Parses a duration into milliseconds, truncated to whole seconds, at least one second. */
const millis = (text: string): Result.Result<number, string> => {
  if (!/^((\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns))+$/.test(text)) {
    return Result.fail(`${JSON.stringify(text)} is no duration, such as 90m or 1h30m`)
  }
  const parts = [...text.matchAll(/([\d.]+)([a-zµ]+)/g)]
  const sum = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0)
  return sum > longest
    ? Result.fail(`${JSON.stringify(text)} is longer than 292 years`)
    : Result.succeed(Math.max(1, Math.floor(sum / 1000)) * 1000)
}

const every = (period: number, since: number): Schedule => {
  const periods = (time: number) => Math.max(0, Math.floor((time - since) / period))
  return {
    next: (after) => since + (periods(after) + 1) * period,
    last: (now) => periods(now) === 0 ? undefined : since + periods(now) * period
  }
}
