/**
 * `Due`: work that is done because its time has come, once an hour or less often: a certificate that is issued again, a
 * report, a password that changes.
 */
import { type Call, calls, type Entry, type Recording } from "../recording/Recording.ts"

/** How long, in milliseconds, such work is apart at least: an hour, less what a schedule and its first time differ by. */
const apart = 50 * 60_000

/** How long, in milliseconds, it may take: what is written meanwhile belongs to it. */
const lasting = 5 * 60_000

/** What of which kind is written: a status is something of its own. */
const partOf = ({ object, request: { path } }: Call): string | undefined =>
  object && `${object.kind}${/\/(?:status|scale)$/.exec(path)?.[0] ?? ""}`

/** Whether a write changes what was written before, and not in between. */
export const isDue = (run: Recording, write: Entry): boolean => {
  if (write._tag !== "Call" || write.before === write.after) return false
  const part = partOf(write)
  if (part === undefined) return false
  const before = calls(run).findLast((call) =>
    call.at <= write.at - lasting && call.request.method !== "GET" && partOf(call) === part
  )
  return before !== undefined && before.at <= write.at - apart
}
