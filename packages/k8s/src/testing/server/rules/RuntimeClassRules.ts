/**
 * `RuntimeClassRules`: validates RuntimeClasses: the handler (which is immutable), the overhead of Pods, and their
 * scheduling.
 *
 * Source: k8s.io/kubernetes/pkg/apis/node/validation/validation.go and pkg/registry/node/runtimeclass/strategy.go.
 */
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, when } from "./Checks.ts"
import { immutableText } from "./Immutability.ts"
import * as PlacementRules from "./pods/PlacementRules.ts"
import * as ResourceRules from "./pods/ResourceRules.ts"

const tolerationFields: GoStruct.Fields = [
  ["key", "\"\""],
  ["operator", "\"\""],
  ["value", "\"\""],
  ["effect", "\"\""],
  ["tolerationSeconds", "null"]
]

const repeatedTolerations = (tolerations: ReadonlyArray<unknown>, path: string): Faults => {
  const keys = tolerations.map((toleration) =>
    JSON.stringify(["key", "operator", "value", "effect"].map((field) => stringAt(toleration, field)))
  )
  return tolerations.flatMap((toleration, index) =>
    when(keys.indexOf(keys[index]!) < index, {
      ...FieldError.duplicate(`${path}[${index}]`, toleration),
      printed: GoStruct.print(toleration, tolerationFields)
    })
  )
}

const schedulingFaults = (scheduling: unknown): Faults => [
  ...MetadataRules.validateLabels(
    objectAt(scheduling, "nodeSelector") as Readonly<Record<string, string>>,
    "scheduling.nodeSelector"
  ),
  ...PlacementRules.tolerations(scheduling, "scheduling"),
  ...repeatedTolerations(arrayAt(scheduling, "tolerations"), "scheduling.tolerations")
]

const validate: Strategy["validate"] = (object) => {
  const handler = stringAt(object, "handler")
  return [
    ...invalids("handler", handler, Names.dnsLabel(handler)),
    ...ResourceRules.ofContainer({ limits: objectAt(object, "overhead", "podFixed") }, "overhead", []),
    ...schedulingFaults(at(object, "scheduling"))
  ]
}

export const strategy: Partial<Strategy> = {
  metadataJudge: "machinery",
  createsOnUpdate: true,
  unconditionalUpdate: false,
  validate,
  validateUpdate: immutableText("handler")
}
