/**
 * `Trigger`: why a key is reconciled, and how deltas become keys.
 */
import { type Delta, objects } from "./Delta.ts"
import type { View } from "./internal/reads.ts"
import { keyString, type KubeObject } from "./KubeObject.ts"
import { nobody, type Watch } from "./Watch.ts"

/** Why a key is in the queue. The reasons of merged triggers travel together to the reconcile. */
export type Reason =
  /** An object came, changed or went: `Pod default/a`. */
  | { readonly _tag: "Added" | "Updated" | "Deleted"; readonly kind: string; readonly object: string }
  /** The last reconcile asked for another after a time. */
  | { readonly _tag: "Requeue" }
  /** The last reconcile failed. */
  | { readonly _tag: "Retry" }
  /** Everything is looked at again, from time to time. */
  | { readonly _tag: "Resync" }
  /** It was another replica's. */
  | { readonly _tag: "Handover" }
  /** Something outside the cluster, or outside its watches, asked for it: the name of the `Source`. */
  | { readonly _tag: "Source"; readonly source: string }

/** `Pod default/a added`. */
export const format = (reason: Reason): string => {
  switch (reason._tag) {
    case "Added":
    case "Updated":
    case "Deleted":
      return `${reason.kind} ${reason.object} ${reason._tag.toLowerCase()}`
    case "Source":
      return reason.source
    default:
      return reason._tag.toLowerCase()
  }
}

/** Identity of a reason: the same one twice is kept once. */
export const id = (reason: Reason): string =>
  "kind" in reason
    ? `${reason._tag} ${reason.kind} ${reason.object}`
    : reason._tag === "Source"
    ? `Source ${reason.source}`
    : reason._tag

/** Whether two reasons have the same identity. */
export const same = (a: Reason, b: Reason): boolean => {
  if (a === b) return true
  if (a._tag !== b._tag) return false
  if ("kind" in a) return "kind" in b && a.object === b.object && a.kind === b.kind
  return a._tag !== "Source" || (b._tag === "Source" && a.source === b.source)
}

type Change = Extract<Reason, { readonly kind: string }>

const blank: Change = { _tag: "Updated", kind: "", object: "" }

/**
 * A copy, not a literal: of those that wait in a queue V8 learns that what a literal makes lives long, and would put the
 * others, one for each event, beside them, where only a collection of the whole heap finds them.
 */
const changeOf = (_tag: Change["_tag"], kind: string, object: string): Change => ({ ...blank, _tag, kind, object })

/**
 * Calls `add` for every key the deltas concern. Of functions that throw `failed` is told. A predicate that does lets the
 * change pass: a reconcile too many does no harm. A map function that does is asked about the other state all the same,
 * so that who corrects an object wakes whom it concerns now.
 */
export const keys = (
  watch: Watch,
  deltas: ReadonlyArray<Delta>,
  add: (key: string, reason: Reason) => void,
  cache: View<string>,
  failed: (what: "predicate" | "map", object: KubeObject, defect: unknown) => void
): void => {
  for (const delta of deltas) {
    if (delta._tag === "Invalid" || watch.map === nobody || !passes(watch, delta, failed)) continue
    const reason = changeOf(delta._tag, watch.resource.kind, keyString(delta.object))
    const seen = new Set<string>()
    for (const object of objects<KubeObject>(delta)) {
      try {
        for (const target of watch.map(object, cache)) seen.add(keyString(target))
      } catch (defect) {
        failed("map", object, defect)
      }
    }
    for (const key of seen) add(key, reason)
  }
}

const passes = (
  { predicate }: Watch,
  delta: Exclude<Delta, { readonly _tag: "Invalid" }>,
  failed: Parameters<typeof keys>[4]
): boolean => {
  try {
    return predicate?.(delta) !== false
  } catch (defect) {
    failed("predicate", delta.object, defect)
    return true
  }
}
