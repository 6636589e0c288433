/**
 * `ClaimRetention`: the owners of a StatefulSet's volume claims, so that the garbage collector deletes them as
 * `persistentVolumeClaimRetentionPolicy` says.
 *
 * Claims that are deleted with the set are owned by the set; claims that are deleted on scaling down are owned by the
 * Pod that is being removed. References to an earlier set or Pod of the same name are left alone, since such a claim
 * will be deleted soon. Pure.
 *
 * Source: k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go.
 */
import { controllerReference, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import type { StatefulSet } from "../../kinds/apps.v1.ts"

type Claim = KubeObject

type References = ReadonlyArray<OwnerReference>

const referencesOf = ({ metadata }: Claim): References => metadata.ownerReferences ?? []

const isNamed = (reference: OwnerReference, owner: KubeObject): boolean =>
  reference.apiVersion === owner.apiVersion && reference.kind === owner.kind && reference.name === owner.metadata.name

const has = (claim: Claim, owner: KubeObject): boolean =>
  referencesOf(claim).some(({ uid }) => uid === owner.metadata.uid)

/** Whether the claim is owned by an earlier object with the owner's name. */
export const isStale = (claim: Claim, owner: KubeObject): boolean => {
  const named = referencesOf(claim).find((reference) => isNamed(reference, owner))
  return named !== undefined && named.uid !== owner.metadata.uid
}

interface Policy {
  readonly deleted: boolean
  readonly scaled: boolean
}

const policyOf = ({ spec }: StatefulSet): Policy => ({
  deleted: spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete",
  scaled: spec.persistentVolumeClaimRetentionPolicy?.whenScaled === "Delete"
})

/** Whether claims are deleted when the set is scaled down. */
export const deletesScaled = (set: StatefulSet): boolean => policyOf(set).scaled

/** Whether another controller manages the claim, and therefore decides. */
export const isForeign = (claim: Claim, set: StatefulSet, pod: KubeObject): boolean => {
  const { deleted, scaled } = policyOf(set)
  return (deleted || scaled) && referencesOf(claim).some((reference) => {
    for (const owner of [set, pod]) {
      if (isNamed(reference, owner)) return reference.uid !== owner.metadata.uid
    }
    return reference.controller === true
  })
}

/** The owner that a claim should have. */
const ownerOf = (set: StatefulSet, pod: KubeObject, condemned: boolean): KubeObject | undefined => {
  const { deleted, scaled } = policyOf(set)
  if (scaled && condemned) return pod
  return deleted ? set : undefined
}

/** The owner references that a claim should have; undefined if it has them. */
export const wanted = (
  claim: Claim,
  set: StatefulSet,
  pod: KubeObject,
  condemned: boolean
): References | undefined => {
  if (isStale(claim, set) || isStale(claim, pod)) return undefined
  const others = referencesOf(claim).filter((reference) => !isNamed(reference, set) && !isNamed(reference, pod))
  if (isForeign(claim, set, pod)) return has(claim, set) || has(claim, pod) ? others : undefined
  const owner = ownerOf(set, pod, condemned)
  const mine = referencesOf(claim).filter(({ uid }) => uid === set.metadata.uid || uid === pod.metadata.uid)
  const right = owner === undefined
    ? mine.length === 0
    : mine.length === 1 && mine[0]!.uid === owner.metadata.uid && mine[0]!.controller === true
  if (right) return undefined
  return owner === undefined ? others : [...others, controllerReference(owner)]
}
