/**
 * `AutoscalerRules`: validates HorizontalPodAutoscalers.
 *
 * Source: k8s.io/kubernetes/pkg/apis/autoscaling/validation/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import { keeping, toV2 } from "../AutoscalerConversion.ts"
import type { Strategy } from "../Strategy.ts"
import * as Quantity from "../../../api/Quantity.ts"
import * as Amounts from "./Amounts.ts"
import { type Faults, invalids, label, oneOfGiven, optional, segment, when } from "./Checks.ts"
import * as ResourceRules from "./pods/ResourceRules.ts"

const numberAt = (object: unknown, field: string): number | undefined => {
  const value = at(object, field)
  return typeof value === "number" ? value : undefined
}

const reference = (value: unknown, path: string, needsGroup: boolean): Faults => {
  const version = stringAt(value, "apiVersion")
  const why = version.split("/").length > 2
    ? `unexpected GroupVersion string: ${version}`
    : needsGroup && !version.includes("/")
    ? "apiVersion must specify API group"
    : undefined
  return [
    ...segment(value, path, "kind", "name"),
    ...(why === undefined ? [] : [FieldError.invalid(`${path}.apiVersion`, version, why)])
  ]
}

const targetTypes = ["Utilization", "Value", "AverageValue"]

const targetFaults = (target: unknown, path: string): Faults => {
  const type = stringAt(target, "type")
  const utilization = numberAt(target, "averageUtilization")
  return [
    ...when(type === "", FieldError.required(`${path}.type`, "must specify a metric target type")),
    ...when(
      !targetTypes.includes(type),
      FieldError.invalid(`${path}.type`, type, "must be either Utilization, Value, or AverageValue")
    ),
    ...["value", "averageValue"].flatMap((field) => {
      const amount = at(target, field)
      return when(
        amount !== undefined && Quantity.compare(String(amount), "0") <= 0,
        FieldError.invalid(`${path}.${field}`, amount, "must be positive")
      )
    }),
    ...when(
      utilization !== undefined && utilization < 1,
      FieldError.invalid(`${path}.averageUtilization`, utilization, "must be greater than 0")
    )
  ]
}

const metricFaults = (metric: unknown, path: string): Faults => {
  const name = stringAt(metric, "name")
  return name === ""
    ? [FieldError.required(`${path}.name`, "must specify a metric name")]
    : invalids(`${path}.name`, name, Names.pathSegment(name))
}

type Source = (source: unknown, path: string) => Faults

const isSet = (source: unknown, field: string): boolean => at(source, "target", field) !== undefined

/** The target of a resource metric: an amount or a utilization. */
const used: Source = (source, path) => [
  ...targetFaults(at(source, "target"), `${path}.target`),
  ...when(
    !isSet(source, "averageUtilization") && !isSet(source, "averageValue"),
    FieldError.required(
      `${path}.target.averageUtilization`,
      "must set either a target raw value or a target utilization"
    )
  ),
  ...when(
    isSet(source, "averageUtilization") && isSet(source, "averageValue"),
    FieldError.forbidden(
      `${path}.target.averageValue`,
      "may not set both a target raw value and a target utilization"
    )
  )
]

const measured: Source = (source, path) => [
  ...metricFaults(at(source, "metric"), `${path}.metric`),
  ...targetFaults(at(source, "target"), `${path}.target`)
]

const resourceName: Source = (source, path) =>
  when(stringAt(source, "name") === "", FieldError.required(`${path}.name`, "must specify a resource name"))

/** In the order in which the server checks them. */
const sources: Readonly<Record<string, Source>> = {
  object: (source, path) => [
    ...reference(at(source, "describedObject"), `${path}.describedObject`, false),
    ...measured(source, path),
    ...when(
      !isSet(source, "value") && !isSet(source, "averageValue"),
      FieldError.required(`${path}.target.averageValue`, "must set either a target value or averageValue")
    )
  ],
  external: (source, path) => [
    ...measured(source, path),
    ...when(
      !isSet(source, "value") && !isSet(source, "averageValue"),
      FieldError.required(
        `${path}.target.averageValue`,
        "must set either a target value for metric or a per-pod target"
      )
    ),
    ...when(
      isSet(source, "value") && isSet(source, "averageValue"),
      FieldError.forbidden(
        `${path}.target.value`,
        "may not set both a target value for metric and a per-pod target"
      )
    )
  ],
  pods: (source, path) => [
    ...measured(source, path),
    ...when(
      !isSet(source, "averageValue"),
      FieldError.required(`${path}.target.averageValue`, "must specify a positive target averageValue")
    )
  ],
  resource: (source, path) => [...resourceName(source, path), ...used(source, path)],
  containerResource: (source, path) => {
    const name = stringAt(source, "name")
    return [
      ...(name === "" ? resourceName(source, path) : ResourceRules.containerName(`${path}.name`, name)),
      ...(stringAt(source, "container") === ""
        ? [FieldError.required(`${path}.container`, "must specify a container")]
        : label(source, "container", path)),
      ...used(source, path)
    ]
  }
}

const fieldOf: Readonly<Record<string, string>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource"
}

const specFaults = (metric: unknown, path: string): Faults => {
  const type = stringAt(metric, "type")
  const unknown = oneOfGiven(metric, "type", path, Object.keys(fieldOf))
  const given = Object.keys(sources).filter((source) => at(metric, source) !== undefined)
  const expected = fieldOf[type]
  const [first] = given
  return [
    ...when(type === "", FieldError.required(`${path}.type`, "must specify a metric source type")),
    ...unknown,
    ...(first === undefined ? [] : sources[first]!(at(metric, first), `${path}.${first}`)),
    // An unknown type is reported twice.
    ...(expected === undefined ? unknown : when(
      !given.includes(expected),
      FieldError.required(`${path}.${expected}`, "must populate information for the given metric source")
    )),
    ...(given.length === 1 ?
      [] :
      given.filter((source) => source !== expected).map((source) =>
        FieldError.forbidden(`${path}.${source}`, "must populate the given metric source only")
      ))
  ]
}

const longestWindow = 3600
const longestPeriod = 1800

const policyFaults = (policy: unknown, path: string): Faults => {
  const seconds = numberAt(policy, "periodSeconds") ?? 0
  return [
    ...oneOfGiven(policy, "type", path, ["Percent", "Pods"]),
    ...["value", "periodSeconds"].flatMap((field) => {
      const value = numberAt(policy, field) ?? 0
      return when(value <= 0, FieldError.invalid(`${path}.${field}`, value, "must be greater than zero"))
    }),
    ...when(
      seconds > longestPeriod,
      FieldError.invalid(`${path}.periodSeconds`, seconds, `must be less than or equal to ${longestPeriod}`)
    )
  ]
}

const rulesFaults = (rules: unknown, path: string): Faults => {
  if (rules === undefined) return []
  const seconds = numberAt(rules, "stabilizationWindowSeconds") ?? 0
  const policies = arrayAt(rules, "policies")
  const bound = (wrong: boolean, why: string) =>
    when(wrong, FieldError.invalid(`${path}.stabilizationWindowSeconds`, seconds, why))
  const tolerance = at(rules, "tolerance")
  return [
    ...bound(seconds < 0, "must be greater than or equal to zero"),
    ...bound(seconds > longestWindow, `must be less than or equal to ${longestWindow}`),
    ...optional(rules, "selectPolicy", path, ["Disabled", "Max", "Min"]),
    ...when(policies.length === 0, FieldError.required(`${path}.policies`, "must specify at least one Policy")),
    ...policies.flatMap((policy, index) => policyFaults(policy, `${path}.policies[${index}]`)),
    ...(tolerance === undefined ? [] : ResourceRules.amount(`${path}.tolerance`, "", tolerance))
  ]
}

/** The version that has one target number, and annotations instead of the metrics of later versions. */
const firstVersion = "autoscaling/v1"

/** Faults of a HorizontalPodAutoscaler. */
const validate: Strategy["validate"] = (object, previous) => {
  const spec = objectAt(stringAt(object, "apiVersion") === firstVersion ? toV2(object) : object, "spec")
  const [least, most] = [numberAt(spec, "minReplicas"), numberAt(spec, "maxReplicas") ?? 0]
  const metrics = arrayAt(spec, "metrics")
  // `minReplicas` may be 0 only if it was 0 before. An invalid reference may be kept.
  const lowest = previous !== undefined && numberAt(at(previous, "spec"), "minReplicas") === 0 ? 0 : 1
  const same = ["apiVersion", "kind"].every((field) =>
    at(spec, "scaleTargetRef", field) === at(previous, "spec", "scaleTargetRef", field)
  )
  return [
    ...when(
      least !== undefined && least < lowest,
      FieldError.invalid("spec.minReplicas", least, `must be greater than or equal to ${lowest}`)
    ),
    ...when(most < 1, FieldError.invalid("spec.maxReplicas", most, "must be greater than 0")),
    ...when(
      least !== undefined && most < least,
      FieldError.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    ),
    ...(previous === undefined || !same
      ? reference(at(spec, "scaleTargetRef"), "spec.scaleTargetRef", needsGroup(spec))
      : segment(at(spec, "scaleTargetRef"), "spec.scaleTargetRef", "kind", "name")),
    ...metrics.flatMap((metric, index) => specFaults(metric, `spec.metrics[${index}]`)),
    ...when(
      least === 0 && !metrics.some((metric) => ["Object", "External"].includes(stringAt(metric, "type"))),
      FieldError.forbidden(
        "spec.metrics",
        "must specify at least one Object or External metric to support scaling to zero replicas"
      )
    ),
    ...rulesFaults(at(spec, "behavior", "scaleUp"), "spec.behavior.scaleUp"),
    ...rulesFaults(at(spec, "behavior", "scaleDown"), "spec.behavior.scaleDown")
  ]
}

/** ReplicationController is the only scalable kind without a group. */
const needsGroup = (spec: unknown): boolean => stringAt(spec, "scaleTargetRef", "kind") !== "ReplicationController"

export const strategy: Partial<Strategy> = {
  prepareCreate: (object) => keeping("status")(object),
  prepareUpdate: keeping("status"),
  prepareStatus: keeping("spec"),
  validate,
  validateStatus: (object) => Amounts.notNegative(object, "status.currentReplicas", "status.desiredReplicas")
}
