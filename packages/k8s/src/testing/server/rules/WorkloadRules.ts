/**
 * `WorkloadRules`: validates Deployments, ReplicaSets and DaemonSets, and the status of all workloads.
 *
 * Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go and pkg/registry/apps.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as Amounts from "./Amounts.ts"
import * as PodSpecRules from "./pods/PodSpecRules.ts"
import * as TemplateRules from "./pods/TemplateRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const strategyFields: GoStruct.Fields = [
  ["type", "\"\""],
  ["rollingUpdate", "null", [["maxUnavailable", "0"], ["maxSurge", "0"]]]
]

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
      const faults = Amounts.percentOrCount(object, `${path}.maxUnavailable`)
      return [
        ...faults,
        ...Amounts.percentOrCount(object, `${path}.maxSurge`),
        ...(Amounts.value(maxSurge) === 0 && Amounts.value(maxUnavailable) === 0
          ? [FieldError.invalid(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")]
          : []),
        ...(faults.length > 0 ? [] : Amounts.countOrPercent(object, `${path}.maxUnavailable`))
      ]
    }
    default:
      return [{
        ...FieldError.notSupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"]),
        printed: GoStruct.print(strategy, strategyFields)
      }]
  }
}

const replicaSetTemplate = (object: KubeObject) => (): Faults => {
  const template = TemplateRules.templateOf(object)
  return [...PodSpecRules.podTemplate(template, "spec.template"), ...TemplateRules.keptRunning(template, "ReplicaSet")]
}

const ofReplicaSet = { kind: "deployment", unreadable: "invalid label selector" }

/** Faults of a Deployment. */
export const validateDeployment: Strategy["validate"] = (object) => {
  const deadline = at(object, "spec", "progressDeadlineSeconds")
  const ready = at(object, "spec", "minReadySeconds") ?? 0
  return [
    ...Amounts.notNegative(object, "spec.replicas"),
    ...TemplateRules.selectorAndTemplate(object, ofReplicaSet, replicaSetTemplate(object)),
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
  ...TemplateRules.selectorAndTemplate(object, ofReplicaSet, replicaSetTemplate(object))
]

const rollingDaemons = (object: KubeObject): Faults => {
  const path = "spec.updateStrategy.rollingUpdate"
  const amounts = ["maxUnavailable", "maxSurge"].map((field) => `${path}.${field}`)
  const { maxSurge, maxUnavailable } = objectAt(object, ...path.split("."))
  const [surges, lacks] = [maxSurge, maxUnavailable].map((amount) => Amounts.value(amount ?? 0) !== 0)
  return [
    ...amounts.flatMap((amount) => Amounts.percentOrCount(object, amount)),
    ...amounts.flatMap((amount) =>
      Amounts.percentOrCount(object, amount).length > 0 ? [] : Amounts.countOrPercent(object, amount)
    ),
    ...(surges && lacks
      ? [FieldError.invalid(`${path}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero")]
      : !surges && !lacks
      ? [FieldError.required(`${path}.maxUnavailable`, "cannot be 0 when maxSurge is 0")]
      : [])
  ]
}

const daemonStrategy = (object: KubeObject): Faults => {
  const path = "spec.updateStrategy"
  const strategy = at(object, "spec", "updateStrategy")
  switch (stringAt(strategy, "type")) {
    case "OnDelete":
      return []
    case "RollingUpdate":
      return at(strategy, "rollingUpdate") === undefined
        ? [FieldError.required(`${path}.rollingUpdate`, "")]
        : rollingDaemons(object)
    default:
      return [{
        ...FieldError.notSupported(path, strategy, ["RollingUpdate", "OnDelete"]),
        printed: GoStruct.print(strategy, strategyFields)
      }]
  }
}

/** Faults of a DaemonSet. */
export const validateDaemonSet: Strategy["validate"] = (object) => [
  ...TemplateRules.selectorBesideTemplate(object, "daemonset"),
  ...PodSpecRules.podTemplate(TemplateRules.templateOf(object), "spec.template"),
  ...TemplateRules.keptRunning(TemplateRules.templateOf(object), "DaemonSet"),
  ...Amounts.notNegative(object, "spec.minReadySeconds"),
  ...daemonStrategy(object),
  ...Amounts.notNegative(object, "spec.revisionHistoryLimit")
]

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

/** Kinds whose status counts collisions of generated names. */
const collide: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"])

const collisions = (object: KubeObject): number | undefined =>
  at(object, "status", "collisionCount") as number | undefined

/** A missing count is less than any other. */
const fewer = (next: number | undefined, previous: number | undefined): boolean =>
  previous !== undefined && (next === undefined || next < previous)

/** Faults of the status of a workload: its counts, and their upper bounds. */
export const validateStatus = (...parts: ReadonlyArray<string>): Strategy["validateStatus"] => (object, previous) => {
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
      : []),
    ...(collide.has(object.kind) && fewer(collisions(object), collisions(previous))
      ? [FieldError.invalid("status.collisionCount", collisions(object) ?? 0, "cannot be decremented")]
      : [])
  ]
}

const templateGeneration = "deprecated.daemonset.template.generation"

const withTemplateGeneration = (daemonSet: JsonValue.JsonObject, generation: number): JsonValue.JsonObject => {
  const metadata = objectAt(daemonSet, "metadata")
  const annotations = { ...objectAt(metadata, "annotations"), [templateGeneration]: String(generation) }
  return { ...daemonSet, metadata: { ...metadata, annotations } }
}

/**
 * The template generation of a DaemonSet is 0 before it is stored, so the annotation belongs to the client that writes
 * it. Unlike fields that are added only to responses, it has an owner.
 *
 * Source: k8s.io/kubernetes/pkg/apis/apps/v1/conversion.go `Convert_apps_DaemonSet_To_v1_DaemonSet`.
 */
export const counted = (daemonSet: JsonValue.JsonObject): JsonValue.JsonObject =>
  at(daemonSet, "metadata", "annotations", templateGeneration) === undefined
    ? withTemplateGeneration(daemonSet, 0)
    : daemonSet

/** A DaemonSet counts the changes of its template in an annotation, beginning with the given value. */
export const daemonSetCreate: Strategy["prepareCreate"] = (daemonSet) => {
  const given = stringAt(daemonSet, "metadata", "annotations", templateGeneration)
  return withTemplateGeneration(daemonSet, /^\+?[1-9]\d{0,15}$/.test(given) ? Number(given) : 1)
}

/** A write of the status cannot remove the annotation. */
export const daemonSetStatus: Strategy["prepareStatus"] = (next, previous) =>
  withTemplateGeneration(next, Number(previous.metadata.annotations?.[templateGeneration] ?? 0))

export const daemonSetUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const count = Number(previous.metadata.annotations?.[templateGeneration] ?? 0)
  const changed = !JsonValue.equals(at(next, "spec", "template"), at(previous, "spec", "template"))
  return withTemplateGeneration(next, count + (changed ? 1 : 0))
}
