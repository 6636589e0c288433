/**
 * `Due`: work that is done because its time has come, once an hour or less often: a renewed certificate, a report, a
 * password rotation.
 */
import { isRead } from "../recording/Fault.ts"
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
