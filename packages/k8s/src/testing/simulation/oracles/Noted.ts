/**
 * `Noted`: an annotation that people put on their own objects, or on what was created for them, and that nobody else
 * knows, changes nothing.
 *
 * An operator may reconcile again, and record the version it has seen. One that treats an object's resourceVersion, or
 * all of its metadata, as content does new work for a note: another Job, all Pods recreated. An operator that copies
 * annotations to what it creates is right to do so, and what follows from that is unknown.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isElected, touched } from "../recording/Fault.ts"
import { cited, type Recording } from "../recording/Recording.ts"
import { name, type Write, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

/** When somebody annotated everything that people and the operator created. */
const notedAt = ({ entries }: Recording): number | undefined =>
  entries.find((entry) => entry._tag === "Fault" && entry.point._tag === "Step" && entry.point.fault === "annotated")
    ?.at

/** The lasting effect of a write: more than a status, or a note on what exists. */
const lasting = ({ after, before, type }: Write): string | undefined => {
  if (after.kind === "Event" || isElected(after)) return undefined
  if (type === "ADDED") return "is created"
  if (type === "DELETED" || (isTerminating(after) && before !== undefined && !isTerminating(before))) {
    return "is deleted"
  }
  return (after.metadata.generation ?? 0) > (before?.metadata.generation ?? Infinity) ? "gets a new spec" : undefined
}

/** The notes on an object or anywhere in it, sorted. */
const notesIn = (object: KubeObject | undefined): ReadonlyArray<string> =>
  object === undefined ? [] : (JSON.stringify(object).match(note) ?? []).toSorted()

const note = new RegExp(`"${touched}":"[^"]*"`, "g")

/** Whether the operator put a note on what it wrote, which may have had one before. */
const isHandedOn = ({ after, before }: Write): boolean => {
  const [now, then] = [notesIn(after), notesIn(before)]
  return now.length > then.length || now.some((one) => !then.includes(one))
}

/** Whether the operator copies annotations. */
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
        `(resourceVersion changes with every write: compare what is in an object instead): ${cited(write.call)}`
    }
    return undefined
  }
}
