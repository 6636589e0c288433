/**
 * `Delta`: one real change of an object in a cache, with its previous state.
 *
 * The reflector's store makes deltas, and triggers turn them into keys. A relist yields deltas only for what differs.
 */
import type { KubeObject } from "./KubeObject.ts"

export type Delta<A extends KubeObject = KubeObject> =
  | { readonly _tag: "Added"; readonly object: A }
  | { readonly _tag: "Updated"; readonly old: A; readonly object: A }
  | { readonly _tag: "Deleted"; readonly object: A }
  /**
   * The object does not decode and is not in the cache. If it had a good state, the `Deleted` of that came just before.
   */
  | { readonly _tag: "Invalid"; readonly raw: KubeObject; readonly issues: ReadonlyArray<string> }

/** The states whose relations a delta can affect: for an update, both the old and the new one. */
export const objects = <A extends KubeObject>(delta: Delta<A>): ReadonlyArray<A> => {
  switch (delta._tag) {
    case "Updated":
      return [delta.old, delta.object]
    case "Invalid":
      return []
    default:
      return [delta.object]
  }
}
