/**
 * `ClaimRetention`: whose the volume claims of a StatefulSet are, so that the garbage collector takes them away when
 * `persistentVolumeClaimRetentionPolicy` says so.
 *
 * Claims to be deleted with the set belong to the set; claims to be deleted on scaling down belong to the Pod that is
 * condemned. References of an earlier set or Pod of the name are left alone: the claim is about to go. Pure.
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

/** True if the claim belongs to an earlier object of the owner's name. */
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

/** True if claims go when the set is scaled down. */
export const deletesScaled = (set: StatefulSet): boolean => policyOf(set).scaled

/** True if the claim is managed by somebody else, who then decides. */
export const isForeign = (claim: Claim, set: StatefulSet, pod: KubeObject): boolean => {
  const { deleted, scaled } = policyOf(set)
  return (deleted || scaled) && referencesOf(claim).some((reference) => {
    for (const owner of [set, pod]) {
      if (isNamed(reference, owner)) return reference.uid !== owner.metadata.uid
    }
    return reference.controller === true
  })
}

/** The owner a claim is to have. */
const ownerOf = (set: StatefulSet, pod: KubeObject, condemned: boolean): KubeObject | undefined => {
  const { deleted, scaled } = policyOf(set)
  if (scaled && condemned) return pod
  return deleted ? set : undefined
}

/** The owner references a claim is to have; undefined where it has them. */
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
