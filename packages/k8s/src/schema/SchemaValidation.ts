/**
 * `SchemaValidation`: validates an object against its schema, with the messages of release 1.35.
 *
 * A type error names the type found, not the value. Paths contain array indexes. Faults inside anyOf or oneOf are
 * reported for the branch that matched best, next to the error of the combination itself, which has no path (`<nil>`).
 * Each message is reported once.
 *
 * Given the previous object, errors in unchanged parts are forgiven ("ratcheting"), see `Correlation`.
 *
 * Source: k8s.io/kube-openapi/pkg/validation/validate, and ratcheting.go and validation.go in
 * k8s.io/apiextensions-apiserver/pkg/apiserver/validation.
 */
import * as Result from "effect/Result"
import * as Correlation from "./Correlation.ts"
import * as FieldError from "./FieldError.ts"
import * as GoInt64 from "./GoInt64.ts"
import * as GoMatch from "./GoMatch.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"
import * as SchemaFormats from "./SchemaFormats.ts"

/** Faults of a value. `field` is the path of the value in its object, for instance `status`. */
export const validateValue = (
  schema: Schema.Schema,
  value: unknown,
  previous?: unknown,
  field?: string
): ReadonlyArray<FieldError.FieldError> => {
  const old = previous === undefined ? undefined : { value, old: previous, schema }
  return [...check({ schema, field, isDefault: false }, "", value, old).errors.values()]
}

/** Faults of a default at `field`. If its schema has a format, type errors name it, whether or not it is known. */
export const validateDefault = (
  schema: Schema.Schema,
  value: unknown,
  field: string
): ReadonlyArray<FieldError.FieldError> => [
  ...check({ schema, field, isDefault: true }, "", value, undefined).errors.values()
]

/** The constants of one validation. */
interface Context {
  readonly schema: Schema.Schema
  readonly field: string | undefined
  /**
   * Whether the value is a default. Then unknown formats count, which the server removes from a schema before it
   * validates objects, and int-or-string values may have any type.
   */
  readonly isDefault: boolean
}

/** The result. `matches` counts what matched, to choose the best branch of an anyOf. */
interface Outcome {
  readonly errors: Map<string, FieldError.FieldError>
  matches: number
}

const empty = (): Outcome => ({ errors: new Map(), matches: 0 })

const merge = (into: Outcome, from: Outcome): void => {
  for (const [text, error] of from.errors) if (!into.errors.has(text)) into.errors.set(text, error)
  into.matches += from.matches
}

type Make = (field: string) => FieldError.FieldError

/** Adds an error at a path, unless there is one with the same `text`. */
const fail = (context: Context, outcome: Outcome, path: string, text: string, make: Make): void => {
  if (outcome.errors.has(text)) return
  const name = path.startsWith(".") ? path.slice(1) : path
  const base = context.field
  const field = name === "" ? base ?? "<nil>" : base === undefined ? name : `${base}.${name}`
  outcome.errors.set(text, make(field))
}

/** Adds an error of a combination of schemas, which has no path. */
const failWhole = (context: Context, outcome: Outcome, text: string): void =>
  fail(context, outcome, "", text, (field) => FieldError.invalid(field, "", text))

const failType = (context: Context, outcome: Outcome, path: string, expected: string, found: string): void => {
  const text = `${path} in body must be of type ${expected}: ${FieldError.quote(found)}`
  fail(context, outcome, path, text, (field) => FieldError.typeInvalid(field, found, text))
}

const failValue = (context: Context, outcome: Outcome, path: string, value: unknown, detail: string): void => {
  const text = `${path} in body ${detail}`
  fail(context, outcome, path, text, (field) => FieldError.invalid(field, value, text))
}

/** Validates, and forgives the errors if nothing changed. */
const check = (context: Context, path: string, value: unknown, old: Correlation.Correlation | undefined): Outcome => {
  const outcome = run(context, path, value, old)
  if (outcome.errors.size > 0 && old !== undefined && Correlation.unchanged(old)) outcome.errors.clear()
  return outcome
}

const run = (context: Context, path: string, value: unknown, old: Correlation.Correlation | undefined): Outcome => {
  const outcome = empty()
  const { schema } = context
  const hasType = types(context).length > 0 || isKnown(context)
  const apply = (rule: Check): void => rule(context, outcome, path, value, old)
  if (value === null) {
    apply(checkType)
    apply(checkEnum)
    return outcome
  }
  const rules = [
    ...(hasType ? [checkType] : []),
    checkCombinations,
    ...(typeof value === "string" ? [checkString, checkFormat] : []),
    ...(typeof value === "number" ? [checkNumber] : []),
    ...(JsonValue.isArray(value) ? [checkArray] : []),
    checkEnum,
    ...(JsonValue.isObject(value) ? [checkObject] : [])
  ]
  for (const rule of rules) apply(rule)
  outcome.matches += rules.length + 1 -
    (typeof value === "string" && SchemaFormats.rule(schema.format) === undefined ? 1 : 0)
  return outcome
}

/** Whether the schema's format is taken into account. */
const isKnown = ({ isDefault, schema: { format = "" } }: Context): boolean =>
  isDefault ? format !== "" : SchemaFormats.rule(format) !== undefined

const types = ({ isDefault, schema }: Context): ReadonlyArray<string> =>
  schema["x-kubernetes-int-or-string"] === true
    ? isDefault ? [] : ["integer", "string"]
    : schema.type === undefined || schema.type === ""
    ? []
    : [schema.type]

const typeOf = (value: unknown): string =>
  JsonValue.isArray(value)
    ? "array"
    : typeof value === "number"
    ? GoInt64.is(value) ? "integer" : "number"
    : typeof value

type Check = (
  context: Context,
  outcome: Outcome,
  path: string,
  value: unknown,
  old: Correlation.Correlation | undefined
) => void

const checkType: Check = (context, outcome, path, value) => {
  const expected = types(context)
  if (value === null) {
    if (expected.length > 0 && context.schema.nullable !== true) {
      return failType(context, outcome, path, expected.join(","), "null")
    }
    outcome.matches++
    return
  }
  const found = typeOf(value)
  const fits = expected.includes(found) || found === "integer" && expected.includes("number")
  const { format = "" } = context.schema
  const known = isKnown(context)
  const numeric = expected.includes("number") || expected.includes("integer")
  if (found !== "string" && found !== "array" && known && !fits) {
    // The server names formats here: that of the value, and that of the schema as the expected type.
    const ours = found === "integer" ? "int64" : found === "number" ? "float64" : ""
    if (ours !== format) return failType(context, outcome, path, format, ours)
  }
  if (!fits && !(known && !numeric && (found === "string" || found === "array"))) {
    return failType(context, outcome, path, expected.join(","), found)
  }
  outcome.matches++
}

const checkString: Check = (context, outcome, path, value) => {
  const text = value as string
  const { maxLength, minLength, pattern } = context.schema
  const length = maxLength === undefined && minLength === undefined ? 0 : [...text].length
  if (maxLength !== undefined && length > maxLength) {
    const message = `${path} in body should be at most ${maxLength} chars long`
    return fail(context, outcome, path, message, (field) => FieldError.tooLong(field, maxLength))
  }
  if (minLength !== undefined && length < minLength) {
    return failValue(context, outcome, path, value, `should be at least ${minLength} chars long`)
  }
  if (pattern !== undefined && pattern !== "") {
    const matches = GoMatch.matches(pattern, text)
    if (Result.isFailure(matches)) {
      return failValue(
        context,
        outcome,
        path,
        value,
        `should match '${pattern}, but pattern is invalid: ${matches.failure}'`
      )
    }
    if (!matches.success) failValue(context, outcome, path, value, `should match '${pattern}'`)
  }
}

const checkFormat: Check = (context, outcome, path, value) => {
  const rule = SchemaFormats.rule(context.schema.format)
  if (rule !== undefined && !rule(value as string)) {
    failType(context, outcome, path, context.schema.format!, value as string)
  }
}

const checkNumber: Check = (context, outcome, path, value) => {
  const number = value as number
  // As on the server, bounds are truncated for integers.
  const bound = (limit: number): number => GoInt64.is(number) ? Math.trunc(limit) : limit
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = context.schema
  if (multipleOf !== undefined) {
    const factor = bound(multipleOf)
    // The server panics when it divides an integer by 0; other numbers are not multiples of 0.
    if (factor < 0 || (factor === 0 && GoInt64.is(number))) {
      const text = `factor MultipleOf declared for ${path} must be positive: ${FieldError.printValue(factor)}`
      fail(context, outcome, path, text, (field) => FieldError.invalid(field, factor, text))
    } else if (!isMultiple(number, factor)) {
      failValue(context, outcome, path, value, `should be a multiple of ${FieldError.printValue(factor)}`)
    }
  }
  if (minimum !== undefined) {
    const limit = bound(minimum)
    if (exclusiveMinimum === true ? number <= limit : number < limit) {
      const words = exclusiveMinimum === true ? "greater than" : "greater than or equal to"
      failValue(context, outcome, path, value, `should be ${words} ${FieldError.printValue(limit)}`)
    }
  }
  if (maximum !== undefined) {
    const limit = bound(maximum)
    if (exclusiveMaximum === true ? number >= limit : number > limit) {
      const words = exclusiveMaximum === true ? "less than" : "less than or equal to"
      failValue(context, outcome, path, value, `should be ${words} ${FieldError.printValue(limit)}`)
    }
  }
  outcome.matches++
}

const isMultiple = (value: number, factor: number): boolean => {
  if (GoInt64.is(value) && Number.isInteger(factor)) return value % factor === 0
  const times = factor < 1 ? 1 / factor * value : value / factor
  if (!Number.isFinite(times)) return false
  const whole = Math.trunc(times)
  return times === whole || Math.abs(times - whole) / (Math.abs(times) + Math.abs(whole)) < 1e-9
}

const checkArray: Check = (context, outcome, path, value, old) => {
  const array = value as ReadonlyArray<unknown>
  const { items, maxItems, minItems, uniqueItems } = context.schema
  if (items !== undefined) {
    for (const [index, item] of array.entries()) {
      merge(outcome, check({ ...context, schema: items }, `${path}[${index}]`, item, Correlation.item(old, index)))
    }
  }
  if (minItems !== undefined && array.length < minItems) {
    failValue(context, outcome, path, array.length, `should have at least ${minItems} items`)
  }
  if (maxItems !== undefined && array.length > maxItems) {
    const message = `${path} in body should have at most ${maxItems} items`
    fail(context, outcome, path, message, (field) => FieldError.tooMany(field, array.length, maxItems))
  }
  if (
    uniqueItems === true && array.some((item, at) => array.slice(0, at).some((other) => JsonValue.equals(other, item)))
  ) {
    failValue(context, outcome, path, "", "shouldn't contain duplicates")
  }
  outcome.matches++
}

const checkEnum: Check = (context, outcome, path, value) => {
  const values = context.schema.enum
  if (values === undefined || values.length === 0 || values.some((allowed) => isAllowed(value, allowed))) return
  const supported = values.map((allowed) => typeof allowed === "string" ? allowed : FieldError.goJson(allowed))
  const message = `${path} in body should be one of [${supported.join(" ")}]`
  fail(context, outcome, path, message, (field) => FieldError.notSupported(field, value, supported))
}

/** Go converts the value to the type of the allowed one first, so 2.5 is allowed where 2 is. */
const isAllowed = (value: unknown, allowed: unknown): boolean =>
  typeof value === "number" && typeof allowed === "number" && Number.isInteger(allowed)
    ? Math.trunc(value) === allowed
    : JsonValue.equals(allowed, value)

const checkObject: Check = (context, outcome, path, value, old) => {
  const object = value as JsonValue.JsonObject
  const { schema } = context
  const size = Object.keys(object).length
  const { maxProperties, minProperties } = schema
  if (minProperties !== undefined && size < minProperties) {
    failValue(context, outcome, path, size, `should have at least ${minProperties} properties`)
  }
  if (maxProperties !== undefined && size > maxProperties) {
    const message = `${path} in body should have at most ${maxProperties} properties`
    fail(context, outcome, path, message, (field) => FieldError.tooMany(field, size, maxProperties))
  }
  const values = Schema.mapValue(schema)
  for (const [key, item] of Object.entries(object)) {
    if (Schema.property(schema, key) !== undefined) continue
    if (schema.additionalProperties === false) {
      const text = `${path}.${key} in body is a forbidden property`
      fail(context, outcome, path, text, (field) => FieldError.invalid(field, key, text))
    } else if (values !== undefined) {
      merge(outcome, check({ ...context, schema: values }, `${path}.${key}`, item, correlateKey(old, path, key)))
    }
  }
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    if (!JsonValue.has(object, key)) continue
    const at = Schema.childPath(path, key)
    merge(outcome, check({ ...context, schema: inner }, at, object[key], correlateKey(old, path, key)))
  }
  for (const key of schema.required ?? []) {
    if (JsonValue.has(object, key)) continue
    const at = `${path}.${key}`
    fail(context, outcome, at, `${at} in body is required`, (field) => FieldError.required(field, ""))
  }
}

const checkCombinations: Check = (context, outcome, path, value) => {
  const { allOf = [], anyOf = [], not, oneOf = [] } = context.schema
  outcome.matches++
  if (allOf.length + anyOf.length + oneOf.length === 0 && not === undefined) return
  // Branches are validated even if nothing has changed.
  const branch = (schema: Schema.Schema): Outcome => run({ ...context, schema }, path, value, undefined)
  const name = FieldError.quote(path)
  const furthest = (outcomes: ReadonlyArray<Outcome>): Outcome =>
    outcomes.reduce((best, next) => next.matches > best.matches ? next : best)
  if (anyOf.length > 0) {
    const failed: Array<Outcome> = []
    let success: Outcome | undefined
    for (const schema of anyOf) {
      const result = branch(schema)
      if (result.errors.size === 0) {
        success = result
        break
      }
      failed.push(result)
    }
    if (success === undefined) failWhole(context, outcome, `${name} must validate at least one schema (anyOf)`)
    merge(outcome, success ?? furthest(failed))
  }
  if (oneOf.length > 0) {
    const results = oneOf.map(branch)
    const valid = results.filter((result) => result.errors.size === 0)
    if (valid.length === 1) {
      merge(outcome, valid[0]!)
    } else {
      const found = valid.length === 0 ? "Found none valid" : `Found ${valid.length} valid alternatives`
      failWhole(context, outcome, `${name} must validate one and only one schema (oneOf). ${found}`)
      if (valid.length === 0) merge(outcome, furthest(results))
    }
  }
  if (allOf.length > 0) {
    const results = allOf.map(branch)
    for (const result of results) merge(outcome, result)
    const valid = results.filter((result) => result.errors.size === 0).length
    if (valid !== allOf.length) {
      failWhole(
        context,
        outcome,
        `${name} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`
      )
    }
  }
  if (not !== undefined && branch(not).errors.size === 0) {
    failWhole(context, outcome, `${name} must not validate the schema (not)`)
  }
}

/** The correlation of a property; none for the object's own kind and apiVersion, which do not count as changing. */
const correlateKey = (
  parent: Correlation.Correlation | undefined,
  path: string,
  key: string
): Correlation.Correlation | undefined =>
  path === "" && (key === "kind" || key === "apiVersion") ? undefined : Correlation.child(parent, key)
