/**
 * `NodeRules`: validates Nodes and their updates.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateNode`, `ValidateNodeUpdate`.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, oneOf, when } from "./Checks.ts"
import * as RangeRules from "./RangeRules.ts"
import * as ResourceRules from "./pods/ResourceRules.ts"

const taintFields: GoStruct.Fields = [["key", "\"\""], ["value", "\"\""], ["effect", "\"\""], ["timeAdded", "null"]]

/** The server's paths place taints in the metadata. */
const taintFaults = (node: unknown): Faults => {
  const seen = new Set<string>()
  return arrayAt(node, "spec", "taints").flatMap((taint, index) => {
    const path = `metadata.taints[${index}]`
    const [key, value] = [stringAt(taint, "key"), stringAt(taint, "value")]
    const pair = `${stringAt(taint, "effect")}/${key}`
    const repeated = seen.has(pair)
    seen.add(pair)
    const wrong = Names.labelValue(value)
    return [
      ...invalids(`${path}.key`, key, Names.labelKey(key)),
      ...when(wrong.length > 0, FieldError.invalid(`${path}.value`, value, wrong.join(";"))),
      ...oneOf(taint, "effect", path, ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
      ...when(repeated, {
        ...FieldError.duplicate(path, taint),
        printed: GoStruct.print(taint, taintFields),
        detail: "taints must be unique by key and effect pair"
      })
    ]
  })
}

const amountFaults = (node: unknown): Faults =>
  ["capacity", "allocatable"].flatMap((part) =>
    Object.entries(objectAt(node, "status", part)).flatMap(([name, amount]) =>
      ResourceRules.amount(`status.${part}.${name}`, name, amount)
    )
  )

const featureName = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/

/** Declared features must be valid, unique and sorted. */
const featureFaults = (node: unknown): Faults => {
  const features = arrayAt(node, "status", "declaredFeatures").map(String)
  return features.flatMap((feature, index) => {
    const path = `status.declaredFeatures[${index}]`
    const why = Names.byteLength(feature) > 253
      ? "must be no more than 253 characters"
      : featureName.test(feature)
      ? undefined
      : "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or " +
        "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    const former = features[index - 1]
    return [
      ...(why === undefined
        ? []
        : [FieldError.invalid(path, feature, `invalid feature name ${FieldError.quote(feature)}: ${why}`)]),
      ...when(former === feature, FieldError.duplicate(path, feature)),
      ...when(
        former !== undefined && former > feature,
        FieldError.invalid(path, feature, "list must be sorted alphabetically")
      )
    ]
  })
}

const rangesOf = (node: unknown): ReadonlyArray<string> => arrayAt(node, "spec", "podCIDRs").map(String)

const rangeFaults = (node: unknown): Faults => {
  const ranges = rangesOf(node)
  const families = new Set(ranges.map((range) => range.includes(":")))
  return [
    ...ranges.flatMap((range, index) => RangeRules.faults(`spec.podCIDRs[${index}]`, range)),
    ...when(
      ranges.length > 1 && families.size < ranges.length,
      FieldError.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
    )
  ]
}

const without = (node: JsonValue.JsonObject, part: "spec" | "status", field: string): JsonValue.JsonObject =>
  at(node, part, field) === undefined ? node : { ...node, [part]: JsonValue.remove(objectAt(node, part), field) }

/** Drops the fields of dynamic kubelet configuration, which no longer exists. */
export const withoutConfig = (node: JsonValue.JsonObject): JsonValue.JsonObject =>
  without(without(node, "spec", "configSource"), "status", "config")

export const validate: Strategy["validate"] = (node) => [
  ...taintFaults(node),
  ...amountFaults(node),
  ...featureFaults(node),
  ...rangeFaults(node)
]

/** Pod CIDRs and the provider ID can be set once. All other rules apply again, and report their faults again. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const [ranges, before] = [rangesOf(next), rangesOf(previous)]
  const provider = stringAt(previous, "spec", "providerID")
  const addresses = arrayAt(next, "status", "addresses")
  const told = (field: string, name: string) =>
    FieldError.forbidden(`spec.${field}`, `node updates may not change ${name} except from "" to valid`)
  return [
    ...amountFaults(next),
    ...featureFaults(next),
    ...addresses.flatMap((address, index) =>
      when(
        addresses.slice(0, index).some((other) => JsonValue.equals(other, address)),
        {
          ...FieldError.duplicate(`status.addresses[${index}]`, address),
          printed: GoStruct.print(address, [["type", "\"\""], ["address", "\"\""]])
        }
      )
    ),
    ...when(before.length > 0 && !JsonValue.equals(ranges, before), told("podCIDRs", "podCIDR")),
    ...when(provider !== "" && at(next, "spec", "providerID") !== provider, told("providerID", "providerID")),
    ...taintFaults(next),
    ...when(
      stringAt(next, "spec", "externalID") !== stringAt(previous, "spec", "externalID"),
      FieldError.forbidden("spec.externalID", "may not be updated")
    )
  ]
}

export const validateStatus: Strategy["validateStatus"] = validateUpdate
