/**
 * `AutoscalerConversion`: converts HorizontalPodAutoscalers between autoscaling/v1, which has only the CPU metric, and
 * autoscaling/v2, in which they are stored.
 *
 * Fields that v1 lacks become annotations of the v1 object, in the form of older API versions, so that reading and
 * writing in v1 loses nothing. The annotations are generated at every read and never stored. An annotation that cannot
 * be parsed is ignored.
 *
 * Source: k8s.io/kubernetes/pkg/apis/autoscaling/v1/conversion.go and the types of k8s.io/api/autoscaling/v1.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import { Fault } from "../../schema/GoFault.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as BuiltinSchema from "./go/BuiltinSchema.ts"

type Object_ = JsonValue.JsonObject

const prefix = "autoscaling.alpha.kubernetes.io/"

/** An object with the fields that have a value. */
const given = (fields: Object_): Object_ =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** One type of metric: its field in both versions, and its conversions. */
interface Form {
  /** The field of a metric that contains it. */
  readonly field: string
  readonly toV1: (source: unknown, values: Object_) => Object_
  readonly toV2: (source: Object_, values: Values) => Object_
}

/** The values of a metric in v1: its target (`target…`) or its current value (`current…`). */
interface Values {
  readonly value: unknown
  readonly averageValue: unknown
  readonly averageUtilization: unknown
}

/** The prefix of value fields in v1. */
type Aspect = "target" | "current"

const named = (source: unknown): Object_ =>
  given({ name: at(source, "metricName"), selector: at(source, "selector") ?? at(source, "metricSelector") })

const forms = (aspect: Aspect): Readonly<Record<string, Form>> => {
  const own = (name: string) => `${aspect}${name}`
  return {
    Object: {
      field: "object",
      toV1: (source, { averageValue, value }) => ({
        target: at(source, "describedObject"),
        metricName: at(source, "metric", "name"),
        [own("Value")]: value ?? "0",
        selector: at(source, "metric", "selector"),
        averageValue
      }),
      toV2: (source, { value }) => ({
        describedObject: source["target"],
        metric: named(source),
        [aspect]: given({
          ...(aspect === "target" ? { type: source["averageValue"] === undefined ? "Value" : "AverageValue" } : {}),
          value,
          averageValue: source["averageValue"]
        })
      })
    },
    Pods: {
      field: "pods",
      toV1: (source, { averageValue }) => ({
        metricName: at(source, "metric", "name"),
        [own("AverageValue")]: averageValue ?? "0",
        selector: at(source, "metric", "selector")
      }),
      toV2: (source, { averageValue }) => ({
        metric: named(source),
        [aspect]: given({ ...(aspect === "target" ? { type: "AverageValue" } : {}), averageValue })
      })
    },
    Resource: resource("resource", aspect),
    ContainerResource: resource("containerResource", aspect),
    External: {
      field: "external",
      toV1: (source, { averageValue, value }) => ({
        metricName: at(source, "metric", "name"),
        metricSelector: at(source, "metric", "selector"),
        [own("Value")]: aspect === "target" ? value : value ?? "0",
        [own("AverageValue")]: averageValue
      }),
      toV2: (source, { averageValue, value }) => ({
        metric: named(source),
        [aspect]: given({
          ...(aspect === "target" ? { type: value === undefined ? "AverageValue" : "Value" } : {}),
          value,
          averageValue
        })
      })
    }
  }
}

const resource = (field: string, aspect: Aspect): Form => ({
  field,
  toV1: (source, { averageUtilization, averageValue }) => ({
    name: at(source, "name"),
    [`${aspect}AverageUtilization`]: averageUtilization,
    [`${aspect}AverageValue`]: aspect === "target" ? averageValue : averageValue ?? "0",
    container: at(source, "container")
  }),
  toV2: (source, { averageUtilization, averageValue }) =>
    given({
      name: source["name"],
      container: source["container"],
      [aspect]: given({
        ...(aspect === "target" ? { type: averageUtilization === undefined ? "AverageValue" : "Utilization" } : {}),
        averageUtilization,
        averageValue
      })
    })
})

const wanted = forms("target")
const present = forms("current")

const metricToV1 = (aspect: Aspect) => (metric: unknown): Object_ => {
  const type = stringAt(metric, "type")
  const form = (aspect === "target" ? wanted : present)[type]
  if (form === undefined) return { type }
  const source = at(metric, form.field)
  return source === undefined ? { type } : { type, [form.field]: given(form.toV1(source, objectAt(source, aspect))) }
}

const metricToV2 = (aspect: Aspect) => (metric: unknown): unknown => {
  const type = stringAt(metric, "type")
  const form = (aspect === "target" ? wanted : present)[type]
  const source = form === undefined ? undefined : at(metric, form.field)
  if (form === undefined || !JsonValue.isObject(source)) return metric
  const values = {
    value: source[`${aspect}Value`],
    averageValue: source[`${aspect}AverageValue`],
    averageUtilization: source[`${aspect}AverageUtilization`]
  }
  return { type, [form.field]: form.toV2(source, values) }
}

/** The fields of scaling rules in the behavior annotation, by the names of Go's fields, all of which are present. */
const ruleFields = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"]
const policyFields = ["type", "value", "periodSeconds"]

const goName = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`

const goFields = (value: unknown, names: ReadonlyArray<string>, inner: (value: unknown, name: string) => unknown) =>
  JsonValue.isObject(value)
    ? Object.fromEntries(names.map((name) => [goName(name), inner(value[name] ?? null, name)]))
    : value

const behaviorToV1 = (behavior: unknown): unknown =>
  goFields(
    behavior,
    ["scaleUp", "scaleDown"],
    (rules) =>
      goFields(rules, ruleFields, (value, name) =>
        name === "policies" && JsonValue.isArray(value)
          ? value.map((policy) => goFields(policy, policyFields, (field) => field))
          : value)
  )

/** The same value with the field names of the API, since Go matches its own names in any case. */
const apiNames = (value: unknown, names: ReadonlyArray<string>): unknown => {
  if (JsonValue.isArray(value)) return value.map((item) => apiNames(item, names))
  if (!JsonValue.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const name = names.find((known) => known.toLowerCase() === key.toLowerCase())
      return name === undefined || item === null ? [] : [[name, apiNames(item, names)]]
    })
  )
}

const behaviorToV2 = (behavior: unknown): unknown =>
  apiNames(behavior, ["scaleUp", "scaleDown", ...ruleFields, ...policyFields])

/** The annotations that replace fields, by the part that they belong to. */
const annotations = { spec: ["metrics", "behavior"], status: ["current-metrics", "conditions"] }

const standIn: ReadonlySet<string> = new Set(Object.values(annotations).flat().map((name) => prefix + name))

/**
 * An autoscaler in v1 with the annotations of the previous object for one part: a write to one part does not change the
 * other.
 */
export const keeping = (part: "spec" | "status") => (next: Object_, previous?: object): Object_ => {
  if (stringAt(next, "apiVersion") !== "autoscaling/v1") return next
  const names = annotations[part].map((name) => prefix + name)
  const own = Object.entries(objectAt(next, "metadata", "annotations")).filter(([key]) => !names.includes(key))
  const kept = names.flatMap((name) => {
    const value = at(previous, "metadata", "annotations", name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const { annotations: _, ...metadata } = objectAt(next, "metadata")
  const all = Object.fromEntries([...own, ...kept])
  return { ...next, metadata: Object.keys(all).length === 0 ? metadata : { ...metadata, annotations: all } }
}

/** Metadata without the annotations that replace fields, and with the given ones. */
const annotated = (object: KubeObject, more: Readonly<Record<string, string>>): KubeObject["metadata"] => {
  const { annotations: before = {}, ...metadata } = object.metadata
  const own = Object.entries(before).filter(([key]) => !standIn.has(key))
  const after = { ...Object.fromEntries(own), ...more }
  return Object.keys(after).length === 0 ? metadata : { ...metadata, annotations: after }
}

const isCpu = (metric: unknown, aspect: Aspect): boolean =>
  stringAt(metric, "type") === "Resource" && stringAt(metric, "resource", "name") === "cpu" &&
  at(metric, "resource", aspect, "averageUtilization") !== undefined

const list = (name: string, items: ReadonlyArray<unknown>): Readonly<Record<string, string>> =>
  items.length === 0 ? {} : { [prefix + name]: JSON.stringify(items) }

/** A condition as v1 writes it. */
const conditionToV1 = (condition: unknown): Object_ => ({
  type: at(condition, "type"),
  status: at(condition, "status"),
  lastTransitionTime: at(condition, "lastTransitionTime") ?? null,
  ...given({ reason: at(condition, "reason"), message: at(condition, "message") })
})

/** A v2 autoscaler in v1. */
export const toV1 = (autoscaler: KubeObject): KubeObject => {
  const { behavior, metrics, ...spec } = objectAt(autoscaler, "spec")
  const { conditions, currentMetrics, ...status } = objectAt(autoscaler, "status")
  const cpu = arrayAt(metrics).find((metric) => isCpu(metric, "target"))
  const now = arrayAt(currentMetrics).find((metric) => isCpu(metric, "current"))
  const others = arrayAt(metrics).filter((metric) => !isCpu(metric, "target"))
  return asObject({
    ...autoscaler,
    apiVersion: "autoscaling/v1",
    metadata: annotated(autoscaler, {
      ...list("metrics", others.map(metricToV1("target"))),
      ...(behavior === undefined ? {} : { [`${prefix}behavior`]: JSON.stringify(behaviorToV1(behavior)) }),
      ...list("current-metrics", arrayAt(currentMetrics).map(metricToV1("current"))),
      ...list("conditions", arrayAt(conditions).map(conditionToV1))
    }),
    spec: given({ ...spec, targetCPUUtilizationPercentage: at(cpu, "resource", "target", "averageUtilization") }),
    ...(at(autoscaler, "status") === undefined ? {} : {
      status: given({
        // Present even if 0.
        currentReplicas: 0,
        ...status,
        currentCPUUtilizationPercentage: at(now, "resource", "current", "averageUtilization")
      })
    })
  })
}

const types = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"

/** The value of a v2 field in an annotation; undefined if there is none, or if the field cannot hold it. */
const said = (
  autoscaler: object,
  name: string,
  [part, field]: readonly [part: "Spec" | "Status", field: string],
  read: (value: unknown) => unknown
): unknown => {
  const text = stringAt(autoscaler, "metadata", "annotations", prefix + name)
  const value = Result.try((): unknown => JSON.parse(text))
  if (Result.isFailure(value)) return undefined
  const fitting = BuiltinSchema.field(`${types}${part}`, field, read(value.success), [])
  const empty = fitting instanceof Fault || typeof fitting !== "object" || fitting === null ||
    Object.keys(fitting).length === 0
  return empty ? undefined : fitting
}

const items = (read: (item: unknown) => unknown) => (value: unknown) =>
  JsonValue.isArray(value) ? value.map(read) : value

const cpuMetric = (aspect: Aspect, utilization: unknown): Object_ => ({
  type: "Resource",
  resource: {
    name: "cpu",
    [aspect]: { ...(aspect === "target" ? { type: "Utilization" } : {}), averageUtilization: utilization }
  }
})

/** The metrics in the annotations of a v1 autoscaler; undefined if there are none. */
export const otherMetrics = (autoscaler: object): ReadonlyArray<unknown> | undefined => {
  const metrics = said(autoscaler, "metrics", ["Spec", "metrics"], items(metricToV2("target")))
  return metrics === undefined ? undefined : arrayAt(metrics)
}

/**
 * A v1 autoscaler as it is after decoding, which reads it as v2: without annotations that cannot be parsed or that say
 * nothing.
 */
export const decoded = (autoscaler: KubeObject): KubeObject => toV1(toV2(autoscaler))

/** A v1 autoscaler in v2. */
export const toV2 = (autoscaler: KubeObject): KubeObject => {
  const { targetCPUUtilizationPercentage: target, ...spec } = objectAt(autoscaler, "spec")
  const { currentCPUUtilizationPercentage: current, currentReplicas: replicas, ...status } = objectAt(
    autoscaler,
    "status"
  )
  const metrics = [...otherMetrics(autoscaler) ?? [], ...(target === undefined ? [] : [cpuMetric("target", target)])]
  const own = current === undefined ? null : [cpuMetric("current", current)]
  const readCurrent = items(metricToV2("current"))
  return asObject({
    ...autoscaler,
    apiVersion: "autoscaling/v2",
    metadata: annotated(autoscaler, {}),
    spec: given({
      ...spec,
      metrics: metrics.length === 0 ? undefined : metrics,
      behavior: said(autoscaler, "behavior", ["Spec", "behavior"], behaviorToV2)
    }),
    ...(at(autoscaler, "status") === undefined ? {} : {
      status: given({
        ...status,
        currentReplicas: replicas === 0 ? undefined : replicas,
        // Present even if empty.
        currentMetrics: said(autoscaler, "current-metrics", ["Status", "currentMetrics"], readCurrent) ?? own,
        conditions: said(autoscaler, "conditions", ["Status", "conditions"], (value) => value)
      })
    })
  })
}
