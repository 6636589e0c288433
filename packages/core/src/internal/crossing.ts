/**
 * Owner references do not cross clusters: a garbage collector looks for the owner in its own cluster, does not find it,
 * and deletes the dependent. So the reconciled object is refused as the owner of an object in another cluster.
 */
import type { Mark } from "../Client.ts"
import { keyString, type KubeObject, type OwnerReference } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"

export const told = (dependent: Resource.Any, owner: Resource.Any, object: KubeObject): string =>
  `${dependent.id}: ${owner.kind} ${keyString(object)} cannot own it: it is not in its cluster, so the garbage ` +
  "collector would delete it: use an OwnerLabel, and clean up in finalize"

/** Marks what is written. Throws if it would be owned across clusters: a mistake in the program. */
export const guarded = (owner: Resource.Any, object: KubeObject, mark: Mark | undefined): Mark => (kind, written) => {
  if (kind.cluster !== owner.cluster) {
    const { ownerReferences } = written.metadata as { readonly ownerReferences?: ReadonlyArray<OwnerReference> }
    if (ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true) {
      throw new Error(told(kind, owner, object))
    }
  }
  return mark?.(kind, written) ?? written
}
