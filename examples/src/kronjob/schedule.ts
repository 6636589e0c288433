/**
 * When something is due: whenever the clock on the wall shows what the schedule says. What is in the hour that the clock
 * skips in spring is not done that day; what is in the hour that it shows twice in autumn is done twice. So do the
 * CronJobs of Kubernetes.
 */
import { Cron, Result } from "effect"

export interface Schedule {
  /** The first time after this one, in milliseconds; undefined if there is none. */
  readonly next: (after: number) => number | undefined
  /** The last time up to this one. */
  readonly last: (now: number) => number | undefined
}

/** The schedule of a text, or why it is none. */
export const parse = (text: string, timeZone = "UTC"): Result.Result<Schedule, string> =>
  Cron.parse(text, timeZone, { onDstOverlap: "both" }).pipe(
    Result.mapError(({ input, message }) => `${message}: ${input}`),
    Result.map((cron) => ({
      next: search(cron, Cron.next),
      last: (now) => search(cron, Cron.prev)(Math.floor(now / 1000) * 1000 + 1000)
    }))
  )

/** A time that the clock skips is found, moved to one that it shows, and does not match there. */
const search = (cron: Cron.Cron, step: (cron: Cron.Cron, from: Date) => Date) => (from: number): number | undefined =>
  Result.getOrUndefined(Result.try(() => {
    let time = step(cron, new Date(from))
    while (!Cron.match(cron, time)) time = step(cron, time)
    return time.getTime()
  }))
