/** The status of a Database, written for every generation, even if the server refuses its children. */
import { Conditions, type EventRecorder, KubeError, ObjectStatus, type Sync } from "@effect-operator/core"
import { Effect, Result } from "effect"
import * as Backups from "./backups.ts"
import { Database } from "./resource.ts"

export type Status = ObjectStatus.StatusOf<Database>

/** Without a schedule there is no condition: a False one would call for attention. */
const backupScheduled = (database: Database): ReadonlyArray<Conditions.Statement> => {
  const schedule = Backups.scheduleOf(database)
  if (schedule === undefined) return []
  const valid = Result.isSuccess(schedule)
  return [{
    type: "BackupScheduled",
    status: valid,
    reason: valid ? "Scheduled" : "InvalidSchedule",
    message: valid ? `${database.spec.backup?.schedule} in UTC` : schedule.failure
  }]
}

/** Writes the status with its conditions, for the generation that was read. Returns the object as written. */
export const say = Effect.fnUntraced(function*(
  database: Database,
  status: Status,
  ready: Omit<Conditions.Statement, "type">,
  events: EventRecorder.EventRecorder
) {
  const { metadata, spec } = database
  const refused = spec.image === status.rejectedImage
  const backups = backupScheduled(database)
  const conditions = yield* Conditions.state(
    database,
    backups.length === 0 ? Conditions.remove(status.conditions, "BackupScheduled") : status.conditions,
    { type: "Ready", ...ready },
    {
      type: "UpToDate",
      status: spec.image === status.image,
      reason: refused ? "UpgradeRolledBack" : status.phase === "Upgrading" ? "Upgrading" : "Image",
      message: refused ? `could not upgrade to ${spec.image}` : `runs ${status.image}`
    },
    ...backups
  )
  const said = yield* ObjectStatus.write(Database, database, {
    ...status,
    observedGeneration: metadata.generation ?? 0,
    conditions
  })
  // Events come after the status: if that write fails, they are repeated with it.
  for (const { message = "", reason, status: valid, type } of backups) {
    if (valid || Conditions.get(status.conditions, type)?.message === message) continue
    yield* events.warning({ reason, note: message })
  }
  return said
})

/**
 * Reports that the server refuses the Database's children, by whom and why, for the refused generation: only people can
 * fix it. Retryable errors are not reported. The caller's error passes through and is retried, even if it could not be
 * reported.
 */
export const sayRefused = (
  database: Database,
  status: Status,
  error: KubeError.KubeError | Sync.NotOurs,
  events: EventRecorder.EventRecorder
) => {
  const kube = error instanceof KubeError.KubeError ? error : undefined
  if (kube?.isRetryable === true) return Effect.void
  const ready = { status: false, reason: kube?.reason._tag ?? error._tag, message: error.message }
  return Effect.ignore(say(database, { ...status, phase: "Blocked" }, ready, events), { log: "Debug" })
}
