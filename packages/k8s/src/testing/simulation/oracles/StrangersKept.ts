/**
 * `StrangersKept`: what somebody else has for himself (see `Strangers`) stays as it is, whatever the operator does with all
 * of its kind.
 */
import { met } from "../recording/Excuses.ts"
import { accepted, type Call, calls, line, type Recording } from "../recording/Recording.ts"
import { name } from "../running/Strangers.ts"
import type { Oracle } from "./Oracle.ts"

/** Whether a request is about one of them. */
const isAbout = (path: string): boolean => path.split("/").includes(name)

/** Whether a Pod is taken from nodes that are closed: who empties a node has all Pods go, whosever they are. */
const isDrained = ({ entries }: Recording, { at, request: { method, path } }: Call): boolean => {
  if (!path.includes("/pods/") || !(method === "DELETE" || path.endsWith("/eviction"))) return false
  const nodes = new Map<string, boolean>()
  for (const entry of entries) {
    if (entry.at > at) break
    if (entry._tag !== "Change" || entry.change.object.kind !== "Node") continue
    const { spec } = entry.change.object as { readonly spec?: { readonly unschedulable?: boolean } }
    nodes.set(entry.change.object.metadata.uid, entry.change.type !== "DELETED" && spec?.unschedulable === true)
  }
  return [...nodes.values()].includes(true)
}

export const strangersKept: Oracle = {
  name: "what is somebody else's is let alone",
  judge: (run) => {
    if (!met(run, "stranger")) return undefined
    const write = calls(run).find((call) => accepted(call) && isAbout(call.request.path) && !isDrained(run, call))
    if (write === undefined) return undefined
    const done = write.request.method === "DELETE" ? "deletes" : "changes"
    return `somebody else has ${
      write.object?.kind ?? "an object"
    } ${name} for himself, without an owner or a label, and ` +
      `the operator ${done} it (it takes all of a kind for its own): ${line(write.request)}`
  }
}
