/**
 * `BuiltinStrategies`: the strategies of built-in kinds, a table of exceptions to one default.
 */
import * as MetadataRules from "../../api/MetadataRules.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as ObjectWarnings from "../warnings/ObjectWarnings.ts"
import { commonFields, fieldsAt, make, type Strategy } from "./Strategy.ts"
import * as Filling from "./defaults/Filling.ts"
import * as GoStruct from "./go/GoStruct.ts"
import * as Amounts from "./rules/Amounts.ts"
import * as AttachmentRules from "./rules/AttachmentRules.ts"
import * as AutoscalerRules from "./rules/AutoscalerRules.ts"
import * as CapacityRules from "./rules/CapacityRules.ts"
import { optional } from "./rules/Checks.ts"
import * as ClaimRules from "./rules/ClaimRules.ts"
import * as ConditionRules from "./rules/ConditionRules.ts"
import * as ContentRules from "./rules/ContentRules.ts"
import * as CronJobRules from "./rules/CronJobRules.ts"
import * as DeviceRules from "./rules/DeviceRules.ts"
import * as DeviceSliceRules from "./rules/DeviceSliceRules.ts"
import * as DeviceStatusRules from "./rules/DeviceStatusRules.ts"
import * as Disabled from "./rules/Disabled.ts"
import * as DriverRules from "./rules/DriverRules.ts"
import * as EndpointRules from "./rules/EndpointRules.ts"
import * as EventRules from "./rules/EventRules.ts"
import * as FlowSchemaRules from "./rules/FlowSchemaRules.ts"
import * as IPAddressRules from "./rules/IPAddressRules.ts"
import { immutable, immutableContent } from "./rules/Immutability.ts"
import * as IngressRules from "./rules/IngressRules.ts"
import * as JobRules from "./rules/JobRules.ts"
import * as JobStatusRules from "./rules/JobStatusRules.ts"
import * as JudgedMetadata from "./rules/JudgedMetadata.ts"
import * as LabelSelectorRules from "./rules/LabelSelectorRules.ts"
import * as NetworkPolicyRules from "./rules/NetworkPolicyRules.ts"
import * as NodeRules from "./rules/NodeRules.ts"
import * as PolicyRules from "./rules/PolicyRules.ts"
import * as PriorityLevelConfigurationRules from "./rules/PriorityLevelConfigurationRules.ts"
import * as PriorityRules from "./rules/PriorityRules.ts"
import * as QuotaRules from "./rules/QuotaRules.ts"
import * as RbacRules from "./rules/RbacRules.ts"
import * as ReplicationRules from "./rules/ReplicationRules.ts"
import * as RevisionRules from "./rules/RevisionRules.ts"
import * as RuntimeClassRules from "./rules/RuntimeClassRules.ts"
import * as ServiceCIDRRules from "./rules/ServiceCIDRRules.ts"
import * as ServiceRules from "./rules/ServiceRules.ts"
import * as SigningRequestRules from "./rules/SigningRequestRules.ts"
import * as StatefulSetRules from "./rules/StatefulSetRules.ts"
import * as StorageRules from "./rules/StorageRules.ts"
import * as WebhookRules from "./rules/WebhookRules.ts"
import * as WorkloadRules from "./rules/WorkloadRules.ts"
import * as PodFeatures from "./rules/pods/PodFeatures.ts"
import * as PodPreparation from "./rules/pods/PodPreparation.ts"
import * as PodRules from "./rules/pods/PodRules.ts"
import * as PodStatusRules from "./rules/pods/PodStatusRules.ts"

/** Every Namespace is labelled with its name. */
const labelled = (namespace: JsonValue.JsonObject): JsonValue.JsonObject => {
  const metadata = objectAt(namespace, "metadata")
  const labels = { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": stringAt(metadata, "name") }
  return { ...namespace, metadata: { ...metadata, labels } }
}

/** The spec's finalizers contain "kubernetes" from the start, and change only through `finalize`. */
const namespaceCreate: Strategy["prepareCreate"] = (namespace) => {
  const spec = objectAt(namespace, "spec")
  const finalizers = arrayAt(spec, "finalizers")
  return {
    ...labelled(namespace),
    spec: { ...spec, finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"] },
    status: { phase: "Active" }
  }
}

const namespaceUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const { finalizers: _, ...spec } = objectAt(next, "spec")
  const kept = at(previous, "spec", "finalizers")
  return { ...labelled(next), spec: kept === undefined ? spec : { ...spec, finalizers: kept } }
}

const namespaceFaults: Strategy["validate"] = (namespace, previous) =>
  previous !== undefined ?
    [] :
    arrayAt(namespace, "spec", "finalizers").flatMap((name) =>
      MetadataRules.validateFinalizerName(String(name), "spec.finalizers")
    )

/** The phase must be Terminating exactly if the Namespace is being deleted. */
const namespaceStatus: Strategy["validateStatus"] = (namespace) => {
  const phase = stringAt(namespace, "status", "phase")
  const only = namespace.metadata.deletionTimestamp === undefined ? "Active" : "Terminating"
  return phase === only ? [] : [FieldError.invalid(
    "status.Phase",
    phase,
    `may only be '${only}' if \`deletionTimestamp\` is ${only === "Active" ? "" : "not "}empty`
  )]
}

const roleRefFields: GoStruct.Fields = [["apiGroup", "\"\"", undefined, "APIGroup"], ["kind", "\"\""], ["name", "\"\""]]

const roleRef: Strategy["validateUpdate"] = (next, previous) =>
  JsonValue.equals(at(next, "roleRef"), at(previous, "roleRef"))
    ? []
    : [
      FieldError.invalidPrinted("roleRef", GoStruct.print(at(next, "roleRef"), roleRefFields), "cannot change roleRef")
    ]

const budgetFields: GoStruct.Fields = [
  ["minAvailable", "null"],
  ["selector", "null"],
  ["maxUnavailable", "null"],
  ["unhealthyPodEvictionPolicy", "null"]
]

const budget: Strategy["validate"] = (object) => {
  const spec = at(object, "spec")
  return [
    ...(at(spec, "minAvailable") !== undefined && at(spec, "maxUnavailable") !== undefined
      ? [FieldError.invalidPrinted(
        "spec",
        GoStruct.print(spec, budgetFields),
        "minAvailable and maxUnavailable cannot be both set"
      )]
      : []),
    ...Amounts.countOrPercent(object, "spec.minAvailable"),
    ...Amounts.countOrPercent(object, "spec.maxUnavailable"),
    ...LabelSelectorRules.validate(at(spec, "selector"), "spec.selector"),
    ...optional(spec, "unhealthyPodEvictionPolicy", "spec", ["AlwaysAllow", "IfHealthyBudget"])
  ]
}

const budgetStatus: Strategy["validateStatus"] = (object) => [
  ...ConditionRules.validate(object),
  ...Amounts.notNegativeAt(
    "status",
    objectAt(object, "status"),
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods"
  )
]

const lease: Strategy["validate"] = (object) => {
  const duration = at(object, "spec", "leaseDurationSeconds")
  return [
    ...(typeof duration === "number" && duration <= 0
      ? [FieldError.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")]
      : []),
    ...Amounts.notNegative(object, "spec.leaseTransitions")
  ]
}

/** Of the references to an account's Secrets, only the names are kept. */
const namedSecrets = (account: JsonValue.JsonObject): JsonValue.JsonObject =>
  Filling.map(account, "secrets", (secret) => {
    const name = stringAt(secret, "name")
    return name === "" ? {} : { name }
  })

const workload = { generation: true }

/** The path of the Pod spec in a workload. */
const templated = ["spec", "template", "spec"] as const

/** Kinds of the API machinery: their metadata is validated like that of custom resources. */
const machinery = { metadataJudge: "machinery", judgedAnew: 0, unconditionalUpdate: false } as const

const registering = { ...machinery, generation: true }

const webhooks = { ...registering, validate: WebhookRules.validate }

/** Exceptions to the default, by collection. */
const exceptions: Readonly<Record<string, Partial<Strategy>>> = {
  pods: PodFeatures.within({
    generation: true,
    prepareCreate: PodPreparation.prepareCreate,
    arrivalWarnings: PodPreparation.warnings,
    statusMetadata: "ownersKept",
    answersDeleted: true,
    gracePeriod: PodRules.gracePeriod,
    prepareStatus: PodStatusRules.prepareStatus,
    validateStatus: PodStatusRules.validateStatus,
    validate: PodRules.validate,
    validateUpdate: PodRules.validateUpdate,
    listsFields: false,
    fields: {
      ...fieldsAt(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName"
      ),
      "spec.hostNetwork": (pod) => String(at(pod, "spec", "hostNetwork") ?? false)
    }
  }, "spec"),
  podtemplates: PodFeatures.within({ ...ReplicationRules.template, answersDeleted: true }, "template", "spec"),
  serviceaccounts: { answersDeleted: true, prepareCreate: namedSecrets, prepareUpdate: namedSecrets },
  services: {
    ...ServiceRules.strategy,
    answersDeleted: true,
    createsOnUpdate: true,
    takesAlong: "endpoints",
    listsFields: false,
    fields: fieldsAt("spec.clusterIP", "spec.type")
  },
  persistentvolumes: { ...StorageRules.volume, answersDeleted: true },
  persistentvolumeclaims: {
    answersDeleted: true,
    prepareCreate: ClaimRules.prepareCreate,
    prepareUpdate: ClaimRules.prepareUpdate,
    validate: ClaimRules.validate,
    validateUpdate: ClaimRules.validateUpdate,
    validateStatus: ClaimRules.validateStatus
  },
  resourcequotas: { ...QuotaRules.quota, answersDeleted: true },
  endpoints: { createsOnUpdate: true, validate: EndpointRules.validate },
  limitranges: { ...QuotaRules.limitRange, namesItself: true, createsOnUpdate: true },
  events: {
    metadataJudge: "registry",
    createsOnUpdate: true,
    validate: EventRules.validate,
    validateUpdate: EventRules.validateUpdate,
    garbageCollection: "Unsupported",
    listsFields: false,
    fields: {
      ...fieldsAt(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "type"
      ),
      reportingComponent: (event) => stringAt(event, "reportingComponent"),
      source: (event) => stringAt(event, "source", "component") || stringAt(event, "reportingComponent")
    }
  },
  namespaces: {
    prepareCreate: namespaceCreate,
    prepareUpdate: namespaceUpdate,
    validate: namespaceFaults,
    validateStatus: namespaceStatus,
    fields: { name: (namespace) => namespace.metadata.name, ...fieldsAt("status.phase") },
    listsFields: false
  },
  nodes: {
    createsStatus: true,
    listsFields: false,
    fields: { "spec.unschedulable": (node) => String(at(node, "spec", "unschedulable") ?? false) },
    prepareCreate: NodeRules.withoutConfig,
    prepareUpdate: NodeRules.withoutConfig,
    prepareStatus: NodeRules.withoutConfig,
    validate: NodeRules.validate,
    validateUpdate: NodeRules.validateUpdate,
    validateStatus: NodeRules.validateStatus
  },
  secrets: {
    listsFields: false,
    fields: fieldsAt("type"),
    validate: ContentRules.secret,
    validateUpdate: (next, previous) => [...immutable("type")(next, previous), ...immutableContent(next, previous)]
  },
  configmaps: { validate: ContentRules.configMap, validateUpdate: immutableContent },
  replicationcontrollers: PodFeatures.within({
    ...ReplicationRules.controller,
    garbageCollection: "Orphan",
    listsFields: false,
    fields: fieldsAt("status.replicas")
  }, ...templated),
  "deployments.apps": PodFeatures.within({
    ...workload,
    annotationsCount: true,
    statusMetadata: "labelsKept",
    validate: WorkloadRules.validateDeployment,
    validateUpdate: LabelSelectorRules.immutable,
    validateStatus: WorkloadRules.validateStatus("updatedReplicas", "readyReplicas", "availableReplicas")
  }, ...templated),
  "replicasets.apps": PodFeatures.within({
    ...workload,
    validate: WorkloadRules.validateReplicaSet,
    validateStatus: WorkloadRules.validateStatus("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    validateUpdate: LabelSelectorRules.immutable
  }, ...templated),
  "daemonsets.apps": PodFeatures.within({
    ...workload,
    validate: WorkloadRules.validateDaemonSet,
    validateStatus: WorkloadRules.validateStatus(),
    prepareCreate: WorkloadRules.daemonSetCreate,
    prepareUpdate: WorkloadRules.daemonSetUpdate,
    prepareStatus: WorkloadRules.daemonSetStatus,
    validateUpdate: LabelSelectorRules.immutable
  }, ...templated),
  "statefulsets.apps": PodFeatures.within({
    ...workload,
    validate: StatefulSetRules.validate,
    validateUpdate: StatefulSetRules.validateUpdate,
    validateStatus: WorkloadRules.validateStatus(
      "readyReplicas",
      "currentReplicas",
      "updatedReplicas",
      "availableReplicas"
    )
  }, ...templated),
  "controllerrevisions.apps": RevisionRules.strategy,
  "jobs.batch": PodFeatures.within({
    generation: true,
    garbageCollection: "Orphan",
    listsFields: false,
    deletionWarnings: JobRules.deletionWarnings,
    fields: { "status.successful": (job) => String(at(job, "status", "succeeded") ?? 0) },
    prepareCreate: JobRules.prepareCreate,
    prepareUpdate: JobRules.withLabels,
    prepareStatus: JobRules.withLabels,
    validate: JobRules.validate,
    validateUpdate: JobRules.validateUpdate,
    validateStatus: JobStatusRules.validateStatus
  }, ...templated),
  "cronjobs.batch": PodFeatures.within(
    { generation: true, validate: CronJobRules.validate },
    "spec",
    "jobTemplate",
    ...templated
  ),
  "deviceclasses.resource.k8s.io": DeviceRules.deviceClass,
  "resourceclaims.resource.k8s.io": { ...DeviceRules.claim, ...DeviceStatusRules.claim },
  "resourceclaimtemplates.resource.k8s.io": DeviceRules.claimTemplate,
  "resourceslices.resource.k8s.io": DeviceSliceRules.slice,
  "leases.coordination.k8s.io": {
    ...Disabled.without("spec.strategy", "spec.preferredHolder"),
    ...machinery,
    createsOnUpdate: true,
    validate: lease
  },
  "horizontalpodautoscalers.autoscaling": AutoscalerRules.strategy,
  "ingresses.networking.k8s.io": IngressRules.ingress,
  "ingressclasses.networking.k8s.io": IngressRules.ingressClass,
  "runtimeclasses.node.k8s.io": RuntimeClassRules.strategy,
  "priorityclasses.scheduling.k8s.io": PriorityRules.strategy,
  "storageclasses.storage.k8s.io": { ...StorageRules.storageClass, answersDeleted: true },
  "csidrivers.storage.k8s.io": DriverRules.driver,
  "csinodes.storage.k8s.io": DriverRules.node,
  "volumeattachments.storage.k8s.io": AttachmentRules.strategy,
  "volumeattributesclasses.storage.k8s.io": { ...StorageRules.attributesClass, answersDeleted: true },
  "csistoragecapacities.storage.k8s.io": CapacityRules.strategy,
  "ipaddresses.networking.k8s.io": IPAddressRules.strategy,
  "servicecidrs.networking.k8s.io": ServiceCIDRRules.strategy,
  "networkpolicies.networking.k8s.io": {
    generation: true,
    validate: NetworkPolicyRules.validate,
    // The registry validates twice, and every fault is reported each time it is found.
    validateUpdate: NetworkPolicyRules.validate
  },
  "endpointslices.discovery.k8s.io": {
    ...Disabled.without("endpoints.*.deprecatedTopology"),
    generation: true,
    labelsCount: true,
    validate: EndpointRules.validateSlice,
    validateUpdate: EndpointRules.validateSliceUpdate
  },
  "poddisruptionbudgets.policy": {
    metadataJudge: "registry",
    generation: true,
    unconditionalUpdate: false,
    validate: budget,
    validateStatus: budgetStatus
  },
  "rolebindings.rbac.authorization.k8s.io": {
    createsOnUpdate: true,
    validate: RbacRules.validateBinding("Role", "ClusterRole"),
    validateUpdate: roleRef
  },
  "clusterrolebindings.rbac.authorization.k8s.io": {
    createsOnUpdate: true,
    validate: RbacRules.validateBinding("ClusterRole"),
    validateUpdate: roleRef
  },
  "roles.rbac.authorization.k8s.io": { createsOnUpdate: true, validate: RbacRules.validateRole(true) },
  "clusterroles.rbac.authorization.k8s.io": { createsOnUpdate: true, validate: RbacRules.validateRole(false) },
  "customresourcedefinitions.apiextensions.k8s.io": {
    ...registering,
    answersDeleted: true
  },
  "apiservices.apiregistration.k8s.io": { ...machinery, statusMetadata: "kept" },
  "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "validatingadmissionpolicies.admissionregistration.k8s.io": {
    ...registering,
    statusMetadata: "kept",
    validate: PolicyRules.validatingPolicy,
    validateStatus: PolicyRules.policyStatus
  },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
    ...registering,
    validate: PolicyRules.validatingBinding
  },
  "mutatingadmissionpolicies.admissionregistration.k8s.io": { ...registering, validate: PolicyRules.mutatingPolicy },
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": {
    ...registering,
    validate: PolicyRules.mutatingBinding
  },
  "flowschemas.flowcontrol.apiserver.k8s.io": {
    generation: true,
    statusMetadata: "kept",
    validate: FlowSchemaRules.validate,
    validateStatus: ConditionRules.typed
  },
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {
    generation: true,
    statusMetadata: "kept",
    validate: PriorityLevelConfigurationRules.validate,
    validateStatus: ConditionRules.typed
  },
  "certificatesigningrequests.certificates.k8s.io": {
    fields: fieldsAt("spec.signerName"),
    listsFields: false,
    validate: SigningRequestRules.validate,
    signed: SigningRequestRules.signed,
    prepareUpdate: SigningRequestRules.prepareUpdate,
    prepareStatus: SigningRequestRules.prepareStatus,
    validateStatus: SigningRequestRules.validateStatus
  }
}

/** The strategy of a built-in kind. */
export const strategyOf = (
  collection: string,
  options: { readonly namespaced: boolean; readonly statusSubresource: boolean }
): Strategy => {
  const exception = exceptions[collection] ?? {}
  return make({
    statusSubresource: options.statusSubresource,
    warnings: ObjectWarnings.ofObject(collection),
    statusWarnings: ObjectWarnings.ofStatus(collection),
    ...exception,
    ...JudgedMetadata.of(collection),
    // If the message names both fields, both are known, even though one of them is empty in cluster-scoped kinds.
    fields: { ...commonFields(options.namespaced || exception.listsFields !== false), ...exception.fields }
  })
}
