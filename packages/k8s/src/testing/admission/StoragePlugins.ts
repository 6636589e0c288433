/**
 * `StoragePlugins`: default classes of claims and ingresses, protection finalizers of volumes, and the sizes of claims.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/admission/storage and plugin/pkg/admission/network/defaultingressclass.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Admission from "../Admission.ts"
import * as Quantity from "../../api/Quantity.ts"
import * as Derived from "./Derived.ts"

const claims = "persistentvolumeclaims"
const storageClasses = "storageclasses.storage.k8s.io"
const ingressClasses = "ingressclasses.networking.k8s.io"
const ingresses = "ingresses.networking.k8s.io"

/** The newest object with one of the annotations set to `"true"`; among equally new ones, the first by name. */
const newestMarked = (objects: ReadonlyArray<KubeObject>, ...annotations: ReadonlyArray<string>): string | undefined =>
  objects
    .filter(({ metadata }) => annotations.some((annotation) => metadata.annotations?.[annotation] === "true"))
    .map(({ metadata }) => metadata)
    .sort((a, b) =>
      a.creationTimestamp === b.creationTimestamp
        ? (a.name < b.name ? -1 : 1)
        : a.creationTimestamp > b.creationTimestamp
        ? -1
        : 1
    )[0]?.name

const isNew = ({ operation, resource, subresource }: Admission.Attributes, collection: string): boolean =>
  operation === "CREATE" && subresource === "" && resource.collection === collection

const withSpec = (object: KubeObject, fields: object): KubeObject =>
  asObject({ ...object, spec: { ...objectAt(object, "spec"), ...fields } })

const self = (object: KubeObject): KubeObject => object

/** `DefaultStorageClass`. */
export const defaultStorageClass = ({ storage }: Admission.Server): Admission.Plugin => {
  const classes = Derived.collection(storage, storageClasses, self)
  return {
    name: "DefaultStorageClass",
    handles: (attributes) => isNew(attributes, claims) && classes().length > 0,
    mutate: (_, claim) => {
      const has = at(claim, "spec", "storageClassName") !== undefined ||
        claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] !== undefined
      const name = has ? undefined : newestMarked(
        classes(),
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class"
      )
      return Effect.succeed(name === undefined ? claim : withSpec(claim, { storageClassName: name }))
    }
  }
}

/** `DefaultIngressClass`. */
export const defaultIngressClass = ({ storage }: Admission.Server): Admission.Plugin => {
  const classes = Derived.collection(storage, ingressClasses, self)
  return {
    name: "DefaultIngressClass",
    handles: (attributes) => isNew(attributes, ingresses) && classes().length > 0,
    mutate: (_, ingress) => {
      const has = at(ingress, "spec", "ingressClassName") !== undefined ||
        ingress.metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined
      const name = has ? undefined : newestMarked(classes(), "ingressclass.kubernetes.io/is-default-class")
      return Effect.succeed(name === undefined ? ingress : withSpec(ingress, { ingressClassName: name }))
    }
  }
}

const protections: Readonly<Record<string, string>> = {
  [claims]: "kubernetes.io/pvc-protection",
  persistentvolumes: "kubernetes.io/pv-protection",
  "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection"
}

/** `StorageObjectInUseProtection`: adds a finalizer, which a controller removes when the object is no longer in use. */
export const storageObjectInUseProtection = (): Admission.Plugin => ({
  name: "StorageObjectInUseProtection",
  handles: (attributes) =>
    protections[attributes.resource.collection] !== undefined && isNew(attributes, attributes.resource.collection),
  mutate: ({ resource }, object) => {
    const finalizer = protections[resource.collection]!
    const finalizers = object.metadata.finalizers ?? []
    return Effect.succeed(
      finalizers.includes(finalizer)
        ? object
        : asObject({ ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } })
    )
  }
})

const sizeOf = (claim: unknown): string => String(at(claim, "spec", "resources", "requests", "storage") ?? "0")

const classOf = (claim: unknown): string =>
  stringAt(claim, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class") ||
  stringAt(claim, "spec", "storageClassName")

/** `PersistentVolumeClaimResize`: a claim can grow only if its class allows that. */
export const persistentVolumeClaimResize = ({ storage }: Admission.Server): Admission.Plugin => ({
  name: "PersistentVolumeClaimResize",
  handles: ({ operation, resource, subresource }) =>
    operation === "UPDATE" && subresource === "" && resource.collection === claims,
  validate: (attributes) => {
    const { object, oldObject } = attributes
    if (Quantity.compare(sizeOf(object), sizeOf(oldObject)) <= 0) return Effect.void
    const refuse = (why: string) => Effect.fail(Admission.forbidden(attributes, why))
    if (stringAt(oldObject, "status", "phase") !== "Bound") {
      return refuse("Only bound persistent volume claims can be expanded")
    }
    const name = classOf(object)
    const allowed = name !== "" && name === classOf(oldObject) &&
      at(storage.get(storageClasses, name), "allowVolumeExpansion") === true
    return allowed ? Effect.void : refuse(
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
    )
  }
})
