/**
 * `ClusterColumns`: the tables of kinds for the cluster itself: storage, admission, flow control, devices.
 *
 * Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go and, for APIServices,
 * k8s.io/kube-aggregator/pkg/registry/apiservice/etcd; compared with a kube-apiserver.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import { age, type Column, column } from "../../../api/PrinterColumns.ts"
import { ageColumn, field, integer, named, number, plain, text, type Value } from "./ColumnParts.ts"

const boolean = (name: string, value: Value): Column => column(name, "boolean", "", value)

/** A boolean field with a default. */
const flag = (missing: boolean, ...path: ReadonlyArray<string>): Value => (object) => {
  const value = at(object, ...path)
  return typeof value === "boolean" ? value : missing
}

const count = (key: string, ...path: ReadonlyArray<string>): Value => (object) => arrayAt(object, ...path, key).length

const joined = (none: string, ...path: ReadonlyArray<string>): Value => (object) =>
  arrayAt(object, ...path).join(",") || none

const condition = (object: unknown, type: string): unknown =>
  arrayAt(object, "status", "conditions").find((entry) => stringAt(entry, "type") === type)

const webhooks = named(integer("Webhooks", count("webhooks")), ageColumn)

const paramKind: Value = (object) => {
  const kind = objectAt(object, "spec", "paramKind")
  return Object.keys(kind).length === 0 ? "<unset>" : `${stringAt(kind, "apiVersion")}/${stringAt(kind, "kind")}`
}

const paramRef: Value = (object) => {
  const reference = objectAt(object, "spec", "paramRef")
  const namespace = stringAt(reference, "namespace")
  const name = stringAt(reference, "name")
  return name === "" ? "<unset>" : namespace === "" ? name : `${namespace}/${name}`
}

const policyBinding = named(
  text("PolicyName", plain("spec", "policyName")),
  text("ParamRef", paramRef),
  ageColumn
)

const ingressParameters: Value = (object) => {
  const parameters = objectAt(object, "spec", "parameters")
  if (Object.keys(parameters).length === 0) return "<none>"
  const group = parameters["apiGroup"] === undefined ? "" : `.${stringAt(parameters, "apiGroup")}`
  return `${stringAt(parameters, "kind")}${group}/${stringAt(parameters, "name")}`
}

const available: Value = (object) => {
  const found = condition(object, "Available")
  const status = stringAt(found, "status") || "Unknown"
  return found === undefined || status === "True" ? status : `${status} (${stringAt(found, "reason")})`
}

const apiService: Value = (object) => {
  const service = objectAt(object, "spec", "service")
  return Object.keys(service).length === 0 ? "Local" : `${stringAt(service, "namespace")}/${stringAt(service, "name")}`
}

const claimState: Value = (object) => {
  const deleted = object.metadata.deletionTimestamp !== undefined
  const allocated = at(object, "status", "allocation") !== undefined
  const reserved = arrayAt(object, "status", "reservedFor").length > 0
  return [
    ...(deleted ? ["deleted"] : []),
    ...(allocated ? ["allocated", ...(reserved ? ["reserved"] : [])] : deleted ? [] : ["pending"])
  ].join(",")
}

const parentRef: Value = (object) => {
  const parent = objectAt(object, "spec", "parentRef")
  if (Object.keys(parent).length === 0) return "<none>"
  const group = stringAt(parent, "group")
  const namespace = stringAt(parent, "namespace")
  const resource = `${stringAt(parent, "resource")}${group === "" ? "" : `.${group}`}`.toLowerCase()
  return `${resource}${namespace === "" ? "" : `/${namespace}`}/${stringAt(parent, "name")}`
}

/** A number of a limited priority level; an exempt one has none. */
const figure = (...path: ReadonlyArray<string>): Value => (object) => at(object, "spec", "limited", ...path) ?? "<none>"

const queuing = (key: string): Value => figure("limitResponse", "queuing", key)

/** Columns by collection. */
export const tables: Readonly<Record<string, ReadonlyArray<Column>>> = {
  componentstatuses: named(
    text("Status", (object) => {
      const status = stringAt(arrayAt(object, "conditions")[0], "status")
      return status === "True" ? "Healthy" : status === "False" ? "Unhealthy" : "Unknown"
    }),
    text("Message", (object) => stringAt(arrayAt(object, "conditions")[0], "message")),
    text("Error", (object) => stringAt(arrayAt(object, "conditions")[0], "error"))
  ),
  "apiservices.apiregistration.k8s.io": named(text("Service", apiService), text("Available", available), ageColumn),
  "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "validatingadmissionpolicies.admissionregistration.k8s.io": named(
    integer("Validations", count("validations", "spec")),
    text("ParamKind", paramKind),
    ageColumn
  ),
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": policyBinding,
  "mutatingadmissionpolicies.admissionregistration.k8s.io": named(
    integer("Mutations", count("mutations", "spec")),
    text("ParamKind", paramKind),
    ageColumn
  ),
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policyBinding,
  "priorityclasses.scheduling.k8s.io": named(
    integer("Value", number("value")),
    boolean("Global-Default", flag(false, "globalDefault")),
    ageColumn,
    text("PreemptionPolicy", plain("preemptionPolicy"))
  ),
  "runtimeclasses.node.k8s.io": named(text("Handler", plain("handler")), ageColumn),
  "ingressclasses.networking.k8s.io": named(
    text("Controller", plain("spec", "controller")),
    text("Parameters", ingressParameters),
    ageColumn
  ),
  "servicecidrs.networking.k8s.io": named(text("CIDRs", joined("", "spec", "cidrs")), ageColumn),
  // The printer also returns the age, for which there is no column.
  "ipaddresses.networking.k8s.io": named(text("ParentRef", parentRef), { ...ageColumn, untold: true }),
  "storageclasses.storage.k8s.io": named(
    text("Provisioner", plain("provisioner")),
    text("ReclaimPolicy", (object) => stringAt(object, "reclaimPolicy") || "Delete"),
    text("VolumeBindingMode", (object) => stringAt(object, "volumeBindingMode") || "Immediate"),
    text("AllowVolumeExpansion", flag(false, "allowVolumeExpansion")),
    ageColumn
  ),
  "volumeattributesclasses.storage.k8s.io": named(text("DriverName", plain("driverName")), ageColumn),
  "volumeattachments.storage.k8s.io": named(
    { ...text("Attacher", plain("spec", "attacher")), format: "name" },
    text("PV", plain("spec", "source", "persistentVolumeName")),
    text("Node", plain("spec", "nodeName")),
    boolean("Attached", flag(false, "status", "attached")),
    ageColumn
  ),
  "csinodes.storage.k8s.io": named(integer("Drivers", count("drivers", "spec")), ageColumn),
  "csidrivers.storage.k8s.io": named(
    boolean("AttachRequired", flag(true, "spec", "attachRequired")),
    boolean("PodInfoOnMount", flag(false, "spec", "podInfoOnMount")),
    boolean("StorageCapacity", flag(false, "spec", "storageCapacity")),
    text(
      "TokenRequests",
      (object) =>
        arrayAt(object, "spec", "tokenRequests").map((request) => stringAt(request, "audience")).join(",") || "<unset>"
    ),
    boolean("RequiresRepublish", flag(false, "spec", "requiresRepublish")),
    text("Modes", joined("<none>", "spec", "volumeLifecycleModes")),
    ageColumn
  ),
  "certificatesigningrequests.certificates.k8s.io": named(
    ageColumn,
    text("SignerName", plain("spec", "signerName")),
    text("Requestor", plain("spec", "username")),
    text("RequestedDuration", (object) => {
      const seconds = at(object, "spec", "expirationSeconds")
      return typeof seconds === "number" ? age(new Date(0).toISOString(), seconds * 1000) : "<none>"
    }),
    text("Condition", (object) => {
      const types = arrayAt(object, "status", "conditions").map((entry) => stringAt(entry, "type"))
      const decision = ["Denied", "Approved"].find((type) => types.includes(type)) ?? "Pending"
      const failed = types.includes("Failed") ? ",Failed" : ""
      return `${decision}${failed}${stringAt(object, "status", "certificate") === "" ? "" : ",Issued"}`
    })
  ),
  "flowschemas.flowcontrol.apiserver.k8s.io": named(
    text("PriorityLevel", field("spec", "priorityLevelConfiguration", "name")),
    text("MatchingPrecedence", number("spec", "matchingPrecedence")),
    text("DistinguisherMethod", field("spec", "distinguisherMethod", "type")),
    ageColumn,
    text("MissingPL", (object) => stringAt(condition(object, "Dangling"), "status") || "?")
  ),
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": named(
    text("Type", plain("spec", "type")),
    text("NominalConcurrencyShares", figure("nominalConcurrencyShares")),
    text("Queues", queuing("queues")),
    text("HandSize", queuing("handSize")),
    text("QueueLengthLimit", queuing("queueLengthLimit")),
    ageColumn
  ),
  "deviceclasses.resource.k8s.io": named(ageColumn),
  "resourceclaims.resource.k8s.io": named(text("State", claimState), ageColumn),
  "resourceclaimtemplates.resource.k8s.io": named(ageColumn),
  "resourceslices.resource.k8s.io": named(
    text("Node", plain("spec", "nodeName")),
    text("Driver", plain("spec", "driver")),
    text("Pool", plain("spec", "pool", "name")),
    ageColumn
  )
}
