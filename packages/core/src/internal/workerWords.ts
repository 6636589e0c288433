/** What a worker says in its log lines about a reconcile, its cause or its result. */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import type { Write } from "../Client.ts"
import type { Controller } from "../Controller.ts"
import { keyString } from "../KubeObject.ts"

/** The annotations of a log line, under controller-runtime's names. */
export const annotations = (controller: Pick<Controller, "name" | "resource">, key: string, reconcileID: string) => {
  const slash = key.indexOf("/")
  const { name, resource: { group, kind } } = controller
  const whose = { controller: name, controllerGroup: group, controllerKind: kind }
  return slash < 0
    ? { ...whose, name: key, reconcileID }
    : { ...whose, namespace: key.slice(0, slash), name: key.slice(slash + 1), reconcileID }
}

/** The engine's error about a frozen object does not mention caches. */
export const remedy = (cause: Cause.Cause<unknown>): string =>
  cause.reasons.some((reason) =>
      reason._tag === "Die" && reason.defect instanceof TypeError &&
      /read only property|not extensible|Cannot delete property/.test(reason.defect.message)
    )
    ? " (objects from a cache are frozen: change a copy, { ...object, spec: { ...object.spec, … } })"
    : ""

/** A value in a few words. */
export const told = (value: unknown): string =>
  value instanceof Promise
    ? "a Promise"
    : typeof value === "function"
    ? "a function"
    : shown(value)

const shown = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    // A cycle, a bigint, a getter that throws.
    return Object.prototype.toString.call(value)
  }
}

/** What a reconcile has created and deleted again, and the remedy. */
export const undone = (writes: ReadonlyArray<Write>): string | undefined => {
  const made = new Set(writes.flatMap((write) => write._tag === "Written" ? [write.object.metadata.uid] : []))
  for (const write of writes) {
    if (write._tag === "Written" || write._tag === "Changed" || write.uid === undefined || !made.has(write.uid)) {
      continue
    }
    return `it deletes ${write.resource.kind} ${keyString(write.key)}, which it has just written: ` +
      "pass all wanted children of a kind to one call of Sync"
  }
  return undefined
}

/** The failure in one line. */
export const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error instanceof Error ? error.message : Cause.pretty(cause)
}
