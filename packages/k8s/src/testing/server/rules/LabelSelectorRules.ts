/**
 * `LabelSelectorRules`: validates label selectors in objects.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go (`ValidateLabelSelector`).
 */
import { validateLabels } from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import { goJson } from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** The faults of an operator with its values. `unknown` allows operators that only newer clients know. */
export const operatorFaults = (
  operator: string,
  values: ReadonlyArray<unknown>,
  path: string,
  unknown: boolean
): Faults => {
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0 ? [] : [
        FieldError.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")
      ]
    case "Exists":
    case "DoesNotExist":
      return values.length === 0 ? [] : [
        FieldError.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      ]
    default:
      return unknown ? [] : [FieldError.invalid(`${path}.operator`, operator, "not a valid selector operator")]
  }
}

/** The faults of one requirement. `unknown` allows unknown operators. */
export const requirementFaults = (requirement: unknown, path: string, unknown = false): Faults => {
  const key = stringAt(requirement, "key")
  const values = arrayAt(requirement, "values")
  return [
    ...operatorFaults(stringAt(requirement, "operator"), values, path, unknown),
    ...Names.labelKey(key).map((fault) => FieldError.invalid(`${path}.key`, key, fault)),
    ...values.flatMap((value, index) =>
      Names.labelValue(String(value)).map((fault) => FieldError.invalid(`${path}.values[${index}]`, value, fault))
    )
  ]
}

const printRequirement = (requirement: unknown): string => {
  const values = arrayAt(requirement, "values")
  const own = `"key":${goJson(stringAt(requirement, "key"))},"operator":${goJson(stringAt(requirement, "operator"))}`
  return `{${own}${values.length === 0 ? "" : `,"values":${goJson(values)}`}}`
}

/** The fault of a selector as a whole, printed in the field order of its Go type. */
export const refused = (path: string, selector: unknown, detail: string): FieldError.FieldError => {
  if (selector === undefined) return FieldError.invalid(path, null, detail)
  const [labels, requirements] = [objectAt(selector, "matchLabels"), arrayAt(selector, "matchExpressions")]
  const parts = [
    ...(Object.keys(labels).length === 0 ? [] : [`"matchLabels":${goJson(labels)}`]),
    ...(requirements.length === 0 ? [] : [`"matchExpressions":[${requirements.map(printRequirement).join(",")}]`])
  ]
  return FieldError.invalidPrinted(path, `{${parts.join(",")}}`, detail)
}

/** An immutable selector. */
export const immutable = (next: unknown, previous: unknown): Faults => {
  const [selector, before] = [next, previous].map((object) => at(object, "spec", "selector"))
  return JsonValue.equals(selector, before) ? [] : [refused("spec.selector", selector, "field is immutable")]
}

/** The faults of a selector; an absent one has none. */
export const validate = (selector: unknown, path: string): Faults => [
  ...validateLabels(objectAt(selector, "matchLabels") as Readonly<Record<string, string>>, `${path}.matchLabels`),
  ...arrayAt(selector, "matchExpressions").flatMap((requirement, index) =>
    requirementFaults(requirement, `${path}.matchExpressions[${index}]`)
  )
]
