/**
 * `PingPong`: no object alternates between two contents.
 *
 * The status of a custom resource may, because it follows what others do, such as a rollout in which one Pod after the
 * other is not ready for a while.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { blinded, blindFor } from "../recording/Excuses.ts"
import { isElection, isEvent } from "../recording/Fault.ts"
import { accepted, type Call, calls, cited } from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

const isApply = ({ headers }: Call["request"]): boolean => headers["content-type"]?.includes("apply-patch") === true

/**
 * Whether a value contains all of another exactly. Lists must be equal, although the server may add defaults to their
 * items.
 */
const has = (value: unknown, part: unknown): boolean =>
  isObject(part) && isObject(value)
    ? Object.entries(part).every(([key, item]) => has(value[key], item))
    : JSON.stringify(value ?? null) === JSON.stringify(part ?? null)

/** Whether a merge patch sets only what is already there. */
const isThere = ({ object, request: { body, headers } }: Call): boolean =>
  headers["content-type"]?.includes("application/merge-patch") === true && has(object, body)

export const noPingPong: Oracle = {
  name: "no ping-pong",
  judge: (run) => {
    const all = calls(run)
    const own = new Set(all.flatMap(({ object }) => object?.metadata.resourceVersion ?? []))
    const byOthers = run.entries.flatMap((entry) =>
      entry._tag === "Change" && !own.has(String(entry.change.revision)) ? [entry.change.revision] : []
    )
    const last = new Map<string, number>()
    const given = new Map<string, Array<Call>>()
    const blind = blinded(run)
    for (const call of all) {
      const { at, object } = call
      if (object === undefined || !accepted(call) || isEvent(call.request.path) || isElection(call.request)) continue
      // An operator that sees an old state for half a minute repeats itself for as long.
      if (blind.some((since) => at >= since && at <= since + blindFor)) continue
      // Applying or merging what is already there, and deleting what is being deleted, are normal requests that change
      // nothing.
      if (call.before === call.after && (call.request.method === "DELETE" || isApply(call.request) || isThere(call))) {
        continue
      }
      const { uid } = object.metadata
      const since = last.get(uid) ?? 0
      last.set(uid, call.after)
      const follows = run.kinds.includes(object.kind) && call.request.path.endsWith("/status") &&
        byOthers.some((revision) => revision > since && revision <= call.before)
      if (follows) continue
      const before = given.get(uid)
      if (before === undefined) given.set(uid, [call])
      else before.push(call)
    }
    for (const some of given.values()) {
      const found = again(some, 3 + run.met)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** The content that a write gave an object, without timestamps and versions. */
const contentOf = (object: KubeObject): string => {
  const { generation: _, managedFields: __, resourceVersion: ___, ...metadata } = object.metadata
  return JSON.stringify({ ...object, metadata }).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "")
}

/** Whether writes alternately give an object the same content and others, more often than `most`. */
const again = (writes: ReadonlyArray<Call>, most: number): string | undefined => {
  if (writes.length <= most) return undefined
  const times = new Map<string, number>()
  for (const call of writes) {
    const { object } = call
    const text = contentOf(object!)
    const count = (times.get(text) ?? 0) + 1
    times.set(text, count)
    if (times.size > 1 && count > most) {
      return `${name(object!)} was given the same content ${count} times, last by ${cited(call)}${
        writes.some(({ after, before }) => before === after)
          ? " (some of these writes changed nothing: write only what differs, apart from the server's defaults, or apply it)"
          : ""
      }`
    }
  }
  return undefined
}
