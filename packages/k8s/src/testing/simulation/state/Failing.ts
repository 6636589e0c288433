/** `Failing`: reconciles that still fail when everything has come to rest, and why something is not as it should be. */
import { isEvent } from "../recording/Fault.ts"
import { accepted, type Recording } from "../recording/Recording.ts"

/** How long, in milliseconds, a fault may make reconciles fail: as long as the longest fault lasts. */
export const aftermath = 60_000

/** The last failure of a reconcile at rest that no fault explains any more. */
export const stillFails = ({ entries, quietAt }: Recording): string | undefined => {
  if (quietAt === undefined) return undefined
  // A program that polls meets some faults only when everything is at rest.
  const last = Math.max(...entries.flatMap((entry) => entry._tag === "Fault" ? [entry.at] : []))
  const failed = entries.findLast((entry) =>
    entry._tag === "Log" && entry.at > Math.max(quietAt, last + aftermath) && entry.text.startsWith("reconcile failed")
  )
  return failed?._tag === "Log" ? failed.text.split("\n")[0] : undefined
}

/** The last time that a reconcile was given up, if nothing has changed since. */
const givenUp = ({ entries }: Recording): string | undefined => {
  const at = entries.findLastIndex((entry) => entry._tag === "Log" && entry.text.startsWith("gave up"))
  const given = entries[at]
  const goesOn = entries.slice(at).some((entry) =>
    entry._tag === "Call" && entry.request.method !== "GET" && !isEvent(entry.request.path) && accepted(entry)
  )
  return given?._tag !== "Log" || goesOn ? undefined : given.text.split("\n")[0]
}

/** What is not as it should be, and why nothing corrects it, if a log line says so. */
export const because = (run: Recording): string => {
  const failure = stillFails(run) ?? givenUp(run)
  return failure === undefined ? "" : `; the log says: ${failure}`
}
