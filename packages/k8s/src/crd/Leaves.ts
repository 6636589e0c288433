/**
 * `Leaves`: strings, numbers and booleans with their checks, as keywords of OpenAPI v3.0.
 *
 * Effect generates JSON Schema 2020-12. Keywords with the same meaning stay, exclusive bounds change their form, and
 * checks stacked in `allOf` are merged. Patterns are translated from JavaScript's syntax to Go's (`Patterns`).
 */
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"
import * as Patterns from "./Patterns.ts"

/** Reports that something at a path has no structural form, and how to fix it. */
export type Report = (path: string, message: string) => void

type Json = Readonly<Record<string, unknown>>

/** The JSON Schema that Effect generates for a type. */
export const document = (ast: SchemaAST.AST): Json =>
  Schema.toJsonSchemaDocument(Schema.make<Schema.Codec<unknown, unknown, never, never>>(ast), {
    referencePolicy: () => undefined
  }).schema as Json

/** Keywords that mean the same in JSON Schema 2020-12 and in a CustomResourceDefinition. */
const kept = [
  "type",
  "format",
  "pattern",
  "enum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "multipleOf"
] as const

/** The keywords of a type without parts. */
export const keywords = (ast: SchemaAST.AST, path: string, report: Report): JSONSchemaProps => {
  const schema = flattened(document(ast), path, report)
  const result = bounds(schema)
  for (const key of kept) if (schema[key] !== undefined) result[key] = schema[key]
  if ("const" in schema) result["enum"] = [schema["const"]]
  return result as JSONSchemaProps
}

export const convert = (ast: SchemaAST.AST, path: string, report: Report): JSONSchemaProps => {
  const alternatives = document(ast)["anyOf"]
  // A TypeScript enum.
  if (Array.isArray(alternatives) && alternatives.every((alternative: Json) => Array.isArray(alternative["enum"]))) {
    return enumeration(alternatives.flatMap((alternative: Json) => alternative["enum"] as ReadonlyArray<unknown>))
  }
  if (Array.isArray(alternatives)) {
    report(path, "Schema.Number has no structural form, because it allows NaN: use Schema.Finite or Schema.Int")
    return {}
  }
  const found = keywords(ast, path, report)
  if (found.enum !== undefined) return { ...found, ...enumeration(found.enum) }
  // Schema.Unknown: any value is allowed and kept, including null.
  if (found.type === undefined) return { nullable: true, "x-kubernetes-preserve-unknown-fields": true }
  return found.type === "string" ? withPatterns(found, ast, path, report) : found
}

/** Values of one type, or integers and strings; other mixtures only where any value is allowed. */
export const enumeration = (values: ReadonlyArray<unknown>): JSONSchemaProps => {
  const unique = [...new Set(values)] as NonNullable<JSONSchemaProps["enum"]>
  const types = new Set(unique.map(typeOf))
  if (types.size === 1) return { type: [...types][0]!, enum: unique }
  return types.size === 2 && types.has("integer") && types.has("string")
    ? { "x-kubernetes-int-or-string": true, enum: unique }
    : { "x-kubernetes-preserve-unknown-fields": true, enum: unique }
}

const typeOf = (value: unknown): string =>
  typeof value === "number" ? Number.isInteger(value) ? "integer" : "number" : typeof value

/** With several patterns, the first is `pattern`, where people look for it, and the others go into `allOf`. */
const withPatterns = (
  schema: JSONSchemaProps,
  ast: SchemaAST.AST,
  path: string,
  report: Report
): JSONSchemaProps => {
  const checked = Patterns.of(ast.checks)
  if (checked.length === 0) return schema
  const patterns: Array<string> = []
  for (const pattern of checked) {
    const made = Patterns.toGo(pattern)
    if ("fault" in made) report(path, made.fault)
    else if (!patterns.includes(made.pattern)) patterns.push(made.pattern)
  }
  const { pattern: _, ...rest } = schema
  const [first, ...more] = patterns
  return {
    ...rest,
    ...(first === undefined ? {} : { pattern: first }),
    ...(more.length === 0 ? {} : { allOf: more.map((pattern) => ({ pattern })) })
  }
}

/** Stacked checks end up in `allOf`, where a structural schema does not allow them: they are merged into the schema. */
const flattened = (schema: Json, path: string, report: Report): Json => {
  const parts = schema["allOf"]
  if (!Array.isArray(parts)) return schema
  const { allOf: _, ...rest } = schema
  const result: Record<string, unknown> = { ...rest }
  for (const part of parts as ReadonlyArray<Json>) {
    for (const [key, value] of Object.entries(flattened(part, path, report))) {
      const present = result[key]
      if (present === undefined || JSON.stringify(present) === JSON.stringify(value)) result[key] = value
      else if (typeof present === "number" && typeof value === "number" && key !== "multipleOf") {
        result[key] = key.startsWith("max") || key === "exclusiveMaximum"
          ? Math.min(present, value)
          : Math.max(present, value)
      } else if (key === "type" && present === "number" && value === "integer") result[key] = value
      // Patterns are read from the checks themselves.
      else if (!["description", "pattern", "type"].includes(key)) {
        report(path, `two checks disagree on ${key}: combine them`)
      }
    }
  }
  return result
}

/** `exclusiveMinimum: 0` of JSON Schema 2020-12 becomes `minimum: 0, exclusiveMinimum: true` of OpenAPI v3.0. */
const bounds = (schema: Json): Record<string, unknown> => {
  const result: Record<string, unknown> = {}
  for (
    const [bound, exclusive, tighter] of [
      ["minimum", "exclusiveMinimum", (a: number, b: number) => a >= b],
      ["maximum", "exclusiveMaximum", (a: number, b: number) => a <= b]
    ] as const
  ) {
    const value = schema[bound]
    // Every JavaScript integer is within these bounds, so they are left out.
    if (typeof value === "number" && Math.abs(value) !== Number.MAX_SAFE_INTEGER) result[bound] = value
    const open = schema[exclusive]
    const closed = result[bound]
    if (typeof open === "number" && (typeof closed !== "number" || tighter(open, closed))) {
      result[bound] = open
      result[exclusive] = true
    }
  }
  if (schema["type"] === "integer" && result["minimum"] === -2147483648 && result["maximum"] === 2147483647) {
    result["format"] = "int32"
  }
  return result
}
