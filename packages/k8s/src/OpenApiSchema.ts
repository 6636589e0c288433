/**
 * From an Effect Schema to the structural OpenAPI v3 schema a CustomResourceDefinition needs.
 *
 * The encoded side of the Schema counts: that is what is stored. What has no structural form is refused with its path
 * and a remedy, all faults at once. Rules: "Specifying a structural schema" in the Kubernetes documentation of
 * CustomResourceDefinitions.
 */
import * as Schema from "effect/Schema"
import type { JSONSchemaProps } from "./kinds/apiextensions.v1.ts"

/** One place that has no structural form. */
export interface Fault {
  /** `spec.ports[].name`. */
  readonly path: string
  readonly message: string
}

type Json = Readonly<Record<string, unknown>>

/** The structural form of a Schema found at `path`, and whatever of it has none. */
export const fromSchema = (
  schema: Schema.Codec<any, any, never, never>,
  path: string
): { readonly schema: JSONSchemaProps; readonly faults: ReadonlyArray<Fault> } => {
  const document = Schema.toJsonSchemaDocument(schema, {
    referencePolicy: () => undefined,
    includeAnnotationKey: (key) => key.startsWith("x-kubernetes-")
  })
  const faults: Array<Fault> = []
  const structural = convert(document.schema as Json, path, (path, message) => faults.push({ path, message }))
  return { schema: structural, faults }
}

type Report = (path: string, message: string) => void

/** Keywords that mean the same in JSON Schema 2020-12 and in a CustomResourceDefinition. */
const kept = [
  "type",
  "description",
  "format",
  "pattern",
  "enum",
  "default",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "multipleOf",
  "required"
] as const

const convert = (input: Json, path: string, report: Report): JSONSchemaProps => {
  const schema = flattened(input, path, report)
  if ("$ref" in schema) {
    report(path, "a recursive type has no structural form: end the recursion with Schema.Unknown")
    return {}
  }
  const alternatives = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(alternatives)) return union(schema, alternatives as ReadonlyArray<Json>, path, report)
  const result = bounds(schema)
  for (const key of kept) if (schema[key] !== undefined) result[key] = schema[key]
  for (const key of Object.keys(schema)) if (key.startsWith("x-kubernetes-")) result[key] = schema[key]
  if ("const" in schema) result["enum"] = [schema["const"]]
  if (schema["uniqueItems"] === true) result["x-kubernetes-list-type"] ??= "set"
  if ("prefixItems" in schema) report(path, "a tuple has no structural form: use a struct or an array")
  if (schema["type"] === "null") report(path, "null alone has no structural form: leave the field out")
  if (Array.isArray(schema["type"])) report(path, "several types have no structural form: use one")
  if (schema["type"] === "array" && typeof schema["items"] === "object" && schema["items"] !== null) {
    result["items"] = convert(schema["items"] as Json, `${path}[]`, report)
  }
  const properties = schema["properties"] as Readonly<Record<string, Json>> | undefined
  if (properties !== undefined) {
    result["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, convert(property, `${path}.${name}`, report)])
    )
  }
  const additional = schema["additionalProperties"]
  if (typeof additional === "object" && additional !== null && Object.keys(additional).length > 0) {
    if (properties === undefined) result["additionalProperties"] = convert(additional as Json, `${path}.*`, report)
    else {report(
        path,
        "named properties and a record together have no structural form: put the record in a field of its own"
      )}
  } else if (schema["type"] === "object" && properties === undefined) {
    result["x-kubernetes-preserve-unknown-fields"] ??= true
  }
  // Schema.Unknown: anything goes, and is kept.
  if (schema["type"] === undefined && !("enum" in result) && !("x-kubernetes-int-or-string" in result)) {
    result["x-kubernetes-preserve-unknown-fields"] = true
  }
  if ("enum" in result && result["type"] === undefined) {
    result["type"] = typeof (result["enum"] as ReadonlyArray<unknown>)[0]
  }
  return result as JSONSchemaProps
}

/** Stacked checks end up in `allOf`, which a structural schema may not use for them: they move to where they belong. */
const flattened = (schema: Json, path: string, report: Report): Json => {
  const parts = schema["allOf"]
  if (!Array.isArray(parts)) return schema
  const { allOf: _, ...rest } = schema
  const result: Record<string, unknown> = { ...rest }
  for (const part of parts as ReadonlyArray<Json>) {
    for (const [key, value] of Object.entries(flattened(part, path, report))) {
      const present = result[key]
      if (present === undefined || JSON.stringify(present) === JSON.stringify(value)) result[key] = value
      else if (typeof present === "number" && typeof value === "number") {
        result[key] = key.startsWith("max") || key === "exclusiveMaximum"
          ? Math.min(present, value)
          : Math.max(present, value)
      } else if (key !== "description") {
        report(path, `two checks disagree on ${key}: write them as one`)
      }
    }
  }
  return result
}

/** `exclusiveMinimum: 0` of JSON Schema 2020-12 is `minimum: 0, exclusiveMinimum: true` of OpenAPI v3.0. */
const bounds = (schema: Json): Record<string, unknown> => {
  const result: Record<string, unknown> = {}
  for (const [bound, exclusive] of [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]] as const) {
    const value = schema[bound]
    // Every integer of JavaScript lies within these: they say nothing.
    if (typeof value === "number" && Math.abs(value) !== Number.MAX_SAFE_INTEGER) result[bound] = value
    if (typeof schema[exclusive] === "number") {
      result[bound] = schema[exclusive]
      result[exclusive] = true
    }
  }
  return result
}

/** The two unions that have a structural form: with null, and of integer and string. */
const union = (schema: Json, alternatives: ReadonlyArray<Json>, path: string, report: Report): JSONSchemaProps => {
  const { anyOf: _, oneOf: __, ...annotations } = schema
  const present = alternatives.filter(({ type }) => type !== "null")
  const nullable = present.length < alternatives.length
  const types = present.map(({ type }) => type).sort().join()
  if (types === "integer,string") {
    const described = typeof annotations["description"] === "string" ? { description: annotations["description"] } : {}
    return { ...described, "x-kubernetes-int-or-string": true, ...(nullable ? { nullable } : {}) }
  }
  const values = present.flatMap((alternative) =>
    alternative["enum"] ?? ("const" in alternative ? [alternative["const"]] : [])
  )
  const allLiterals = present.every((alternative) => "enum" in alternative || "const" in alternative)
  if (present.length === 1 || allLiterals) {
    const only = present.length === 1 ? present[0]! : { type: present[0]!["type"], enum: values }
    return {
      ...convert({ ...only, ...annotations }, path, report),
      ...(nullable ? { nullable } : {})
    } as JSONSchemaProps
  }
  const numeric = present.some(({ type }) => type === "number") &&
    present.some((alternative) => JSON.stringify(alternative).includes("NaN"))
  if (numeric) {
    report(path, "Schema.Number has no structural form, for it allows NaN: use Schema.Finite or Schema.Int")
    return {}
  }
  report(path, "a union has no structural form: use one struct with optional fields, or Schema.Unknown")
  return {}
}
