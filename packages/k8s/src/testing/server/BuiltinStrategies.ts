/**
 * `BuiltinStrategies`: the strategies of built-in kinds, a table of exceptions to one default.
 */
import * as ContentRules from "./ContentRules.ts"
import * as EventRules from "./EventRules.ts"
import * as FieldError from "../schema/FieldError.ts"
import { immutable, immutableContent, omit, specExcept } from "./Immutability.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"
import * as PodRules from "./PodRules.ts"
import * as ServiceRules from "./ServiceRules.ts"
import { commonFields, fieldsAt, make, type Strategy } from "./Strategy.ts"
import * as WorkloadRules from "./WorkloadRules.ts"

/** Every Namespace is labelled with its name. */
const labelled = (namespace: JsonValue.JsonObject): JsonValue.JsonObject => {
  const metadata = objectAt(namespace, "metadata")
  const labels = { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": stringAt(metadata, "name") }
  return { ...namespace, metadata: { ...metadata, labels } }
}

/** "kubernetes" is among the spec's finalizers from the start; they change through `finalize` only. */
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

const claimSpec = specExcept(
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
  (spec) => ({ ...omit(spec, "volumeAttributesClassName", "volumeName"), resources: undefined })
)

const roleRef: Strategy["validateUpdate"] = (next, previous) =>
  JsonValue.equals(at(next, "roleRef"), at(previous, "roleRef"))
    ? []
    : [FieldError.invalid("roleRef", at(next, "roleRef") ?? null, "cannot change roleRef")]

const workload = { generation: true, validate: WorkloadRules.validate }

/** Exceptions to the default, by collection. */
const exceptions: Readonly<Record<string, Partial<Strategy>>> = {
  pods: {
    generation: true,
    answersDeleted: true,
    gracePeriod: PodRules.gracePeriod,
    validate: PodRules.validate,
    validateUpdate: PodRules.validateUpdate,
    listsFields: false,
    fields: fieldsAt(
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.podIPs",
      "status.nominatedNodeName"
    )
  },
  podtemplates: { generation: true, answersDeleted: true },
  serviceaccounts: { answersDeleted: true },
  services: {
    ...ServiceRules.strategy,
    answersDeleted: true,
    createsOnUpdate: true,
    fields: fieldsAt("spec.clusterIP", "spec.type")
  },
  persistentvolumes: { answersDeleted: true },
  persistentvolumeclaims: { answersDeleted: true, validateUpdate: claimSpec },
  resourcequotas: { answersDeleted: true },
  endpoints: { createsOnUpdate: true },
  limitranges: { createsOnUpdate: true },
  events: {
    createsOnUpdate: true,
    validate: EventRules.validate,
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
    fields: { name: (namespace) => namespace.metadata.name, ...fieldsAt("status.phase") },
    listsFields: false
  },
  nodes: { listsFields: false, fields: fieldsAt("spec.unschedulable") },
  secrets: {
    listsFields: false,
    fields: fieldsAt("type"),
    validate: ContentRules.secret,
    validateUpdate: (next, previous) => [...immutable("type")(next, previous), ...immutableContent(next, previous)]
  },
  configmaps: { validate: ContentRules.configMap, validateUpdate: immutableContent },
  replicationcontrollers: {
    generation: true,
    garbageCollection: "Orphan",
    listsFields: false,
    fields: fieldsAt("status.replicas")
  },
  "deployments.apps": { ...workload, statusMetadata: "labelsKept", validateUpdate: immutable("spec.selector") },
  "replicasets.apps": {
    ...workload,
    listsFields: false,
    fields: fieldsAt("status.replicas"),
    validateUpdate: immutable("spec.selector")
  },
  "daemonsets.apps": {
    ...workload,
    prepareCreate: WorkloadRules.daemonSetCreate,
    prepareUpdate: WorkloadRules.daemonSetUpdate,
    validateUpdate: immutable("spec.selector")
  },
  "statefulsets.apps": { ...workload, validateUpdate: WorkloadRules.validateStatefulSetUpdate },
  "jobs.batch": {
    generation: true,
    garbageCollection: "Orphan",
    listsFields: false,
    fields: fieldsAt("status.successful"),
    prepareCreate: WorkloadRules.jobCreate,
    validate: WorkloadRules.validateJob,
    validateUpdate: WorkloadRules.validateJobUpdate
  },
  "cronjobs.batch": { generation: true },
  "leases.coordination.k8s.io": { createsOnUpdate: true, unconditionalUpdate: false },
  "ingresses.networking.k8s.io": { generation: true },
  "networkpolicies.networking.k8s.io": { generation: true },
  "endpointslices.discovery.k8s.io": { generation: true, createsOnUpdate: true },
  "poddisruptionbudgets.policy": { generation: true, unconditionalUpdate: false },
  "rolebindings.rbac.authorization.k8s.io": { createsOnUpdate: true, validateUpdate: roleRef },
  "clusterrolebindings.rbac.authorization.k8s.io": { createsOnUpdate: true, validateUpdate: roleRef },
  "roles.rbac.authorization.k8s.io": { createsOnUpdate: true },
  "clusterroles.rbac.authorization.k8s.io": { createsOnUpdate: true },
  "customresourcedefinitions.apiextensions.k8s.io": {
    generation: true,
    unconditionalUpdate: false,
    answersDeleted: true,
    statusMetadata: "kept"
  },
  "apiservices.apiregistration.k8s.io": { unconditionalUpdate: false, statusMetadata: "kept" },
  "validatingwebhookconfigurations.admissionregistration.k8s.io": { generation: true, unconditionalUpdate: false },
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": { generation: true, unconditionalUpdate: false },
  "validatingadmissionpolicies.admissionregistration.k8s.io": { generation: true, unconditionalUpdate: false },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": { generation: true, unconditionalUpdate: false },
  "flowschemas.flowcontrol.apiserver.k8s.io": { generation: true, statusMetadata: "kept" },
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": { generation: true, statusMetadata: "kept" },
  "certificatesigningrequests.certificates.k8s.io": { fields: fieldsAt("spec.signerName"), listsFields: false }
}

/** The strategy of a built-in kind. */
export const strategyOf = (
  collection: string,
  options: { readonly namespaced: boolean; readonly statusSubresource: boolean }
): Strategy => {
  const exception = exceptions[collection] ?? {}
  return make({
    statusSubresource: options.statusSubresource,
    ...exception,
    fields: { ...commonFields(options.namespaced), ...exception.fields }
  })
}
