/**
 * `OpenApiSchema`: from an Effect Schema to the structural OpenAPI v3 schema that a CustomResourceDefinition needs.
 *
 * The encoded side of the Schema counts, since that is what is stored. This module handles objects, lists and unions;
 * Effect translates strings, numbers and their checks. Descriptions, formats and `x-kubernetes-…` annotations count on
 * the type and on anything it is encoded as. A default is what decoding fills in, or an annotation of the encoded side.
 * Checks for which OpenAPI has no keyword are left to the decoder.
 *
 * What has no structural form is refused, with its path and a remedy, all faults at once. Rules: "Specifying a
 * structural schema" in the Kubernetes documentation of CustomResourceDefinitions.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Defaults from "./crd/Defaults.ts"
import * as Leaves from "./crd/Leaves.ts"
import * as Unions from "./crd/Unions.ts"
import type { JSONSchemaProps } from "./kinds/apiextensions.v1.ts"

/** A place that has no structural form. */
export interface Fault {
  /** `spec.ports[].name`. */
  readonly path: string
  readonly message: string
}

/** The structural form of the Schema at `path`, and the faults of whatever has none. */
export const fromSchema = (
  schema: Schema.Codec<any, any, never, never>,
  path: string
): { readonly schema: JSONSchemaProps; readonly faults: ReadonlyArray<Fault> } => {
  const faults: Array<Fault> = []
  const report: Leaves.Report = (path, message) => void faults.push({ path, message })
  const structural = convert(Schema.toCodecJson(schema).ast, path, report)
  return { schema: structural, faults }
}

const convert = (ast: SchemaAST.AST, path: string, report: Leaves.Report): JSONSchemaProps => {
  const notes = notesOf(ast)
  return finished(shape(SchemaAST.toEncoded(ast), stored(ast), path, report), notes, path, report)
}

/**
 * The last encoding of a type, whose parts may have encodings of their own. A decoding default puts the bare encoded
 * form last; if an earlier encoding has the same shape and keeps more about the parts, that one is returned.
 */
const stored = (ast: SchemaAST.AST): SchemaAST.AST => {
  if (ast.encoding === undefined) return ast
  const last = stored(ast.encoding[ast.encoding.length - 1]!.to)
  if (last._tag !== "Objects" && last._tag !== "Arrays") return last
  const wanted = JSON.stringify(Leaves.document(SchemaAST.toEncoded(last)))
  for (const form of [ast, ...ast.encoding.slice(0, -1).map(({ to }) => to)]) {
    const own = withoutEncoding(form)
    if (own !== undefined && JSON.stringify(Leaves.document(SchemaAST.toEncoded(own))) === wanted) return own
  }
  return last
}

const withoutEncoding = (ast: SchemaAST.AST): SchemaAST.AST | undefined => {
  switch (ast._tag) {
    case "Objects":
      return new SchemaAST.Objects(ast.propertySignatures, ast.indexSignatures, ast.annotations, ast.checks)
    case "Arrays":
      return new SchemaAST.Arrays(ast.isMutable, ast.elements, ast.rest, ast.annotations, ast.checks)
    default:
      return undefined
  }
}

/** The checks come from `encoded`, the parts from `source`. */
const shape = (
  encoded: SchemaAST.AST,
  source: SchemaAST.AST,
  path: string,
  report: Leaves.Report
): JSONSchemaProps => {
  switch (source._tag) {
    case "Null":
    case "Undefined":
    case "Void":
      report(path, "null alone has no structural form: leave the field out")
      return {}
    case "Never":
      report(path, "a field without values has no structural form: leave it out")
      return {}
    case "Suspend":
      if (JSON.stringify(Leaves.document(encoded)).includes("\"$ref\"")) {
        report(path, "a recursive type has no structural form: end the recursion with Schema.Unknown")
        return {}
      }
      return convert(source.thunk(), path, report)
    case "Union":
      return Unions.convert(members(source), path, report, (member) => convert(member, path, report))
    case "Arrays":
      return list(encoded, source, path, report)
    case "Objects":
      return object(encoded, source, path, report)
    default:
      return Leaves.convert(encoded, path, report)
  }
}

/** The members of a union, with nested unions flattened. */
const members = (union: SchemaAST.Union): ReadonlyArray<SchemaAST.AST> =>
  union.types.flatMap((member) => {
    const inner = stored(member)
    return inner._tag === "Union" && notesOf(member).size === 0 ? members(inner) : [member]
  })

const list = (
  encoded: SchemaAST.AST,
  source: SchemaAST.Arrays,
  path: string,
  report: Leaves.Report
): JSONSchemaProps => {
  const [item] = source.rest
  const same = item !== undefined && source.rest.length === 1 &&
    source.elements.every((element) => SchemaAST.toEncoded(element) === SchemaAST.toEncoded(item))
  if (!same) {
    report(path, "a tuple has no structural form: use a struct or an array")
    return {}
  }
  const { uniqueItems, ...keywords } = Leaves.keywords(
    new SchemaAST.Arrays(false, [], [SchemaAST.unknown], undefined, encoded.checks),
    path,
    report
  )
  const items = convert(item, `${path}[]`, report)
  const least = source.elements.length === 0 ? {} : {
    minItems: Math.max(source.elements.length, keywords.minItems ?? 0)
  }
  const result = { ...keywords, type: "array", ...least }
  return uniqueItems === true
    ? { ...result, items: asSetItem(items, path, report), "x-kubernetes-list-type": "set" }
    : { ...result, items }
}

/** Items of a set are compared whole, so objects and lists in it must be atomic. */
const asSetItem = (items: JSONSchemaProps, path: string, report: Leaves.Report): JSONSchemaProps => {
  if (items.nullable === true) report(`${path}[]`, "a set may not contain null: remove it from the type of the items")
  switch (items.type) {
    case "object":
      return { ...items, "x-kubernetes-map-type": "atomic" }
    case "array":
      return { ...items, "x-kubernetes-list-type": "atomic" }
    default:
      return items
  }
}

const object = (
  encoded: SchemaAST.AST,
  source: SchemaAST.Objects,
  path: string,
  report: Leaves.Report
): JSONSchemaProps => {
  const keywords = Leaves.keywords(
    new SchemaAST.Objects(
      [],
      [new SchemaAST.IndexSignature(SchemaAST.string, SchemaAST.unknown)],
      undefined,
      encoded.checks
    ),
    path,
    report
  )
  const base = { ...keywords, type: "object" }
  const values = source.indexSignatures.map(({ type }) => type)
  const open = values.some((type) => isAnything(SchemaAST.toEncoded(type)))
  if (source.propertySignatures.length === 0) {
    if (open || values.length === 0) return { ...base, "x-kubernetes-preserve-unknown-fields": true }
    if (values.length > 1) report(path, "a record with several types of keys has no structural form: use one type")
    return { ...base, additionalProperties: convert(values[0]!, `${path}.*`, report) }
  }
  if (values.length > 0 && !open) {
    report(
      path,
      "named properties and a record together have no structural form: put the record in a field of its own"
    )
  }
  const required: Array<string> = []
  const properties: Record<string, JSONSchemaProps> = {}
  for (const signature of source.propertySignatures) {
    const name = String(signature.name)
    const optional = SchemaAST.isOptional(SchemaAST.toEncoded(signature.type))
    if (!optional) required.push(name)
    const property = convert(signature.type, `${path}.${name}`, report)
    const filled = optional && property.default === undefined
      ? Defaults.of(signature, `${path}.${name}`, report)
      : undefined
    define(properties, name, filled === undefined ? property : { ...property, default: filled })
  }
  return {
    ...base,
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(open ? { "x-kubernetes-preserve-unknown-fields": true } : {})
  }
}

/** An assignment would set the prototype if the field is named __proto__. */
const define = (into: Record<string, JSONSchemaProps>, name: string, value: JSONSchemaProps): void =>
  void Object.defineProperty(into, name, { value, writable: true, enumerable: true, configurable: true })

const isAnything = (encoded: SchemaAST.AST): boolean =>
  encoded._tag === "Unknown" || encoded._tag === "Any" ||
  (encoded._tag === "Declaration" && Object.keys(Leaves.document(encoded)).length === 0)

type Notes = ReadonlyMap<string, unknown>

const rules = "x-kubernetes-validations"

/** Descriptions and Kubernetes keywords of a type and of everything it is encoded as; the inner ones win. */
const notesOf = (ast: SchemaAST.AST): Notes => {
  const notes = new Map<string, unknown>()
  const take = (annotations: Readonly<Record<string, unknown>> | undefined, last: boolean): void => {
    for (const [key, value] of Object.entries(annotations ?? {})) {
      if (value === undefined || (key === "format" && typeof value !== "string")) continue
      if (key === rules) notes.set(key, joined(notes.get(key), value))
      else if (key.startsWith("x-kubernetes-") || key === "description" || key === "format") notes.set(key, value)
      else if (last && key === "default") notes.set(key, value)
    }
  }
  for (let part: SchemaAST.AST | undefined = ast; part !== undefined;) {
    const last: boolean = part.encoding === undefined
    take(part.annotations, last)
    for (const check of part.checks ?? []) take(check.annotations, last)
    take(part.context?.annotations, last)
    part = last ? undefined : part.encoding![part.encoding!.length - 1]!.to
  }
  return notes
}

const joined = (before: unknown, more: unknown): ReadonlyArray<unknown> => {
  const [known, added] = [before, more].map((part) => Array.isArray(part) ? part as ReadonlyArray<unknown> : [])
  const seen = new Set(known!.map((rule) => JSON.stringify(rule)))
  return [...known!, ...added!.filter((rule) => !seen.has(JSON.stringify(rule)))]
}

/** The schema with the notes, in a readable order of keywords. */
const finished = (
  schema: JSONSchemaProps,
  notes: Notes,
  path: string,
  report: Leaves.Report
): JSONSchemaProps => {
  const result: Record<string, unknown> = { ...schema, ...Object.fromEntries(notes) }
  // int-or-string already says what is allowed.
  if (result["x-kubernetes-int-or-string"] === true) {
    delete result["x-kubernetes-preserve-unknown-fields"]
    delete result["type"]
  }
  if (result["x-kubernetes-embedded-resource"] === true) result["type"] = "object"
  if (result["x-kubernetes-list-type"] === "map") mapKeys(result, path, report)
  const { description, type, ...rest } = result
  return {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
    ...rest
  } as JSONSchemaProps
}

/** Items of a map list are identified by their keys, so each item must have them. */
const mapKeys = (schema: JSONSchemaProps, path: string, report: Leaves.Report): void => {
  const { properties = {}, required = [] } = (schema.items ?? {}) as JSONSchemaProps
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property = properties[key]
    if (property === undefined) report(`${path}[].${key}`, "is a key of the list: the items must have the field")
    else if (!required.includes(key) && property.default === undefined) {
      report(`${path}[].${key}`, "is a key of the list: make it required, or give it a default")
    }
  }
}
