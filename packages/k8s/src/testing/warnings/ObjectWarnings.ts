/**
 * `ObjectWarnings`: warnings about accepted objects, by kind.
 *
 * Since 1.22, servers send them in Warning headers, and kubectl prints them.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Quantity from "../../api/Quantity.ts"
import * as AddressWarnings from "./AddressWarnings.ts"
import * as ClaimWarnings from "./ClaimWarnings.ts"
import * as DefinitionWarnings from "./DefinitionWarnings.ts"
import * as NetworkWarnings from "./NetworkWarnings.ts"
import * as NodeLabelWarnings from "./NodeLabelWarnings.ts"
import * as SecretWarnings from "./SecretWarnings.ts"
import * as WorkloadWarnings from "./WorkloadWarnings.ts"

/** Warnings about an object that is created or replaces `previous`. */
export type Of = (object: KubeObject, previous: KubeObject | undefined) => ReadonlyArray<string>

const none: Of = () => []

const mountable = "kubernetes.io/enforce-mountable-secrets"

const ofServiceAccount: Of = (account, previous) =>
  account.metadata.annotations?.[mountable] === undefined || previous?.metadata.annotations?.[mountable] !== undefined
    ? []
    : [
      `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to ` +
      "mounted secrets"
    ]

const ofNode: Of = (node) => [
  ...(at(node, "spec", "configSource") === undefined ? [] : ["spec.configSource: the feature is removed"]),
  ...(stringAt(node, "spec", "externalID") === ""
    ? []
    : ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
  ...AddressWarnings.ofRanges("spec.podCIDRs", arrayAt(node, "spec", "podCIDRs"))
]

const ofQuota: Of = (quota, previous) => {
  const hard = objectAt(quota, "spec", "hard")
  return previous !== undefined ? [] : ["cpu", "memory", "storage", "ephemeral-storage"].flatMap((resource) => {
    const bare = resource === "cpu" || resource === "memory" ? [resource] : []
    const request = [`requests.${resource}`, ...bare].find((name) => hard[name] !== undefined)
    const limit = `limits.${resource}`
    if (request === undefined || hard[limit] === undefined) return []
    const [least, most] = [String(hard[request]), String(hard[limit])]
    return Quantity.compare(least, most) > 0
      ? [`ResourceQuota ${request} (${least}) should be less than ${limit} (${most})`]
      : []
  })
}

const ofRuntimeClass: Of = (runtimeClass) =>
  Object.keys(objectAt(runtimeClass, "scheduling", "nodeSelector")).flatMap((label) =>
    NodeLabelWarnings.ofLabel(label, (message) => `scheduling.nodeSelector: ${message}`)
  )

/** Warns about a CSIDriver when it starts to get tokens. */
const ofDriver: Of = (driver, previous) => {
  const requests = arrayAt(driver, "spec", "tokenRequests")
  return requests.length === 0 || at(driver, "spec", "serviceAccountTokenInSecrets") !== undefined ||
      (previous !== undefined && JsonValue.equals(requests, arrayAt(previous, "spec", "tokenRequests")))
    ? []
    : [
      "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible " +
      "logging of tokens in volume attributes"
    ]
}

const objects: Readonly<Record<string, Of>> = {
  "customresourcedefinitions.apiextensions.k8s.io": DefinitionWarnings.ofDefinition,
  pods: WorkloadWarnings.ofPod,
  podtemplates: WorkloadWarnings.ofTemplate("template"),
  replicationcontrollers: WorkloadWarnings.ofNamedTemplate,
  "deployments.apps": WorkloadWarnings.ofNamedTemplate,
  "replicasets.apps": WorkloadWarnings.ofNamedTemplate,
  "daemonsets.apps": WorkloadWarnings.ofDaemonSet,
  "statefulsets.apps": WorkloadWarnings.ofStatefulSet,
  "jobs.batch": WorkloadWarnings.ofJob,
  "cronjobs.batch": WorkloadWarnings.ofCronJob,
  services: NetworkWarnings.ofService,
  endpoints: NetworkWarnings.ofEndpoints,
  "endpointslices.discovery.k8s.io": NetworkWarnings.ofSlice,
  "ingresses.networking.k8s.io": NetworkWarnings.ofIngress,
  "networkpolicies.networking.k8s.io": NetworkWarnings.ofPolicy,
  persistentvolumes: ClaimWarnings.ofVolume,
  persistentvolumeclaims: ClaimWarnings.ofClaim,
  "storageclasses.storage.k8s.io": ClaimWarnings.ofStorageClass,
  "csidrivers.storage.k8s.io": ofDriver,
  "csistoragecapacities.storage.k8s.io": ClaimWarnings.ofCapacity,
  secrets: SecretWarnings.ofSecret,
  serviceaccounts: ofServiceAccount,
  nodes: ofNode,
  resourcequotas: ofQuota,
  "runtimeclasses.node.k8s.io": ofRuntimeClass
}

const ofPodAddresses: Of = (pod) =>
  ["podIPs", "hostIPs"].flatMap((field) =>
    arrayAt(pod, "status", field).flatMap((address, index) =>
      AddressWarnings.ofAddress(`status.${field}[${index}].ip`, stringAt(address, "ip"))
    )
  )

const statuses: Readonly<Record<string, Of>> = {
  pods: ofPodAddresses,
  services: NetworkWarnings.ofBalancer,
  "ingresses.networking.k8s.io": NetworkWarnings.ofBalancer
}

/** Warnings about objects of a collection (`deployments.apps`). */
export const ofObject = (collection: string): Of => objects[collection] ?? none

/** Warnings about the status of objects of a collection. */
export const ofStatus = (collection: string): Of => statuses[collection] ?? none
