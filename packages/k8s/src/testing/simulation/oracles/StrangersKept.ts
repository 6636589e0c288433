/**
 * `StrangersKept`: what somebody else has (see `Strangers`) stays unchanged, whatever the operator does with the other
 * objects of the kind.
 */
import { met } from "../recording/Excuses.ts"
import { accepted, type Call, calls, cited, type Recording, seen } from "../recording/Recording.ts"
import { name, ownNamespaces, spared } from "../running/Strangers.ts"
import type { Oracle } from "./Oracle.ts"

/** Whether a request is about one of them. */
const isAbout = (path: string): boolean => path.split("/").includes(name)

/** Whether a Pod is removed from a cordoned node: draining a node removes all its Pods, whoever owns them. */
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

/**
 * Where the operator created objects of kinds that somebody else has too: `/api/v1/namespaces/default/configmaps`, with
 * the kind.
 */
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

/** Whether a request selects only part of a kind. */
const selects = ({ request: { query = [] } }: Call): boolean =>
  query.some(([key, value]) => (key === "labelSelector" || key === "fieldSelector") && (value ?? "") !== "")

export const strangersKept: Oracle = {
  name: "others' objects are untouched",
  judge: (run) => {
    if (!met(run, "stranger")) return undefined
    const since = run.entries.find((entry) => entry._tag === "Fault" && entry.point.fault === "stranger")!.at
    const all = places(run)
    // A deletion of the whole collection does not name the object.
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
      `the operator ${done} it (it treats all objects of the kind as its own): ${cited(write)}`
  }
}
