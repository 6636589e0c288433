/**
 * `Due`: what is written because its time has come: work that is done once an hour or less often (a renewed certificate,
 * a report, a password rotation), and warnings that are repeated for as long as what they are about lasts.
 */
import { isEvent, isRead } from "../recording/Fault.ts"
import { type Call, calls, type Entry, type Recording } from "../recording/Recording.ts"

/** Minimum interval of such work, in milliseconds: an hour, less the offset between a schedule and its first time. */
const apart = 50 * 60_000

/** How long such work may take, in milliseconds: whatever is written meanwhile is part of it. */
const lasting = 5 * 60_000

/** What is written, by kind; the status is a part of its own. */
const partOf = ({ object, request: { path } }: Call): string | undefined =>
  object && `${object.kind}${/\/(?:status|scale)$/.exec(path)?.[0] ?? ""}`

/** Whether a write changes what was written before, and was not changed in between. */
export const isDue = (run: Recording, write: Entry): boolean => {
  if (write._tag !== "Call" || write.before === write.after) return false
  const part = partOf(write)
  if (part === undefined) return false
  const before = calls(run).findLast((call) =>
    call.at <= write.at - lasting && !isRead(call.request) && partOf(call) === part
  )
  return before !== undefined && before.at <= write.at - apart
}

/** What a Warning event is about, and why, whether or not it was accepted. */
const warningOf = (entry: Entry): string | undefined => {
  if (entry._tag !== "Call" || !isEvent(entry.request.path)) return undefined
  const { involvedObject, reason, regarding = involvedObject, type } =
    (entry.object ?? entry.request.body ?? {}) as Partial<
      Readonly<Record<"involvedObject" | "regarding", { readonly uid?: string }> & Record<"reason" | "type", string>>
    >
  return type === "Warning" ? `${regarding?.uid} ${reason}` : undefined
}

/** Whether it warns again of something that was warned of before everything had come to rest. */
export const isReminder = (run: Recording, write: Entry): boolean => {
  const warning = warningOf(write)
  return warning !== undefined &&
    calls(run).some((call) => call.at < (run.quietAt ?? 0) && warningOf(call) === warning)
}
