/**
 * `Trigger`: why a key is reconciled, and how deltas become keys.
 */
import { type Delta, objects } from "./Delta.ts"
import type { View } from "./internal/reads.ts"
import { keyString, type KubeObject } from "./KubeObject.ts"
import { nobody, type Watch } from "./Watch.ts"

/** Why a key is in the queue. The reconcile gets the reasons of all merged triggers. */
export type Reason =
  /** An object was added, updated or deleted: `Pod default/a`. */
  | { readonly _tag: "Added" | "Updated" | "Deleted"; readonly kind: string; readonly object: string }
  /** The last reconcile asked for another. */
  | { readonly _tag: "Requeue" }
  /** The last reconcile failed. */
  | { readonly _tag: "Retry" }
  /** The periodic resync of all objects. */
  | { readonly _tag: "Resync" }
  /** It belonged to another replica. */
  | { readonly _tag: "Handover" }
  /** Something outside the cluster or the watches requested it: the name of the `Source`. */
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

/** Identity of a reason: a repeated one is kept once. */
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
 * A copy, not a literal: from those that wait in a queue, V8 learns that objects of a literal live long, and would
 * allocate all of them, one per event, where only a collection of the whole heap finds them.
 */
const changeOf = (_tag: Change["_tag"], kind: string, object: string): Change => ({ ...blank, _tag, kind, object })

/**
 * Calls `add` for every key that the deltas concern, and `failed` for functions that throw. If a predicate throws, the
 * change passes: an extra reconcile does no harm. If a map function throws on one state, the other state is mapped all
 * the same, so that correcting an object wakes those it concerns now.
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
