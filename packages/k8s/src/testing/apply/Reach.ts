/**
 * `Reach`: which fields a write through an endpoint can change, and so own.
 *
 * Fields that the kind's strategy resets have no owner: the status in a write to the object, the spec in a write to the
 * status. Which fields are reset depends on the kind and applies per version: for custom resources, fields tracked in
 * another version are not filtered.
 *
 * Source: `GetResetFields` of k8s.io/kubernetes/pkg/registry/GROUP/KIND/strategy.go and of
 * k8s.io/apiextensions-apiserver/pkg/registry/customresource.
 */
import * as FieldSet from "./FieldSet.ts"
import * as PathElement from "./PathElement.ts"

type Filter = (set: FieldSet.FieldSet) => FieldSet.FieldSet

const all: Filter = (set) => set

/** All fields except the given ones and those below them. */
const except = (...paths: ReadonlyArray<string>): Filter => {
  const excluded = FieldSet.of(...paths.map((path) => path.split(".").map(PathElement.field)))
  return (set) => FieldSet.isEmpty(set) ? set : FieldSet.differenceBelow(set, excluded)
}

const exceptStatus = except("status")
const exceptSpec = except("spec")
const exceptMetadata = except("metadata", "spec")

/** Status endpoints that reset more than the spec. */
const statuses: Readonly<Record<string, Filter>> = {
  "apiservices.apiregistration.k8s.io": exceptMetadata,
  "certificatesigningrequests.certificates.k8s.io": except("spec", "status.conditions"),
  "customresourcedefinitions.apiextensions.k8s.io": exceptMetadata,
  "deployments.apps": except("spec", "metadata.labels"),
  "devicetaintrules.resource.k8s.io": exceptMetadata,
  "flowschemas.flowcontrol.apiserver.k8s.io": exceptMetadata,
  pods: except("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": exceptMetadata,
  "resourceclaims.resource.k8s.io": exceptMetadata,
  "storageversionmigrations.storagemigration.k8s.io": exceptMetadata,
  "storageversions.internal.apiserver.k8s.io": exceptMetadata,
  "validatingadmissionpolicies.admissionregistration.k8s.io": exceptMetadata,
  "volumeattachments.storage.k8s.io": exceptMetadata
}

/**
 * Subresources of built-in kinds other than the status, by collection and subresource. The storage of `resize` and
 * `ephemeralcontainers` of a Pod does not offer the filters that their strategies have, so these reset nothing.
 */
const others: Readonly<Record<string, Readonly<Record<string, Filter>>>> = {
  namespaces: { finalize: exceptStatus },
  "certificatesigningrequests.certificates.k8s.io": {
    "": except("spec", "status"),
    approval: except("spec", "status.certificate")
  }
}

/** The fields that a write to an endpoint can change. `status`: whether the resource has a status subresource. */
export const of = (collection: string, subresource: string, status: boolean): Filter => {
  if (subresource === "status") return statuses[collection] ?? exceptSpec
  return others[collection]?.[subresource] ?? (subresource === "" && status ? exceptStatus : all)
}
