/**
 * `SchemaSource`: generates the TypeScript of an Effect Schema from a structural schema.
 *
 * The opposite of `OpenApiSchema`, and as close to its inverse as the two languages allow: keywords become checks,
 * defaults become decoding defaults, list types and rules become the combinators that generate them. Restrictions by
 * `allOf`, `anyOf`, `oneOf` and `not`, the pattern of a quantity that may be a number, and formats (the server ignores
 * `int32`, for example) are left to the server. The decoder of a foreign kind may check less than the server, but must
 * not refuse what is stored.
 */
import * as Result from "effect/Result"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"
import * as GoRegExp from "../schema/GoRegExp.ts"

const json = (value: unknown): string => JSON.stringify(value)

/** The text with every line indented. */
export const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ")

const key = (name: string): string =>
  name === "__proto__" ? "[\"__proto__\"]" : /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : json(name)

/** `value` or `value.pipe(a, b)`. */
const piped = (value: string, steps: ReadonlyArray<string>): string =>
  steps.length === 0 ? value : `${value}.pipe(\n${indent(steps.join(",\n"))}\n)`

const checked = (value: string, checks: ReadonlyArray<string>): string =>
  checks.length === 0 ? value : `${value}.check(${checks.join(", ")})`

/** The Schema for a schema, without its default and without whether it is optional. */
export const expression = (schema: JSONSchemaProps): string => {
  const plain = described(piped(shape(schema), steps(schema)), schema)
  return schema.nullable === true && plain !== "Schema.Unknown" ? `Schema.NullOr(${plain})` : plain
}

const described = (value: string, { description, format }: JSONSchemaProps): string => {
  const notes = [
    ...(description === undefined ? [] : [`description: ${json(description)}`]),
    ...(format === undefined ? [] : [`format: ${json(format)}`])
  ]
  return notes.length === 0 ? value : `${value}.annotate({ ${notes.join(", ")} })`
}

const shape = (schema: JSONSchemaProps): string => {
  // If null is allowed, the enum is in allOf.
  const values = schema.enum ?? (schema.nullable === true ? schema.allOf?.find((part) => part.enum)?.enum : undefined)
  if (values !== undefined) return literals(values.filter((value) => value !== null))
  if (schema["x-kubernetes-embedded-resource"] === true) return "KubeSchema.EmbeddedResource"
  if (schema["x-kubernetes-int-or-string"] === true) return "KubeSchema.IntOrString"
  switch (schema.type) {
    case "string":
      return checked("Schema.String", [...limits(schema, "Length"), ...patterns(schema)])
    case "integer":
      return checked("Schema.Int", bounds(schema))
    case "number":
      return checked("Schema.Finite", bounds(schema))
    case "boolean":
      return "Schema.Boolean"
    case "array":
      return checked(`Schema.Array(${expression((schema.items ?? {}) as JSONSchemaProps)})`, limits(schema, "Items"))
    case "object":
      return object(schema)
    default:
      return "Schema.Unknown"
  }
}

const literals = (values: ReadonlyArray<unknown>): string => {
  const simple = values.every((value) => ["string", "number", "boolean"].includes(typeof value))
  return simple && values.length > 0 ? `Schema.Literals([${values.map(json).join(", ")}])` : "Schema.Unknown"
}

/** Strings, lists and maps have the same checks of size. */
const limits = (schema: JSONSchemaProps, what: "Length" | "Items" | "Properties"): ReadonlyArray<string> => {
  const [least, most] = [schema[`min${what}`], schema[`max${what}`]]
  const name = what === "Properties" ? "Properties" : "Length"
  return [
    ...(least === undefined || least === 0 ? [] : [`Schema.isMin${name}(${least})`]),
    ...(most === undefined ? [] : [`Schema.isMax${name}(${most})`])
  ]
}

const patterns = ({ pattern }: JSONSchemaProps): ReadonlyArray<string> => {
  if (pattern === undefined) return []
  const made = GoRegExp.compile(pattern)
  return Result.isFailure(made) ? [] : [`Schema.isPattern(${String(made.success)})`]
}

const bounds = (schema: JSONSchemaProps): ReadonlyArray<string> => [
  ...(schema.minimum === undefined
    ? []
    : [`Schema.isGreaterThan${schema.exclusiveMinimum === true ? "" : "OrEqualTo"}(${schema.minimum})`]),
  ...(schema.maximum === undefined
    ? []
    : [`Schema.isLessThan${schema.exclusiveMaximum === true ? "" : "OrEqualTo"}(${schema.maximum})`]),
  ...(schema.multipleOf === undefined ? [] : [`Schema.isMultipleOf(${schema.multipleOf})`])
]

const preserve = "x-kubernetes-preserve-unknown-fields"

const object = (schema: JSONSchemaProps): string => {
  const { additionalProperties, properties } = schema
  if (properties === undefined || Object.keys(properties).length === 0) {
    const values = typeof additionalProperties === "object" && schema[preserve] !== true
      ? `Schema.Record(Schema.String, ${expression(additionalProperties as JSONSchemaProps)})`
      : "KubeSchema.AnyObject"
    return checked(values, limits(schema, "Properties"))
  }
  const fields = Object.entries(properties).map(([name, property]) =>
    `${key(name)}: ${field(property, schema.required?.includes(name) === true)}`
  )
  const struct = `Schema.Struct({\n${indent(fields.join(",\n"))}\n})`
  return checked(
    schema[preserve] === true ? `Schema.StructWithRest(${struct}, [KubeSchema.AnyObject])` : struct,
    limits(schema, "Properties")
  )
}

/**
 * A field with its default, or an optional field. A default also satisfies `required`: the server applies it before it
 * validates.
 */
const field = (property: JSONSchemaProps, required: boolean): string => {
  const value = expression(property)
  if (property.default !== undefined && property.default !== null) {
    return piped(value, [`Schema.withDecodingDefaultKey(Effect.succeed(${json(property.default)} as const))`])
  }
  return required ? value : `Schema.optionalKey(${value})`
}

/** The combinators for list and map types and for rules. */
const steps = (schema: JSONSchemaProps): ReadonlyArray<string> => {
  const keys = schema["x-kubernetes-list-map-keys"] ?? []
  const list = {
    map: keys.length === 0 ? [] : [`KubeSchema.listMap(${keys.map(json).join(", ")})`],
    set: ["KubeSchema.listSet"],
    atomic: ["KubeSchema.listAtomic"]
  }[schema["x-kubernetes-list-type"] ?? ""] ?? []
  const rules = (schema["x-kubernetes-validations"] ?? []).map(({ rule, ...options }) =>
    `CelRule.make(${json(rule)}${Object.keys(options).length === 0 ? "" : `, ${json(options)}`})`
  )
  return [
    ...(schema.type === "array" ? list : []),
    ...(schema["x-kubernetes-map-type"] === "atomic" && schema.type === "object" ? ["KubeSchema.mapAtomic"] : []),
    ...(rules.length === 0 ? [] : [`CelRule.rules(\n${indent(rules.join(",\n"))}\n)`])
  ]
}
