/** Scheduled backups: when they are due, and how they are made. */
import type { EventRecorder } from "@effect-operator/core"
import { Clock, Effect, Result } from "effect"
import { parse, type Schedule } from "../kronjob/schedule.ts"
import type { Database } from "./resource.ts"
import * as Tasks from "./tasks.ts"

/** The schedule of the backups, or why it is invalid; undefined if no backups are wanted. */
export const scheduleOf = ({ metadata, spec }: Database): Result.Result<Schedule, string> | undefined =>
  spec.backup === undefined
    ? undefined
    : Result.mapError(
      parse(spec.backup.schedule, { since: Date.parse(metadata.creationTimestamp) }),
      (why) => `spec.backup.${why}`
    )

/** Makes a backup if one is due. Returns in how many milliseconds to reconcile again. */
export const scheduled = Effect.fnUntraced(function*(database: Database, events: EventRecorder.EventRecorder) {
  const parsed = scheduleOf(database)
  if (parsed === undefined || Result.isFailure(parsed)) return undefined
  const now = yield* Clock.currentTimeMillis
  const due = parsed.success.last(now)
  let wait = Infinity
  if (due !== undefined && due > Date.parse(database.metadata.creationTimestamp)) {
    const { name, outcome } = yield* Tasks.backup(database, `at-${due / 1000}`)
    if (outcome === "Failed") yield* events.warning({ reason: "BackupFailed", note: `${name} could not be made` })
    if (outcome === "Running") wait = Tasks.patience
  }
  return Math.min(wait, (parsed.success.next(now) ?? Infinity) - now)
})
