/**
 * `GoEmbedded`: fields that a Go type of a built-in kind has from a struct inside of it. JSON does not tell them from its
 * own; faults of the decoder do.
 *
 * Source: k8s.io/api, fields with `json:",inline"`.
 */
import { embedded } from "./GoFault.ts"

const core = "io.k8s.api.core.v1."
const registration = "io.k8s.api.admissionregistration.v1."

/** The struct that a field is in, or those, from the outside in. */
type Structs = (field: string) => ReadonlyArray<string>

const all = (name: string, ...own: ReadonlyArray<string>): Structs => (field) => own.includes(field) ? [] : [name]

const only = (name: string, ...fields: ReadonlyArray<string>): Structs => (field) =>
  fields.includes(field) ? [name] : []

const referring = ["ConfigMapEnvSource", "SecretEnvSource", "ConfigMapKeySelector", "SecretKeySelector"]
const mounting = ["ConfigMapProjection", "SecretProjection", "ConfigMapVolumeSource"]

const configuring = ["DeviceClaimConfiguration", "DeviceAllocationConfiguration", "DeviceClassConfiguration"]

const structs: ReadonlyMap<string, Structs> = new Map<string, Structs>([
  ...[...referring, ...mounting].map((name) => [`${core}${name}`, only("LocalObjectReference", "name")] as const),
  [`${core}Volume`, all("VolumeSource", "name")],
  [
    `${core}PersistentVolumeSpec`,
    all(
      "PersistentVolumeSource",
      "capacity",
      "accessModes",
      "claimRef",
      "persistentVolumeReclaimPolicy",
      "storageClassName",
      "mountOptions",
      "volumeMode",
      "nodeAffinity",
      "volumeAttributesClassName"
    )
  ],
  [`${core}Probe`, only("ProbeHandler", "exec", "httpGet", "tcpSocket", "grpc")],
  [`${core}EphemeralContainer`, all("EphemeralContainerCommon", "targetContainerName")],
  ...configuring.map((name) => [`io.k8s.api.resource.v1.${name}`, only("DeviceConfiguration", "opaque")] as const),
  ["io.k8s.api.networking.v1.IngressRule", only("IngressRuleValue", "http")],
  [`${registration}RuleWithOperations`, all("Rule", "operations")],
  [
    `${registration}NamedRuleWithOperations`,
    (field) =>
      field === "resourceNames" ? [] : field === "operations" ? ["RuleWithOperations"] : ["RuleWithOperations", "Rule"]
  ]
])

/** What stands in a path before a field of a definition. */
export const around = (definition: string, field: string): string =>
  structs.get(definition)?.(field).map(embedded).join("") ?? ""
