/**
 * `Noted`: what people note on their own objects, or on what was made of them, in an annotation that nobody else knows,
 * changes nothing.
 *
 * An operator may look again, and say as of which version it has looked. One that takes an object's resourceVersion, or all
 * of its metadata, for its content makes new work of a note: another Job, all Pods anew. Whoever hands annotations on to
 * what it makes, does so rightly, and nobody can tell what is to follow from that.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isElected, touched } from "../recording/Fault.ts"
import { line, type Recording } from "../recording/Recording.ts"
import { name, type Write, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

/** When somebody has annotated all that people and the operator have made. */
const notedAt = ({ entries }: Recording): number | undefined =>
  entries.find((entry) => entry._tag === "Fault" && entry.point._tag === "Step" && entry.point.fault === "annotated")
    ?.at

/** What a write has done that lasts: more than to say something in a status, or on what is there. */
const lasting = ({ after, before, type }: Write): string | undefined => {
  if (after.kind === "Event" || isElected(after)) return undefined
  if (type === "ADDED") return "is created"
  if (type === "DELETED" || (isTerminating(after) && before !== undefined && !isTerminating(before))) {
    return "is deleted"
  }
  return (after.metadata.generation ?? 0) > (before?.metadata.generation ?? Infinity) ? "gets a new spec" : undefined
}

/** The notes of somebody on an object, or anywhere in it, sorted. */
const notesIn = (object: KubeObject | undefined): ReadonlyArray<string> =>
  object === undefined ? [] : (JSON.stringify(object).match(note) ?? []).toSorted()

const note = new RegExp(`"${touched}":"[^"]*"`, "g")

/** Whether the operator has put the note of somebody on what it wrote, which may have one already. */
const isHandedOn = ({ after, before }: Write): boolean => {
  const [now, then] = [notesIn(after), notesIn(before)]
  return now.length > then.length || now.some((one) => !then.includes(one))
}

/** Whether the operator hands annotations on. */
export const handsOn = (run: Recording): boolean => {
  const at = notedAt(run)
  if (at === undefined) return false
  for (const write of writes(run)) if (write.at >= at && isHandedOn(write)) return true
  return false
}

export const noted: Oracle = {
  name: "an annotation changes nothing",
  judge: (run) => {
    const at = notedAt(run)
    if (at === undefined || run.met > 1 || handsOn(run)) return undefined
    const until = run.steps.find((begin) => begin > at) ?? Infinity
    for (const write of writes(run)) {
      if (write.at < at || write.at >= until) continue
      const done = lasting(write)
      if (done === undefined) continue
      return `somebody annotates what people and the operator have made, which should change nothing, but ${
        name(write.after)
      } ${done} ` +
        `(resourceVersion changes with every write: compare what is in an object instead): ${line(write.call.request)}`
    }
    return undefined
  }
}
