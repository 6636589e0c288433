/**
 * `ScaleEntries`: converts managedFields of an object to those of its Scale, and back.
 *
 * A Scale shows only the owners of the replicas, as owners of `.spec.replicas` in autoscaling/v1. After a write through
 * the Scale, a manager that lost the replicas there loses them in the object as well. The new owner gets a separate
 * entry in the object, with the subresource and without a time.
 *
 * Source: k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go.
 */
import * as FieldSet from "./FieldSet.ts"
import * as Managers from "./Managers.ts"
import * as PathElement from "./PathElement.ts"

/** The apiVersion of every Scale. */
export const scaleVersion = "autoscaling/v1"

const inScale = FieldSet.ofFields("spec", "replicas")
const scalePath: PathElement.Path = ["spec", "replicas"].map(PathElement.field)

/**
 * The path of the replicas in a version of an object: empty if it has no Scale, undefined if there is no such version.
 */
export type ReplicasPath = (apiVersion: string) => ReadonlyArray<string> | undefined

const pathIn = (replicas: ReplicasPath, apiVersion: string): PathElement.Path | undefined =>
  replicas(apiVersion)?.map(PathElement.field)

/** The managers of the Scale. */
export const toScale = (parent: Managers.Managers, replicas: ReplicasPath): Managers.Managers => {
  const out = new Map<string, Managers.Owner>()
  for (const owner of parent.values()) {
    const path = pathIn(replicas, owner.apiVersion)
    if (path === undefined || !FieldSet.has(owner.fields, path)) continue
    const scaled = { ...owner, apiVersion: scaleVersion, fields: inScale }
    out.set(Managers.identity(scaled), scaled)
  }
  return out
}

/** The managers of the object, in the version `apiVersion`, after its Scale has the given managers. */
export const toParent = (
  parent: Managers.Managers,
  scale: Managers.Managers,
  apiVersion: string,
  replicas: ReplicasPath
): Managers.Managers => {
  const left = new Map(scale)
  const out = new Map<string, Managers.Owner>()
  for (const [id, owner] of parent) {
    const path = pathIn(replicas, owner.apiVersion)
    if (path === undefined) continue
    if (!FieldSet.has(owner.fields, path) || left.delete(id)) {
      out.set(id, owner)
      continue
    }
    const fields = FieldSet.difference(owner.fields, FieldSet.of(path))
    if (!FieldSet.isEmpty(fields)) out.set(id, { ...owner, fields })
  }
  const path = pathIn(replicas, apiVersion)!
  for (const [id, owner] of left) {
    if (!FieldSet.has(owner.fields, scalePath)) continue
    const time = parent.get(id)?.time
    // With the identity it has in the Scale: an update by the same manager through the object is a separate entry.
    out.set(id, { ...owner, apiVersion, time, fields: FieldSet.of(path) })
  }
  return out
}
