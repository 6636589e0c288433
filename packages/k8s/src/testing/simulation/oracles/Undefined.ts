/**
 * `Undefined`: texts with a value in them that was not there when they were written: `http://undefined/home`, `NaN`.
 *
 * No compiler objects to a template with an `undefined` in it, and no server to the result. It is the same in every run,
 * so the ends do not differ. At rest there is no such text: what was missing is there by then, or is left out.
 *
 * Only single words count, because a message may speak of what is undefined, and a script may test for it.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { decoded } from "../recording/Base64.ts"
import { isEvent } from "../recording/Fault.ts"
import {
  accepted,
  type Call,
  calls,
  cited,
  madeByPeople,
  objectsAfter,
  type Recording
} from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import { entriesOf, itemsOf } from "../state/Outside.ts"
import type { Oracle } from "./Oracle.ts"

const missing = /(?<![A-Za-z])(?:undefined|NaN)(?![A-Za-z])|\[object Object\]|Invalid Date/

/** Whether a text is a single word with such a value in it. */
const isGap = (text: string): boolean =>
  missing.test(text) && !/\s/.test(text.replace("[object Object]", "").replace("Invalid Date", ""))

/** The first such text in a value, with its path. */
const gapIn = (value: unknown, path: string): readonly [path: string, text: string] | undefined => {
  if (typeof value === "string") {
    const text = decoded(value)
    return isGap(text) ? [path, text] : undefined
  }
  for (const [key, item] of entriesOf(value) ?? itemsOf(value)?.map((item) => ["", item] as const) ?? []) {
    const found = isGap(key) ? [path, key] as const : gapIn(item, key === "" ? path : `${path}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** What people ask for: an object without what the operator or the cluster reports. */
const askedIn = (object: KubeObject): unknown => {
  const { status: _, ...asked } = object as KubeObject & { readonly status?: unknown }
  return { ...asked, metadata: { ...asked.metadata, managedFields: undefined } }
}

/** Whether people use such words themselves. */
const isPeoples = ({ entries, kinds }: Recording): boolean => {
  const made = new Set(madeByPeople(entries))
  return entries.some((entry) =>
    entry._tag === "Change" &&
    (kinds.includes(entry.change.object.kind) || made.has(entry.change.object.metadata.uid)) &&
    missing.test(JSON.stringify(askedIn(entry.change.object)))
  )
}

/** The request of the operator that wrote a text. */
const writerOf = (run: Recording, { metadata: { uid } }: KubeObject, text: string): Call | undefined =>
  calls(run).find((call) =>
    accepted(call) && !isEvent(call.request.path) && call.object?.metadata.uid === uid &&
    [text, Buffer.from(text).toString("base64")].some((one) =>
      JSON.stringify(call.request.body ?? null).includes(JSON.stringify(one))
    )
  )

const judge = (run: Recording): string | undefined => {
  for (const step of run.steps.keys()) {
    for (const object of objectsAfter(run, step) ?? []) {
      const { managedFields: _, ...metadata } = object.metadata
      const found = gapIn({ ...object, metadata }, object.kind)
      const call = found && writerOf(run, object, found[1])
      if (call === undefined || found === undefined) continue
      return `${name(object)}: ${found[0]} is ${
        JSON.stringify(found[1])
      }, also when all is at rest: what should be in ` +
        `it was not there when it was written: ${cited(call)}`
    }
  }
  const kept = gapIn(run.outside, "outside")
  return kept && `${kept[0]}: ${JSON.stringify(kept[1])}: what should be in it was not there when it was written`
}

export const undefinedValues: Oracle = {
  name: "values are defined",
  judge: (run, { recording }) => {
    if (run !== recording || run.failure !== undefined) return undefined
    const complaint = judge(run)
    return complaint === undefined || isPeoples(run) ? undefined : complaint
  }
}
