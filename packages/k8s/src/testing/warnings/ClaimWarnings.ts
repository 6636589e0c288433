/**
 * `ClaimWarnings`: warnings about amounts of storage, claims and volumes.
 *
 * Source: k8s.io/kubernetes/pkg/api/persistentvolumeclaim/util.go, pkg/api/persistentvolume/util.go and
 * pkg/api/storage/util.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as Quantity from "../../api/Quantity.ts"
import * as NodeLabelWarnings from "./NodeLabelWarnings.ts"

type Warnings = NodeLabelWarnings.Warnings

/** Warns about a fractional number of bytes. */
export const ofBytes = (path: string, value: unknown): Warnings => {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : ""
  return text !== "" && Quantity.billionths(text) % 1_000_000_000n !== 0n
    ? [`${path}: fractional byte value "${Quantity.canonical(text) ?? text}" is invalid, must be an integer`]
    : []
}

export const ofClaimSpec = (spec: unknown, path: string): Warnings =>
  ["requests", "limits"].flatMap((part) =>
    ofBytes(`${path}.resources.${part}[storage]`, at(spec, "resources", part, "storage"))
  )

const annotation = (object: KubeObject, key: string, message: string): Warnings =>
  object.metadata.annotations?.[key] === undefined ? [] : [`metadata.annotations[${key}]: ${message}`]

const ofClass = (object: KubeObject): Warnings =>
  annotation(
    object,
    "volume.beta.kubernetes.io/storage-class",
    `deprecated since v1.8; use "storageClassName" attribute instead`
  )

export const ofClaim = (claim: KubeObject): Warnings => [
  ...ofClass(claim),
  ...ofClaimSpec(at(claim, "spec"), "spec")
]

/** Removed volume plugins, in the order of their warnings. */
const gone: ReadonlyArray<readonly [source: string, since: string, until: string]> = [
  ["cephfs", "1.28", "1.31"],
  ["photonPersistentDisk", "1.11", "1.16"],
  ["scaleIO", "1.16", "1.22"],
  ["storageos", "1.22", "1.25"],
  ["glusterfs", "1.25", "1.26"],
  ["rbd", "1.28", "1.31"]
]

/** Here the name of the internal field differs from that in the API. */
const told = (source: string): string => source === "storageos" ? "storageOS" : source

/** Warnings about the source of a volume. */
export const ofSource = (volume: unknown, path: string, kinds = gone): Warnings =>
  kinds.filter(([source]) => at(volume, source) !== undefined).map(([source, since, until]) =>
    `${path}.${told(source)}: deprecated in v${since}, non-functional in v${until}+`
  )

export const ofVolume = (volume: KubeObject): Warnings => [
  ...ofClass(volume),
  ...annotation(
    volume,
    "volume.beta.kubernetes.io/mount-options",
    `deprecated since v1.31; use "mountOptions" attribute instead`
  ),
  ...(stringAt(volume, "spec", "persistentVolumeReclaimPolicy") === "Recycle"
    ? [
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended " +
      "approach is to use dynamic provisioning."
    ]
    : []),
  ...NodeLabelWarnings.ofTerms(
    arrayAt(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms"),
    "spec.nodeAffinity.required.nodeSelectorTerms"
  ),
  ...ofSource(at(volume, "spec"), "spec")
]

export const ofStorageClass = (storageClass: KubeObject): Warnings =>
  arrayAt(storageClass, "allowedTopologies").flatMap((topology, index) =>
    arrayAt(topology, "matchLabelExpressions").flatMap((expression, place) =>
      NodeLabelWarnings.ofLabel(
        stringAt(expression, "key"),
        (message) => `allowedTopologies[${index}].matchLabelExpressions[${place}].key: ${message}`
      )
    )
  )

export const ofCapacity = (capacity: KubeObject): Warnings =>
  NodeLabelWarnings.ofSelector(at(capacity, "nodeTopology"), "nodeTopology")
