/**
 * `JobRules`: validates Jobs and their updates, and generates their labels and selector.
 *
 * The Job template of a CronJob is validated like a Job, except for the selector, which is generated for each Job.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Names from "../../../api/Names.ts"
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as Amounts from "./Amounts.ts"
import { domainPath } from "./Checks.ts"
import { immutable, immutablePart, omit } from "./Immutability.ts"
import * as JobPolicyRules from "./JobPolicyRules.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"
import * as PodSpecRules from "./pods/PodSpecRules.ts"
import * as TemplateRules from "./pods/TemplateRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const uidLabel = "batch.kubernetes.io/controller-uid"

const jobLabels = (name: string, uid: string): Readonly<Record<string, string>> => ({
  "controller-uid": uid,
  "job-name": name,
  [uidLabel]: uid,
  "batch.kubernetes.io/job-name": name
})

const withUid = (selector: unknown, uid: string): unknown => ({
  ...objectAt(selector),
  matchLabels: { [uidLabel]: uid, ...objectAt(selector, "matchLabels") }
})

/**
 * The labels of a Job default to those of its template, and then share one map with them.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/v1/defaults.go `SetDefaults_Job`.
 */
export const withLabels = (job: JsonValue.JsonObject): JsonValue.JsonObject => {
  const labels = objectAt(job, "spec", "template", "metadata", "labels")
  const metadata = objectAt(job, "metadata")
  return Object.keys(labels).length === 0 || Object.keys(objectAt(metadata, "labels")).length > 0
    ? job
    : { ...job, metadata: { ...metadata, labels } }
}

/** Generates the labels of a Job's Pods, and the selector for them. */
export const prepareCreate: Strategy["prepareCreate"] = (job) => {
  const spec = objectAt(job, "spec")
  const metadata = objectAt(job, "metadata")
  const template = objectAt(spec, "template")
  const name = stringAt(metadata, "name")
  const uid = stringAt(metadata, "uid")
  const generated = at(spec, "manualSelector") === true
    ? {}
    : jobLabels(name, uid)
  const own = objectAt(template, "metadata", "labels")
  // Existing labels are kept, and refused by validation if they differ from the generated ones.
  const labels = { ...generated, ...own }
  // A Job with a generated name is copied for each attempt, so the shared map becomes two.
  const shared = metadata["labels"] === own && stringAt(metadata, "generateName") === ""
  return withLabels({
    ...job,
    metadata: shared ? { ...metadata, labels } : metadata,
    spec: {
      ...spec,
      ...(at(spec, "manualSelector") === true ? {} : { selector: withUid(at(spec, "selector"), uid) }),
      template: Object.keys(labels).length === 0
        ? template
        : { ...template, metadata: { ...objectAt(template, "metadata"), labels } }
    }
  })
}

/**
 * Warns if the request does not say what happens to the Pods.
 *
 * Source: k8s.io/kubernetes/pkg/registry/batch/job/storage/storage.go `Delete`, `DeleteCollection`.
 */
export const deletionWarnings: Strategy["deletionWarnings"] = ({ orphanDependents, propagationPolicy }) =>
  orphanDependents !== undefined || propagationPolicy !== undefined ? [] : [
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set " +
    "propagationPolicy=Orphan to suppress this warning"
  ]

const isReadable = (selector: unknown): boolean => LabelSelectorRules.validate(selector, "").length === 0

/** Faults of the labels and selector that the server has generated. */
const generatedFaults = (job: KubeObject): Faults => {
  if (at(job, "spec", "manualSelector") === true) return []
  const selected = at(job, "spec", "selector")
  if (selected === undefined) return []
  const generated = jobLabels(stringAt(job, "metadata", "name"), job.metadata.uid)
  const labels = TemplateRules.labelsOf(TemplateRules.templateOf(job))
  const selector = isReadable(selected) ? Selector.fromObject(selected as Selector.LabelSelectorObject) ?? [] : []
  return [
    ...Object.entries(generated).flatMap(([key, value]) => {
      const path = `spec.template.metadata.labels[${key}]`
      return labels[key] === undefined
        ? [FieldError.required(path, `must be '${value}'`)]
        : labels[key] === value
        ? []
        : [FieldError.invalid(path, labels, `must be '${value}'`)]
    }),
    ...(Selector.matchesLabels(selector, generated)
      ? []
      : [LabelSelectorRules.refused("spec.selector", selected, "`selector` not auto-generated")])
  ]
}

/** A missing selector matches nothing. An invalid selector is not matched at all. */
const selectorFaults = (job: KubeObject): Faults => {
  const selector = at(job, "spec", "selector")
  const labels = TemplateRules.labelsOf(TemplateRules.templateOf(job))
  const faults = LabelSelectorRules.validate(selector, "spec.selector")
  if (faults.length > 0) return faults
  const parsed = Selector.fromObject(selector as Selector.LabelSelectorObject | undefined)
  return [
    ...(selector === undefined ? [FieldError.required("spec.selector", "")] : []),
    ...(parsed !== undefined && Selector.matchesLabels(parsed, labels)
      ? []
      : [TemplateRules.mismatch(TemplateRules.templateOf(job))])
  ]
}

const most = 100_000
const mostOfMany = 10_000

const number = (spec: unknown, field: string): number | undefined => {
  const value = at(spec, field)
  return typeof value === "number" ? value : undefined
}

/** Limits of an Indexed Job. */
const indexedFaults = (spec: unknown, path: string): Faults => {
  const [completions, parallelism, failed] = ["completions", "parallelism", "maxFailedIndexes"].map((field) =>
    number(spec, field)
  )
  const many = "when completions are above 100000 and used with backoff limit per index"
  const above = (field: string, value: number | undefined, max: number, why = "") =>
    value !== undefined && value > max
      ? [FieldError.invalid(
        `${path}.${field}`,
        value,
        `must be less than or equal to ${max}${why === "" ? "" : ` ${why}`}`
      )]
      : []
  const isMany = completions !== undefined && completions > most && number(spec, "backoffLimitPerIndex") !== undefined
  return [
    ...(completions === undefined
      ? [FieldError.required(`${path}.completions`, "when completion mode is Indexed")]
      : []),
    ...above("parallelism", parallelism, most, "when completion mode is Indexed"),
    ...(completions !== undefined && failed !== undefined && failed > completions
      ? [FieldError.invalid(`${path}.maxFailedIndexes`, failed, "must be less than or equal to completions")]
      : []),
    ...above("maxFailedIndexes", failed, most),
    ...(!isMany ? [] : [
      ...(failed === undefined
        ? [FieldError.required(`${path}.maxFailedIndexes`, "must be specified when completions is above 100000")]
        : []),
      ...above("parallelism", parallelism, mostOfMany, many),
      ...above("maxFailedIndexes", failed, mostOfMany, many)
    ])
  ]
}

const modes = ["NonIndexed", "Indexed"]

const modeFaults = (spec: unknown, path: string): Faults => {
  const mode = at(spec, "completionMode")
  return [
    ...(mode === undefined || modes.includes(String(mode))
      ? []
      : [FieldError.notSupported(`${path}.completionMode`, mode, modes)]),
    ...(mode === "Indexed" ? indexedFaults(spec, path) : []),
    ...(mode === undefined || mode === "NonIndexed"
      ? ["backoffLimitPerIndex", "maxFailedIndexes"].flatMap((field) => {
        const value = number(spec, field)
        return value === undefined
          ? []
          : [FieldError.invalid(`${path}.${field}`, value, "requires indexed completion mode")]
      })
      : [])
  ]
}

const longestManager = 63

const managerFaults = (spec: unknown, path: string): Faults => {
  const name = at(spec, "managedBy")
  if (typeof name !== "string") return []
  const here = `${path}.managedBy`
  return [
    ...domainPath(here, name),
    ...(Names.byteLength(name) > longestManager ? [FieldError.tooLong(here, longestManager)] : [])
  ]
}

const restartFaults = (spec: unknown, path: string): Faults => {
  const policy = stringAt(spec, "template", "spec", "restartPolicy")
  const here = `${path}.template.spec.restartPolicy`
  return policy === "Always" || policy === ""
    ? [FieldError.required(here, `valid values: "OnFailure", "Never"`)]
    : policy !== "Never" && policy !== "OnFailure"
    ? [FieldError.notSupported(here, policy, ["OnFailure", "Never"])]
    : policy !== "Never" && at(spec, "podFailurePolicy") !== undefined
    ? [FieldError.invalid(here, policy, `only "Never" is supported when podFailurePolicy is specified`)]
    : []
}

const amounts = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes"
]

/** Faults of the spec of a Job, except for its selector. */
export const specFaults = (spec: JsonValue.JsonObject, path: string): Faults => [
  ...Amounts.notNegativeAt(path, spec, ...amounts),
  ...(at(spec, "maxFailedIndexes") !== undefined && at(spec, "backoffLimitPerIndex") === undefined
    ? [FieldError.required(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified")]
    : []),
  ...managerFaults(spec, path),
  ...modeFaults(spec, path),
  ...JobPolicyRules.faults(spec, path),
  ...PodSpecRules.podTemplate(objectAt(spec, "template"), `${path}.template`),
  ...restartFaults(spec, path)
]

/** The Pod with the highest index must have a valid host name. */
const hostFaults = (job: KubeObject): Faults => {
  const completions = number(at(job, "spec"), "completions") ?? 0
  if (stringAt(job, "spec", "completionMode") !== "Indexed" || completions <= 0) return []
  const host = `${job.metadata.name}-${completions - 1}`
  return Names.dnsLabel(host).length === 0 ? [] : [FieldError.invalid(
    "metadata.name",
    job.metadata.name,
    `will not able to create pod with invalid DNS label: ${host}`
  )]
}

/** Faults of a Job. */
export const validate: Strategy["validate"] = (job) => [
  ...generatedFaults(job),
  ...specFaults(objectAt(job, "spec"), "spec"),
  ...selectorFaults(job),
  ...hostFaults(job)
]

/** The completions of an Indexed Job can change only together with `parallelism`. */
const completionsFaults: Strategy["validateUpdate"] = (next, previous) => {
  if (stringAt(next, "spec", "completionMode") !== "Indexed") return immutable("spec.completions")(next, previous)
  const [completions, before] = [next, previous].map((job) => at(job, "spec", "completions"))
  return completions === undefined || completions === before || completions === at(next, "spec", "parallelism")
    ? []
    : [FieldError.invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]
}

const withoutNodeAffinity = (affinity: unknown): unknown => {
  const rest = omit(objectAt(affinity), "nodeAffinity")
  return Object.keys(rest).length === 0 ? null : rest
}

/**
 * What cannot change in the template of a suspended Job that was never started: everything but its scheduling
 * directives.
 */
const unscheduled = (job: KubeObject): unknown => {
  const template = TemplateRules.templateOf(job)
  const spec = objectAt(template, "spec")
  return {
    ...omit(template, "metadata"),
    metadata: omit(objectAt(template, "metadata"), "annotations", "labels"),
    spec: {
      ...omit(spec, "nodeSelector", "tolerations", "schedulingGates"),
      affinity: withoutNodeAffinity(spec["affinity"])
    }
  }
}

const templateFaults: Strategy["validateUpdate"] = (next, previous) => {
  const waiting = at(previous, "spec", "suspend") === true && at(previous, "status", "startTime") === undefined
  return waiting && JsonValue.equals(unscheduled(next), unscheduled(previous))
    ? []
    : immutablePart("spec.template", "core.PodTemplateSpec")(next, previous)
}

/** Faults of an update. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) => [
  // The registry validates twice, and every fault is reported each time it is found.
  ...specFaults(objectAt(next, "spec"), "spec"),
  ...selectorFaults(next),
  ...completionsFaults(next, previous),
  ...LabelSelectorRules.immutable(next, previous),
  ...templateFaults(next, previous),
  ...immutable("spec.completionMode")(next, previous),
  ...immutablePart("spec.podFailurePolicy", "*batch.PodFailurePolicy")(next, previous),
  ...immutable("spec.backoffLimitPerIndex", "spec.managedBy")(next, previous),
  ...immutablePart("spec.successPolicy", "*batch.SuccessPolicy")(next, previous)
]
