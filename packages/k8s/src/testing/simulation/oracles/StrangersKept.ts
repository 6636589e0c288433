/**
 * `StrangersKept`: what somebody else has for himself (see `Strangers`) stays as it is, whatever the operator does with all
 * of its kind.
 */
import { met } from "../recording/Excuses.ts"
import { accepted, type Call, calls, line, type Recording, seen } from "../recording/Recording.ts"
import { name, ownNamespaces, spared } from "../running/Strangers.ts"
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

/** Where the operator has made what somebody else has, too: `/api/v1/namespaces/default/configmaps`, and of which kind. */
const places = (run: Recording): ReadonlyMap<string, string> => {
  const none = spared(run)
  const own = ownNamespaces(run, seen(run))
  return new Map(
    calls(run).flatMap(({ object, request: { method, path }, status }) => {
      if (status !== 201 || object === undefined) return []
      const { kind, metadata: { name: its, namespace } } = object
      if (namespace === undefined || own.has(namespace) || none.has(kind)) return []
      return [[method === "POST" ? path : path.slice(0, -its.length - 1), kind] as const]
    })
  )
}

/** Whether a request asks for a part of a kind only. */
const selects = ({ request: { query = [] } }: Call): boolean =>
  query.some(([key, value]) => (key === "labelSelector" || key === "fieldSelector") && (value ?? "") !== "")

export const strangersKept: Oracle = {
  name: "others' objects are untouched",
  judge: (run) => {
    if (!met(run, "stranger")) return undefined
    const since = run.entries.find((entry) => entry._tag === "Fault" && entry.point.fault === "stranger")!.at
    const all = places(run)
    // Who deletes all of a kind does not name it.
    const swept = (call: Call): string | undefined =>
      call.at >= since && call.request.method === "DELETE" && !selects(call) ? all.get(call.request.path) : undefined
    const write = calls(run).find((call) =>
      accepted(call) && (isAbout(call.request.path) || swept(call) !== undefined) && !isDrained(run, call)
    )
    if (write === undefined) return undefined
    const done = write.request.method === "DELETE" ? "deletes" : "changes"
    return `somebody else has created ${
      swept(write) ?? write.object?.kind ?? "an object"
    } ${name}, without an owner or a label, but ` +
      `the operator ${done} it (it treats all objects of the kind as its own): ${line(write.request)}`
  }
}
