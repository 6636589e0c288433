/** `Writes`: the operator's changes, one write after the other, each with the object before and after it. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isEvent } from "./Fault.ts"
import { type Call, calls, cited, type Entry, type Recording } from "./Recording.ts"

/** An object, for a person to read. */
export const name = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/** Identifies an object, except among its own predecessors and successors. */
export const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`

/** Whether the operator warns people, by an event. */
export const isWarning = (entry: Entry): boolean =>
  entry._tag === "Call" && isEvent(entry.request.path) &&
  (entry.object as { readonly type?: string } | undefined)?.type === "Warning"

/** A write of the operator that changed something: the object before and after it. */
export interface Write {
  readonly at: number
  readonly call: Call
  /** Undefined if the write created the object. */
  readonly before: KubeObject | undefined
  /** The last state, if it was deleted. */
  readonly after: KubeObject
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** Every object before the write, by uid. */
  readonly objects: ReadonlyMap<string, KubeObject>
}

/** The operator's writes, in order. A write is valid until the next one is taken. */
export function* writes(run: Recording): Generator<Write> {
  const made = new Map<number, Call>()
  for (const call of calls(run)) {
    if (call.after === call.before || call.request.method === "GET") continue
    const version = Number(call.object?.metadata.resourceVersion)
    // The objects of a collection are deleted one after the other.
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

/** Reports what is wrong with the first wrong write. */
export const each = (wrong: (write: Write) => string | undefined) => (run: Recording): string | undefined => {
  for (const write of writes(run)) {
    const complaint = wrong(write)
    if (complaint !== undefined) return `${complaint}: ${cited(write.call)}`
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
