/**
 * `WorkloadRules`: kinds with a Pod template.
 *
 * Source: k8s.io/kubernetes/pkg/apis/{apps,batch}/validation and pkg/registry/{apps,batch}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Amounts from "./Amounts.ts"
import * as FieldError from "../schema/FieldError.ts"
import { immutable, omit, specExcept } from "./Immutability.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as MetadataRules from "../../api/MetadataRules.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as PodSpecRules from "./PodSpecRules.ts"
import type { Strategy } from "./Strategy.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** Faults of a LabelSelector. */
export const selectorFaults = (selector: unknown, path: string): Faults => [
  ...MetadataRules.validateLabels(
    objectAt(selector, "matchLabels") as Readonly<Record<string, string>>,
    `${path}.matchLabels`
  ),
  ...arrayAt(selector, "matchExpressions").flatMap((expression, index) => {
    const here = `${path}.matchExpressions[${index}]`
    const operator = stringAt(expression, "operator")
    const values = arrayAt(expression, "values")
    const key = stringAt(expression, "key")
    return [
      ...(operator === "In" || operator === "NotIn"
        ? values.length > 0
          ? []
          : [FieldError.required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
        : operator === "Exists" || operator === "DoesNotExist"
        ? values.length === 0
          ? []
          : [FieldError.forbidden(
            `${here}.values`,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
          )]
        : [FieldError.invalid(`${here}.operator`, operator, "not a valid selector operator")]),
      ...Names.labelKey(key).map((fault) => FieldError.invalid(`${here}.key`, key, fault)),
      ...values.flatMap((value, at) =>
        Names.labelValue(String(value)).map((fault) => FieldError.invalid(`${here}.values[${at}]`, value, fault))
      )
    ]
  })
]

/** What is said of a selector that cannot be read, besides what is wrong with it. */
const unreadable: Readonly<Record<string, string>> = { deployment: "invalid label selector", statefulset: "" }

/** A selector that must be there, select something, and fit the labels of the template. */
const selectorAndTemplate = (object: KubeObject, emptyName: string): Faults => {
  const selector = at(object, "spec", "selector")
  const template = objectAt(object, "spec", "template")
  const labels = objectAt(template, "metadata", "labels") as Readonly<Record<string, string>>
  const podTemplate = PodSpecRules.podTemplate(template, "spec.template")
  const mismatch = FieldError.invalid(
    "spec.template.metadata.labels",
    labels,
    "`selector` does not match template `labels`"
  )
  if (selector === undefined) {
    // No selector selects nothing, not even the template; a DaemonSet is not told why.
    const required = emptyName === "daemonset" ? [] : [FieldError.required("spec.selector", "")]
    return [...required, mismatch, ...podTemplate]
  }
  const faults = selectorFaults(selector, "spec.selector")
  if (faults.length > 0) {
    const why = unreadable[emptyName]
    // Only a DaemonSet's template is looked at although nobody knows what it should match.
    return [...faults, ...(why === undefined ? podTemplate : [FieldError.invalid("spec.selector", selector, why)])]
  }
  const parsed = Selector.fromObject(selector as Selector.LabelSelectorObject) ?? []
  return [
    ...(parsed.length === 0
      ? [FieldError.invalid("spec.selector", selector, `empty selector is invalid for ${emptyName}`)]
      : Selector.matchesLabels(parsed, labels)
      ? []
      : [mismatch]),
    ...podTemplate
  ]
}

/** Pods that are kept running are always restarted, and have no end. */
const keptRunning = (object: KubeObject, kind: string): Faults => {
  const policy = stringAt(object, "spec", "template", "spec", "restartPolicy")
  return [
    ...(policy === "Always"
      ? []
      : [FieldError.notSupported("spec.template.spec.restartPolicy", policy, ["Always"])]),
    ...(at(object, "spec", "template", "spec", "activeDeadlineSeconds") === undefined
      ? []
      : [FieldError.forbidden(
        "spec.template.spec.activeDeadlineSeconds",
        `activeDeadlineSeconds in ${kind} is not Supported`
      )])
  ]
}

const isZero = (value: unknown): boolean => value === 0 || value === "0%"

const deploymentStrategy = (object: KubeObject): Faults => {
  const strategy = objectAt(object, "spec", "strategy")
  const path = "spec.strategy.rollingUpdate"
  switch (stringAt(strategy, "type")) {
    case "Recreate":
      return strategy["rollingUpdate"] === undefined
        ? []
        : [FieldError.forbidden(path, "may not be specified when strategy `type` is 'Recreate'")]
    case "RollingUpdate": {
      const { maxSurge, maxUnavailable } = objectAt(strategy, "rollingUpdate")
      return [
        ...Amounts.countOrPercent(object, `${path}.maxUnavailable`),
        ...Amounts.percentOrCount(object, `${path}.maxSurge`),
        ...(isZero(maxSurge) && isZero(maxUnavailable)
          ? [FieldError.invalid(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")]
          : [])
      ]
    }
    default:
      return [FieldError.notSupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"])]
  }
}

/** Faults of a Deployment. */
export const validateDeployment: Strategy["validate"] = (object) => {
  const deadline = at(object, "spec", "progressDeadlineSeconds")
  const ready = at(object, "spec", "minReadySeconds") ?? 0
  return [
    ...Amounts.notNegative(object, "spec.replicas"),
    ...selectorAndTemplate(object, "deployment"),
    ...keptRunning(object, "ReplicaSet"),
    ...deploymentStrategy(object),
    ...Amounts.notNegative(
      object,
      "spec.minReadySeconds",
      "spec.revisionHistoryLimit",
      "spec.progressDeadlineSeconds"
    ),
    ...(typeof deadline === "number" && typeof ready === "number" && deadline <= ready
      ? [FieldError.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")]
      : [])
  ]
}

/** Faults of a ReplicaSet. */
export const validateReplicaSet: Strategy["validate"] = (object) => [
  ...Amounts.notNegative(object, "spec.replicas", "spec.minReadySeconds"),
  ...selectorAndTemplate(object, "deployment"),
  ...keptRunning(object, "ReplicaSet")
]

/** Faults of a DaemonSet. */
export const validateDaemonSet: Strategy["validate"] = (object) => [
  ...selectorAndTemplate(object, "daemonset"),
  ...keptRunning(object, "DaemonSet"),
  ...Amounts.notNegative(object, "spec.minReadySeconds", "spec.revisionHistoryLimit")
]

/** Faults of a StatefulSet. */
export const validateStatefulSet: Strategy["validate"] = (object) => {
  const policy = stringAt(object, "spec", "podManagementPolicy")
  const service = stringAt(object, "spec", "serviceName")
  const labels = objectAt(object, "spec", "template", "metadata", "labels") as Readonly<Record<string, string>>
  return [
    ...(policy === ""
      ? [FieldError.required("spec.podManagementPolicy", "")]
      : policy === "OrderedReady" || policy === "Parallel"
      ? []
      : [FieldError.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")]),
    ...Amounts.notNegative(object, "spec.replicas", "spec.minReadySeconds"),
    ...(service === ""
      ? []
      : Names.dnsLabel(service).map((fault) => FieldError.invalid("spec.serviceName", service, fault))),
    ...selectorAndTemplate(object, "statefulset"),
    ...MetadataRules.validateLabels(labels, "spec.template.labels"),
    ...keptRunning(object, "StatefulSet")
  ]
}

const counts = [
  "replicas",
  "readyReplicas",
  "availableReplicas",
  "updatedReplicas",
  "currentReplicas",
  "fullyLabeledReplicas",
  "unavailableReplicas",
  "terminatingReplicas",
  "observedGeneration",
  "collisionCount",
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable"
]

/** Faults of the status of a workload: counts, and which may not be greater than which. */
export const validateStatus = (...parts: ReadonlyArray<string>): Strategy["validate"] => (object) => {
  const status = objectAt(object, "status")
  const count = (field: string): number => typeof status[field] === "number" ? status[field] : 0
  const available = count("availableReplicas")
  return [
    ...Amounts.notNegativeAt("status", status, ...counts),
    ...parts.filter((field) => count(field) > count("replicas")).map((field) =>
      FieldError.invalid(`status.${field}`, count(field), "cannot be greater than status.replicas")
    ),
    ...(parts.includes("availableReplicas") && available > count("readyReplicas")
      ? [FieldError.invalid(
        "status.availableReplicas",
        available,
        `cannot be greater than ${object.kind === "StatefulSet" ? "status." : ""}readyReplicas`
      )]
      : [])
  ]
}

const uidLabel = "batch.kubernetes.io/controller-uid"

const jobLabels = (name: string, uid: string): Readonly<Record<string, string>> => ({
  "batch.kubernetes.io/job-name": name,
  "job-name": name,
  [uidLabel]: uid,
  "controller-uid": uid
})

/** A Job is told from others by labels on its Pods that the server makes up. */
export const jobCreate: Strategy["prepareCreate"] = (job) => {
  const spec = objectAt(job, "spec")
  const metadata = objectAt(job, "metadata")
  const template = objectAt(spec, "template")
  const name = stringAt(metadata, "name")
  const uid = stringAt(metadata, "uid")
  const generated = at(spec, "manualSelector") === true
    ? {}
    : jobLabels(name, uid)
  const labels = { ...objectAt(template, "metadata", "labels"), ...generated }
  return {
    ...job,
    metadata: at(metadata, "labels") === undefined && Object.keys(labels).length > 0
      ? { ...metadata, labels }
      : metadata,
    spec: {
      ...spec,
      ...(at(spec, "manualSelector") === true ? {} : { selector: { matchLabels: { [uidLabel]: uid } } }),
      template: { ...template, metadata: { ...objectAt(template, "metadata"), labels } }
    }
  }
}

/** A Job without labels has those of its template. */
export const jobUpdate: Strategy["prepareUpdate"] = (job) => {
  const metadata = objectAt(job, "metadata")
  const labels = objectAt(job, "spec", "template", "metadata", "labels")
  return Object.keys(objectAt(metadata, "labels")).length > 0 || Object.keys(labels).length === 0
    ? job
    : { ...job, metadata: { ...metadata, labels } }
}

const templateGeneration = "deprecated.daemonset.template.generation"

const withTemplateGeneration = (daemonSet: JsonValue.JsonObject, generation: number): JsonValue.JsonObject => {
  const metadata = objectAt(daemonSet, "metadata")
  const annotations = { ...objectAt(metadata, "annotations"), [templateGeneration]: String(generation) }
  return { ...daemonSet, metadata: { ...metadata, annotations } }
}

/** A DaemonSet counts the changes of its template in an annotation. */
export const daemonSetCreate: Strategy["prepareCreate"] = (daemonSet) => withTemplateGeneration(daemonSet, 1)

/** It is not an annotation that could be lost. */
export const daemonSetStatus: Strategy["prepareStatus"] = (next, previous) =>
  withTemplateGeneration(next, Number(previous.metadata.annotations?.[templateGeneration] ?? 0))

export const daemonSetUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const count = Number(previous.metadata.annotations?.[templateGeneration] ?? 0)
  const changed = !JsonValue.equals(at(next, "spec", "template"), at(previous, "spec", "template"))
  return withTemplateGeneration(next, count + (changed ? 1 : 0))
}

/** What the server has put into a Job it must find there again. */
const generatedFaults = (job: KubeObject): Faults => {
  if (at(job, "spec", "manualSelector") === true) return []
  const generated = jobLabels(stringAt(job, "metadata", "name"), job.metadata.uid)
  const labels = objectAt(job, "spec", "template", "metadata", "labels")
  const selector = Selector.fromObject(objectAt(job, "spec", "selector") as Selector.LabelSelectorObject) ?? []
  return [
    ...Object.entries(generated).flatMap(([key, value]) => {
      const path = `spec.template.metadata.labels[${key}]`
      return labels[key] === undefined
        ? [FieldError.required(path, `must be '${value}'`)]
        : labels[key] === value
        ? []
        : [FieldError.invalid(path, labels[key], `must be '${value}'`)]
    }),
    ...(Selector.matchesLabels(selector, generated)
      ? []
      : [FieldError.invalid("spec.selector", at(job, "spec", "selector") ?? null, "`selector` not auto-generated")])
  ]
}

/** No selector selects nothing. */
const jobSelectorFaults = (job: KubeObject): Faults => {
  const labels = objectAt(job, "spec", "template", "metadata", "labels") as Readonly<Record<string, string>>
  const selector = Selector.fromObject(at(job, "spec", "selector") as Selector.LabelSelectorObject | undefined)
  return selector !== undefined && Selector.matchesLabels(selector, labels)
    ? []
    : [FieldError.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]
}

/** Faults of a Job. */
export const validateJob: Strategy["validate"] = (job) => {
  const policy = stringAt(job, "spec", "template", "spec", "restartPolicy")
  const restart = "spec.template.spec.restartPolicy"
  return [
    ...Amounts.notNegative(
      job,
      "spec.parallelism",
      "spec.completions",
      "spec.activeDeadlineSeconds",
      "spec.backoffLimit",
      "spec.ttlSecondsAfterFinished",
      "spec.backoffLimitPerIndex",
      "spec.maxFailedIndexes"
    ),
    ...(at(job, "spec", "selector") === undefined
      ? [FieldError.required("spec.selector", "")]
      : selectorFaults(at(job, "spec", "selector"), "spec.selector")),
    ...jobSelectorFaults(job),
    ...(at(job, "spec", "selector") === undefined ? [] : generatedFaults(job)),
    ...PodSpecRules.podTemplate(objectAt(job, "spec", "template"), "spec.template"),
    ...(policy === "Always" || policy === ""
      ? [FieldError.required(restart, `valid values: "OnFailure", "Never"`)]
      : policy === "Never" || policy === "OnFailure"
      ? []
      : [FieldError.notSupported(restart, policy, ["OnFailure", "Never"])])
  ]
}

/** Faults of an update of a Job. */
export const validateJobUpdate: Strategy["validateUpdate"] = (next, previous) => [
  ...immutable("spec.selector", "spec.completionMode")(next, previous),
  // A suspended Job's template may be changed by whoever schedules it.
  ...(at(previous, "spec", "suspend") === true ? [] : immutable("spec.template")(next, previous)),
  ...(stringAt(previous, "spec", "completionMode") === "Indexed" ? [] : immutable("spec.completions")(next, previous))
]

/** Faults of an update of a StatefulSet. */
export const validateStatefulSetUpdate = specExcept(
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  (spec) =>
    omit(
      spec,
      "replicas",
      "ordinals",
      "template",
      "updateStrategy",
      "revisionHistoryLimit",
      "persistentVolumeClaimRetentionPolicy",
      "minReadySeconds"
    )
)
