/**
 * `Writes`: what the operator has changed, one write after the other, each with the object before and after it.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { type Call, calls, line, type Recording } from "./Recording.ts"

/** An object for a person. */
export const name = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/** What tells an object from all others, but for those before and after it. */
export const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`

/** A write of the operator that changed something: the object before and after it. */
export interface Write {
  readonly at: number
  readonly call: Call
  /** Absent if the write made it. */
  readonly before: KubeObject | undefined
  /** What was left of it, if it was deleted. */
  readonly after: KubeObject
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** Every object before the write, by uid. */
  readonly objects: ReadonlyMap<string, KubeObject>
}

/** The operator's writes, in order; a write is good until the next is taken. */
export function* writes(run: Recording): Generator<Write> {
  const made = new Map<number, Call>()
  for (const call of calls(run)) {
    if (call.after === call.before || call.request.method === "GET") continue
    const version = Number(call.object?.metadata.resourceVersion)
    // A collection is deleted one object after the other.
    if (call.request.method === "DELETE") { for (let at = call.before + 1; at <= call.after; at++) made.set(at, call) }
    else made.set(version > call.before ? version : call.before + 1, call)
  }
  const objects = new Map<string, KubeObject>()
  for (const entry of run.entries) {
    if (entry._tag !== "Change") continue
    const { change: { object, revision, type } } = entry
    const { uid } = object.metadata
    const call = made.get(revision)
    if (call !== undefined) yield { at: entry.at, call, before: objects.get(uid), after: object, type, objects }
    if (type === "DELETED") objects.delete(uid)
    else objects.set(uid, object)
  }
}

/** Says of the first write that is wrong what is wrong with it. */
export const each = (wrong: (write: Write) => string | undefined) => (run: Recording): string | undefined => {
  for (const write of writes(run)) {
    const complaint = wrong(write)
    if (complaint !== undefined) return `${complaint}: ${line(write.call.request)}`
  }
  return undefined
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime?: string
  readonly observedGeneration?: number
}

/** The conditions in an object's status. */
export const conditionsOf = (object: KubeObject | undefined): ReadonlyArray<Condition> => {
  const { conditions } = (object as { readonly status?: { readonly conditions?: unknown } } | undefined)?.status ?? {}
  return Array.isArray(conditions) ? conditions : []
}
