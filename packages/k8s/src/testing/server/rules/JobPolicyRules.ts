/**
 * `JobPolicyRules`: validates a Job's policies for failed Pods, success, and replacement of Pods.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as Amounts from "./Amounts.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const listed = (values: ReadonlyArray<string>): string => `[${values.map(FieldError.quote).join(" ")}]`

const choice = (value: string, path: string, values: ReadonlyArray<string>): Faults =>
  value === ""
    ? [FieldError.required(path, `valid values: ${listed(values)}`)]
    : values.includes(value)
    ? []
    : [FieldError.notSupported(path, value, values)]

const atMost = (list: ReadonlyArray<unknown>, max: number, path: string): Faults =>
  list.length > max ? [FieldError.tooMany(path, list.length, max)] : []

const codesFaults = (codes: unknown, path: string, containers: ReadonlySet<string>): Faults => {
  const operator = stringAt(codes, "operator")
  const name = at(codes, "containerName")
  const values = arrayAt(codes, "values").map(Number)
  return [
    ...choice(operator, `${path}.operator`, ["In", "NotIn"]),
    ...(name === undefined || containers.has(String(name)) ? [] : [FieldError.invalid(
      `${path}.containerName`,
      name,
      "must be one of the container or initContainer names in the pod template"
    )]),
    ...(values.length === 0
      ? [FieldError.invalid(`${path}.values`, at(codes, "values") ?? null, "at least one value is required")]
      : atMost(values, 255, `${path}.values`)),
    ...values.flatMap((value, index) => [
      ...(operator === "In" && value === 0
        ? [FieldError.invalid(`${path}.values[${index}]`, value, "must not be 0 for the In operator")]
        : []),
      ...(values.indexOf(value) < index ? [FieldError.duplicate(`${path}.values[${index}]`, value)] : [])
    ]),
    ...(values.some((value, index) => index > 0 && values[index - 1]! > value)
      ? [FieldError.invalid(`${path}.values`, values, "must be ordered")]
      : [])
  ]
}

const conditionFaults = (patterns: ReadonlyArray<unknown>, path: string): Faults => [
  ...atMost(patterns, 20, path),
  ...patterns.flatMap((pattern, index) => {
    const type = stringAt(pattern, "type")
    return [
      ...Names.labelKey(type).map((fault) => FieldError.invalid(`${path}[${index}].type`, type, fault)),
      ...choice(stringAt(pattern, "status"), `${path}[${index}].status`, ["False", "True", "Unknown"])
    ]
  })
]

const actions = ["Count", "FailIndex", "FailJob", "Ignore"]

const ruleFaults = (spec: unknown, rule: unknown, path: string, containers: ReadonlySet<string>): Faults => {
  const action = stringAt(rule, "action")
  const codes = at(rule, "onExitCodes")
  const conditions = arrayAt(rule, "onPodConditions")
  const whole = codes !== undefined && conditions.length > 0
    ? "specifying both OnExitCodes and OnPodConditions is not supported"
    : codes === undefined && conditions.length === 0
    ? "specifying one of OnExitCodes and OnPodConditions is required"
    : undefined
  return [
    ...(action === "FailIndex"
      ? at(spec, "backoffLimitPerIndex") === undefined
        ? [FieldError.invalid(`${path}.action`, action, "requires the backoffLimitPerIndex to be set")]
        : []
      : choice(action, `${path}.action`, actions)),
    ...(codes === undefined ? [] : codesFaults(codes, `${path}.onExitCodes`, containers)),
    ...(conditions.length === 0 ? [] : conditionFaults(conditions, `${path}.onPodConditions`)),
    ...(whole === undefined ? [] : [FieldError.invalidOmitted(path, whole)])
  ]
}

const failureFaults = (spec: unknown, path: string): Faults => {
  const rules = arrayAt(spec, "podFailurePolicy", "rules")
  const containers = new Set(
    ["containers", "initContainers"].flatMap((field) => arrayAt(spec, "template", "spec", field)).map((container) =>
      stringAt(container, "name")
    )
  )
  return [
    ...atMost(rules, 20, `${path}.rules`),
    ...rules.flatMap((rule, index) => ruleFaults(spec, rule, `${path}.rules[${index}]`, containers))
  ]
}

/** The number of indexes in a string such as `0,2-4`, or why it is invalid. */
export const indexes = (text: string, completions: number): number | string => {
  let last = -1
  let total = 0
  for (const part of text === "" ? [] : text.split(",")) {
    const limits = part.split("-")
    if (limits.length > 2) {
      return `the fragment ${
        FieldError.quote(part)
      } violates the requirement that an index interval can have at most two parts separated by '-'`
    }
    for (const limit of limits) {
      if (!/^[+-]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${FieldError.quote(limit)}`
      if (Number(limit) >= completions) return `too large index: ${FieldError.quote(limit)}`
    }
    const [from, to] = [Number(limits[0]), Number(limits.at(-1))]
    if (limits.length > 1 && from >= to) return `non-increasing order, previous: ${from}, current: ${to}`
    if (last >= from) return `non-increasing order, previous: ${last}, current: ${from}`
    total += to - from + 1
    last = to
  }
  return total
}

const successRuleFaults = (rule: unknown, completions: number, path: string): Faults => {
  const [text, count] = [at(rule, "succeededIndexes"), at(rule, "succeededCount")]
  const found = typeof text === "string" ? indexes(text, completions) : undefined
  const total = typeof found === "number" ? found : 0
  const above = (max: number, what: string) =>
    typeof count === "number" && count > max
      ? [FieldError.invalid(`${path}.succeededCount`, count, `must be less than or equal to ${max} (${what})`)]
      : []
  return [
    ...(text === undefined && count === undefined
      ? [FieldError.required(path, "at least one of succeededCount or succeededIndexes must be specified")]
      : []),
    ...(typeof found === "string"
      ? [FieldError.invalid(`${path}.succeededIndexes`, text, `error parsing succeededIndexes: ${found}`)]
      : []),
    ...Amounts.notNegativeAt(path, rule, "succeededCount"),
    ...above(completions, "the number of specified completions"),
    ...(text === undefined
      ? []
      : above(total, "the number of indexes in the specified succeededIndexes field"))
  ]
}

const successFields: GoStruct.Fields = [["rules", "null", [["succeededIndexes", "null"], ["succeededCount", "null"]]]]

const successFaults = (spec: unknown, path: string): Faults => {
  const policy = at(spec, "successPolicy")
  const rules = arrayAt(policy, "rules")
  const completions = at(spec, "completions")
  if (stringAt(spec, "completionMode") !== "Indexed") {
    return [FieldError.invalidPrinted(path, GoStruct.print(policy, successFields), "requires indexed completion mode")]
  }
  return [
    ...(rules.length === 0
      ? [
        FieldError.required(`${path}.rules`, "at least one rules must be specified when the successPolicy is specified")
      ]
      : []),
    ...atMost(rules, 20, `${path}.rules`),
    ...rules.flatMap((rule, index) =>
      successRuleFaults(rule, typeof completions === "number" ? completions : 0, `${path}.rules[${index}]`)
    )
  ]
}

/** Faults of the policies in the spec of a Job. */
export const faults = (spec: unknown, path: string): Faults => {
  const fails = at(spec, "podFailurePolicy") !== undefined
  const replacement = at(spec, "podReplacementPolicy")
  const replacements = fails ? ["Failed"] : ["Failed", "TerminatingOrFailed"]
  return [
    ...(fails ? failureFaults(spec, `${path}.podFailurePolicy`) : []),
    ...(at(spec, "successPolicy") === undefined ? [] : successFaults(spec, `${path}.successPolicy`)),
    ...(replacement === undefined || replacements.includes(String(replacement))
      ? []
      : [FieldError.notSupported(`${path}.podReplacementPolicy`, replacement, replacements)])
  ]
}
