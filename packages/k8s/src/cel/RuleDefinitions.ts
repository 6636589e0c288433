/**
 * `RuleDefinitions`: validates the CEL rules of a definition's schema.
 *
 * A rule must be complete, compile, and be affordable: its estimated cost, times the number of its values in a request,
 * is limited, and so is the sum over the schema. Transition rules need data that can be correlated with its old value,
 * which excludes items of lists without keys.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/{validation,cel_validation}.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as Schema from "../schema/Schema.ts"
import * as Range from "./CostRange.ts"
import * as DeclaredTypes from "./DeclaredTypes.ts"
import * as FieldPaths from "./FieldPaths.ts"
import * as SchemaRules from "./SchemaRules.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** The limit for the estimated cost of one rule. */
const ruleLimit = 10_000_000
/** The limit for the estimated cost of all rules of a schema. */
const schemaLimit = 100_000_000

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]

const at = (path: string, index: number, field: string): string => `${path}.x-kubernetes-validations[${index}].${field}`

const hasNewlines = (text: string): boolean => /[\n\r]/.test(text)

const messageFaults = ({ message, rule }: SchemaRules.Rule, path: string, index: number): Errors => {
  const trimmed = message.trim()
  const field = at(path, index, "message")
  if (rule.trim() === "") return [FieldError.required(at(path, index, "rule"), "rule is not specified")]
  if (message !== "" && trimmed === "") return [FieldError.invalid(field, message, "must be non-empty if specified")]
  if (hasNewlines(trimmed)) return [FieldError.invalid(field, message, "must not contain line breaks")]
  return hasNewlines(rule.trim()) && trimmed === ""
    ? [FieldError.required(field, "message must be specified if rule contains line breaks")]
    : []
}

const fieldPathFaults = (fieldPath: string, schema: Schema.Schema, path: string): Errors => {
  const wrong = (detail: string) => FieldError.invalid(path, fieldPath, detail)
  return fieldPath === "" ? [] : [
    ...(fieldPath.trim() === "" ? [wrong("must be non-empty if specified")] : []),
    ...(hasNewlines(fieldPath) ? [wrong("must not contain line breaks")] : []),
    ...(FieldPaths.normalize(fieldPath, schema) === undefined ? [wrong("must be a valid path")] : [])
  ]
}

/** Faults in the form of a schema's own rules. */
const formFaults = (schema: Schema.Schema, path: string): Errors =>
  SchemaRules.rulesOf(schema).flatMap((rule, index) => [
    ...messageFaults(rule, path, index),
    ...(rule.messageExpression !== "" && rule.messageExpression.trim() === ""
      ? [FieldError.required(
        at(path, index, "messageExpression"),
        "messageExpression must be non-empty if specified"
      )]
      : []),
    ...(rule.reason !== undefined && !reasons.includes(rule.reason)
      ? [FieldError.notSupported(at(path, index, "reason"), rule.reason, reasons)]
      : []),
    ...fieldPathFaults(rule.fieldPath, schema, at(path, index, "fieldPath"))
  ])

/** The position of a schema. */
interface Place {
  readonly isRoot: boolean
  /** How often its data can occur; undefined if that is unlimited. */
  readonly cardinality: number | undefined
  /** The enclosing list whose items cannot be correlated. */
  readonly uncorrelated: string | undefined
}

/** The maximum number of nested values in one value of a schema. */
const multiplicity = (schema: Schema.Schema): number | undefined => {
  if (schema.type === "object") {
    return schema.additionalProperties === undefined
      ? 1
      : schema.maxProperties === undefined
      ? undefined
      : Math.max(0, schema.maxProperties)
  }
  if (schema.type !== "array") return 1
  return schema.maxItems === undefined ? undefined : Math.max(0, schema.maxItems)
}

const product = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : Math.min(a * b, Range.limit)

type Visit = (schema: Schema.Schema, path: string, place: Place) => void

/** Walks the structural part of a schema, inner schemas first. */
const walk = (schema: Schema.Schema, path: string, place: Place, visit: Visit): void => {
  const inner = (child: Schema.Schema, uncorrelated = place.uncorrelated): Place => ({
    isRoot: child["x-kubernetes-embedded-resource"] === true,
    cardinality: product(place.cardinality, multiplicity(schema)),
    uncorrelated
  })
  const values = Schema.mapValue(schema)
  if (values !== undefined) walk(values, `${path}.additionalProperties`, inner(values), visit)
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    walk(child, `${path}.properties[${name}]`, inner(child), visit)
  }
  if (schema.items !== undefined) {
    const lost = schema["x-kubernetes-list-type"] === "map" ? undefined : path
    walk(schema.items, `${path}.items`, inner(schema.items, place.uncorrelated ?? lost), visit)
  }
  visit(schema, path, place)
}

const factor = (cost: number, limit: number): string => {
  const times = cost / limit
  return times > 100 ? "more than 100x" : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`
}

const costText = (what: string, cost: number, limit: number): string =>
  `${what} exceeds budget by factor of ${factor(cost, limit)} (try simplifying the rule, or adding maxItems, ` +
  "maxProperties, and maxLength where arrays, maps, and strings are declared)"

/** A rule as the server prints it. */
const printed = (rule: SchemaRules.Rule): string => {
  const fields: ReadonlyArray<readonly [string, unknown]> = [
    ["Rule", rule.rule],
    ["Message", rule.message],
    ["MessageExpression", rule.messageExpression],
    ["Reason", rule.reason ?? null],
    ["FieldPath", rule.fieldPath],
    ["OptionalOldSelf", rule.optionalOldSelf ?? null]
  ]
  return `{${fields.map(([name, value]) => `"${name}":${FieldError.goJson(value)}`).join(",")}}`
}

interface Expense {
  readonly path: string
  readonly cost: number
}

/** Faults of one compiled rule; adds its cost to the sums. */
const ruleFaults = (
  compiled: SchemaRules.CompiledRule,
  path: string,
  index: number,
  { place, times }: { readonly place: Place; readonly times: number },
  expenses: Array<Expense>
): Errors => {
  const { condition, message, rule, usesOldSelf } = compiled
  const errors: Array<FieldError.FieldError> = []
  const ruleAt = at(path, index, "rule")
  const messageAt = at(path, index, "messageExpression")
  const charge = (field: string, what: string, cost: number): void => {
    if (cost > ruleLimit) errors.push(FieldError.forbidden(field, costText(what, cost, ruleLimit)))
    expenses.push({ path: field, cost })
  }
  if (condition?._tag === "Ready") {
    charge(ruleAt, "estimated rule cost", Math.min(condition.maxCost * times, Range.limit))
  }
  if (condition?._tag === "Wrong") errors.push(FieldError.invalidPrinted(ruleAt, printed(rule), condition.detail))
  if (message?._tag === "Wrong") errors.push(FieldError.invalidPrinted(messageAt, printed(rule), message.detail))
  if (message?._tag === "Ready") charge(messageAt, "estimated messageExpression cost", message.maxCost)
  if (usesOldSelf && place.uncorrelated !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`
    errors.push(FieldError.invalid(ruleAt, rule.rule, detail))
  } else if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
    const detail = "may not be set if oldSelf is not used in rule"
    errors.push(FieldError.invalid(at(path, index, "optionalOldSelf"), rule.optionalOldSelf, detail))
  }
  return errors
}

const root: Place = { isRoot: true, cardinality: 1, uncorrelated: undefined }

const untyped = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to " +
  "convert structural schema to CEL declarations"

/** Faults in the form of all rules of a schema. */
export const forms = (schema: Schema.Schema, path: string): Errors => {
  const errors: Array<FieldError.FieldError> = []
  walk(schema, path, root, (node, nodePath) => {
    // Rules inside a combination are never evaluated, but their form is validated.
    for (const [branch, name] of branches(node)) errors.push(...forms(branch, `${nodePath}.${name}`))
    errors.push(...formFaults(node, nodePath))
  })
  return errors
}

const branches = (schema: Schema.Schema): ReadonlyArray<readonly [branch: Schema.Schema, name: string]> => [
  ...(["allOf", "anyOf", "oneOf"] as const).flatMap((key) =>
    (schema[key] ?? []).map((branch, index) => [branch, `${key}[${index}]`] as const)
  ),
  ...(schema.not === undefined ? [] : [[schema.not, "not"] as const])
]

const totalFaults = (expenses: ReadonlyArray<Expense>, path: string): Errors => {
  const total = Math.min(expenses.reduce((sum, { cost }) => sum + cost, 0), Range.limit)
  if (total <= schemaLimit) return []
  const largest = expenses.filter(({ cost }) => cost >= schemaLimit / 100).sort((a, b) => b.cost - a.cost).slice(0, 4)
  const share = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
  const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
  return [
    ...largest.map((expense) => FieldError.forbidden(expense.path, share)),
    FieldError.forbidden(path, costText(what, total, schemaLimit))
  ]
}

/** Faults in the content and cost of a schema's rules; rules at or above one of the `known` errors are skipped. */
export const check = (schema: Schema.Schema, path: string, known: Errors): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const expenses: Array<Expense> = []
  walk(schema, path, root, (node, nodePath, place) => {
    if (SchemaRules.rulesOf(node).length === 0 || known.some(({ field }) => field.startsWith(nodePath))) return
    const declared = SchemaRules.declaredType(node, place.isRoot)
    if (declared === undefined) {
      errors.push(FieldError.internalError(`${nodePath}.x-kubernetes-validations`, untyped))
      return
    }
    const times = place.cardinality ?? DeclaredTypes.maxCardinality(declared)
    for (const [index, compiled] of SchemaRules.compile(node, declared).entries()) {
      errors.push(...ruleFaults(compiled, nodePath, index, { place, times }, expenses))
    }
  })
  return [...errors, ...totalFaults(expenses, path)]
}
