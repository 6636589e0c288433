/**
 * `GoEmbedded`: fields that the Go type of a built-in kind gets from an embedded struct. JSON does not show the struct,
 * but the decoder's errors do.
 *
 * Source: k8s.io/api, fields with `json:",inline"`.
 */
import { embedded } from "./GoFault.ts"

const core = "io.k8s.api.core.v1."
const registration = "io.k8s.api.admissionregistration.v1."

/** The embedded structs that contain a field, outermost first. */
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

/** The embedded structs in a path before a field of a definition. */
export const around = (definition: string, field: string): string =>
  structs.get(definition)?.(field).map(embedded).join("") ?? ""
