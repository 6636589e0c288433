/**
 * `StructuralRules`: validates the schemas of a CustomResourceDefinition.
 *
 * A schema must be structural: every field has one type, specified outside of allOf, anyOf, oneOf and not, which only
 * restrict values. Defaults must be valid and have no unknown fields, list and map types must fit their schemas, and
 * keywords that Kubernetes does not support are refused. CEL rules (`x-kubernetes-validations`) are validated by
 * `RuleDefinitions`, if everything else is valid.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go, schema/defaulting/validation.go
 * and pkg/apis/apiextensions/validation (ValidateCustomResourceDefinitionOpenAPISchema), release 1.35.
 */
import * as Result from "effect/Result"
import * as RuleDefinitions from "../cel/RuleDefinitions.ts"
import * as RuleValidation from "../cel/RuleValidation.ts"
import * as EmbeddedResources from "./EmbeddedResources.ts"
import * as FieldError from "./FieldError.ts"
import * as GoRegExp from "./GoRegExp.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Keywords from "./SchemaKeywords.ts"
import { pruneValue } from "./Pruning.ts"
import * as Schema from "./Schema.ts"
import * as SchemaValidation from "./SchemaValidation.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/**
 * Faults of a version's schema.
 *
 * `path` is `spec.versions[0].schema.openAPIV3Schema`, or `spec.validation.openAPIV3Schema` if all versions have the
 * same schema.
 */
export const checkStructural = (schema: Schema.Schema, path = "spec.validation.openAPIV3Schema"): Errors => {
  const errors: Array<FieldError.FieldError> = []
  if (schema.nullable === true) {
    errors.push(FieldError.forbidden(`${path}.nullable`, "nullable cannot be true at the root"))
  }
  const keywords = [...Keywords.check(schema, path), ...RuleDefinitions.forms(schema, path)]
  if (Keywords.usesUnsupported(schema)) {
    const found = [...errors, ...keywords]
    // One of the unsupported keywords has no fault of its own.
    return found.length > 0 ? found : [FieldError.invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")]
  }
  const structure = [...invariants(schema, "root", path), ...completeness(schema, schema, path, path)]
  structure.sort((a, b) => compare(FieldError.format(a), FieldError.format(b)))
  const found = structure.length > 0 ? structure : defaults(Schema.asRoot(schema), path)
  const rules = found.length > 0 ? [] : RuleDefinitions.check(schema, path, keywords)
  return [...errors, ...found, ...keywords, ...rules]
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

type Level = "root" | "item" | "field"

const needsType: { readonly [L in Level]: string } = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields"
}

const typeOf = (schema: Schema.Schema): string => schema.type ?? ""

/** The rules for each node of the structural part. */
const invariants = (schema: Schema.Schema, level: Level, path: string): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const type = typeOf(schema)
  const embedded = schema["x-kubernetes-embedded-resource"] === true
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true
  const intOrString = schema["x-kubernetes-int-or-string"] === true
  if (schema.items !== undefined) errors.push(...invariants(schema.items, "item", `${path}.items`))
  else if (type === "array") errors.push(FieldError.required(`${path}.items`, "must be specified"))
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    errors.push(...invariants(inner, "field", `${path}.properties[${name}]`))
  }
  if (schema.additionalProperties !== undefined) {
    if (level === "root") {
      errors.push(FieldError.forbidden(`${path}.additionalProperties`, "must not be used at the root"))
    }
    const values = Schema.mapValue(schema)
    if (values !== undefined) errors.push(...invariants(values, "field", `${path}.additionalProperties`))
  }
  if (intOrString && preserves) {
    const field = `${path}.x-kubernetes-preserve-unknown-fields`
    errors.push(FieldError.invalid(field, true, "must be false if x-kubernetes-int-or-string is true"))
  }
  if (intOrString && embedded) {
    const field = `${path}.x-kubernetes-embedded-resource`
    errors.push(FieldError.invalid(field, true, "must be false if x-kubernetes-int-or-string is true"))
  }
  errors.push(...narrowing(schema, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf), path))
  if (embedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true"
    const field = `${path}.type`
    errors.push(type === "" ? FieldError.required(field, detail) : FieldError.invalid(field, type, detail))
  } else if (type === "" && !intOrString && !preserves) {
    errors.push(FieldError.required(`${path}.type`, needsType[level]))
  }
  if (embedded && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set"
    errors.push(FieldError.forbidden(`${path}.additionalProperties`, detail))
  }
  if (level === "root" && type !== "" && type !== "object") {
    errors.push(FieldError.invalid(`${path}.type`, type, "must be object at the root"))
  }
  if (level === "root" || embedded) {
    for (const [name, expected] of [["kind", "string"], ["apiVersion", "string"], ["metadata", "object"]] as const) {
      const inner = Schema.property(schema, name)
      if (inner === undefined || typeOf(inner) === expected) continue
      errors.push(FieldError.invalid(`${path}.properties[${name}].type`, typeOf(inner), `must be ${expected}`))
    }
  }
  const metadata = Schema.property(schema, "metadata")
  if (level === "root" && metadata !== undefined && !restrictsNamesOnly(metadata)) {
    errors.push(FieldError.forbidden(
      `${path}.properties[metadata]`,
      "must not specify anything other than name and generateName, but metadata is implicitly specified"
    ))
  }
  if (embedded && !preserves && Object.keys(schema.properties ?? {}).length === 0) {
    errors.push(FieldError.required(
      `${path}.properties`,
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
    ))
  }
  return errors
}

/** The root's metadata may only restrict name and generateName, and say that it is an object. */
const restrictsNamesOnly = (metadata: Schema.Schema): boolean => {
  const names = Object.keys(metadata.properties ?? {})
  const rest = Object.keys(metadata).filter((key) => key !== "type" && key !== "properties" && key !== "default")
  return rest.length === 0 && names.every((name) => name === "name" || name === "generateName")
}

const isIntOrString = (branches: ReadonlyArray<Schema.Schema> | undefined): boolean =>
  JsonValue.equals(branches, [{ type: "integer" }, { type: "string" }])

/** The rules of allOf, anyOf, oneOf and not, and of patterns. The standard anyOf of int-or-string may name types. */
const narrowing = (schema: Schema.Schema, skipAnyOf: boolean, skipFirstAllOf: boolean, path: string): Errors => {
  const errors: Array<FieldError.FieldError> = []
  if (!skipAnyOf) {
    schema.anyOf?.forEach((branch, index) => errors.push(...nested(branch, false, `${path}.anyOf[${index}]`)))
  }
  schema.allOf?.forEach((branch, index) =>
    errors.push(...nested(branch, skipFirstAllOf && index === 0, `${path}.allOf[${index}]`))
  )
  schema.oneOf?.forEach((branch, index) => errors.push(...nested(branch, false, `${path}.oneOf[${index}]`)))
  if (schema.not !== undefined) errors.push(...nested(schema.not, false, `${path}.not`))
  if (schema.pattern !== undefined && schema.pattern !== "") {
    const compiled = GoRegExp.compile(schema.pattern)
    if (Result.isFailure(compiled)) {
      const detail = `must be a valid regular expression, but isn't: ${compiled.failure}`
      errors.push(FieldError.invalid(`${path}.pattern`, schema.pattern, detail))
    }
  }
  return errors
}

const forbiddenInside = [
  ["type", "empty"],
  ["default", "undefined"],
  ["title", "empty"],
  ["description", "empty"],
  ["nullable", "false"],
  ["x-kubernetes-preserve-unknown-fields", "false"],
  ["x-kubernetes-embedded-resource", "false"],
  ["x-kubernetes-int-or-string", "false"],
  ["x-kubernetes-list-map-keys", "empty"],
  ["x-kubernetes-list-type", "undefined"],
  ["x-kubernetes-map-type", "undefined"],
  ["x-kubernetes-validations", "empty"]
] as const

const isZero = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === false ||
  JsonValue.isArray(value) && value.length === 0

const nested = (schema: Schema.Schema, skipAnyOf: boolean, path: string): Errors => {
  const errors: Array<FieldError.FieldError> = [...narrowing(schema, skipAnyOf, false, path)]
  if (schema.items !== undefined) errors.push(...nested(schema.items, false, `${path}.items`))
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    errors.push(...nested(inner, false, `${path}.properties[${name}]`))
  }
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
    errors.push(FieldError.forbidden(`${path}.additionalProperties`, "must be undefined to be structural"))
  }
  for (const [keyword, must] of forbiddenInside) {
    if (!isZero(schema[keyword])) {
      errors.push(FieldError.forbidden(`${path}.${keyword}`, `must be ${must} to be structural`))
    }
  }
  if (Schema.property(schema, "metadata") !== undefined) {
    errors.push(FieldError.forbidden(`${path}.properties[metadata]`, "must not be specified in a nested context"))
  }
  return errors
}

/** Everything that a nested schema restricts must be specified outside of it. */
const completeness = (narrow: Schema.Schema, schema: Schema.Schema | undefined, at: string, path: string): Errors => {
  if (schema === undefined) return [FieldError.required(at, `because it is defined in ${path}`)]
  const errors: Array<FieldError.FieldError> = []
  if (narrow.not !== undefined) errors.push(...nestedCompleteness(narrow.not, schema, at, `${path}.not`))
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const) {
    narrow[junctor]?.forEach((branch, index) =>
      errors.push(...nestedCompleteness(branch, schema, at, `${path}.${junctor}[${index}]`))
    )
  }
  return errors
}

const nestedCompleteness = (
  narrow: Schema.Schema,
  schema: Schema.Schema | undefined,
  at: string,
  path: string
): Errors => {
  if (schema === undefined) return [FieldError.required(at, `because it is defined in ${path}`)]
  const errors: Array<FieldError.FieldError> = [...completeness(narrow, schema, at, path)]
  if (narrow.items !== undefined) {
    errors.push(...nestedCompleteness(narrow.items, schema.items, `${at}.items`, `${path}.items`))
  }
  for (const [name, inner] of Object.entries(narrow.properties ?? {})) {
    const step = `.properties[${name}]`
    errors.push(...nestedCompleteness(inner, Schema.property(schema, name), at + step, path + step))
  }
  return errors
}

/** The position of a default. */
interface Place {
  /** The schema of the enclosing object with its own metadata. */
  readonly root: Schema.Schema
  /** That object with only a value in place of the default. */
  readonly around: (value: unknown) => unknown
  /** Whether it is part of that object's apiVersion, kind or metadata. */
  readonly insideMeta: boolean
}

const rootPlace = (root: Schema.Schema): Place => ({
  root,
  around: (value) => ({ apiVersion: "validation/v1", kind: "Validation", ...value as object }),
  insideMeta: false
})

const aggregated = (errors: Errors): string => {
  const texts = [...new Set(errors.map(FieldError.format))]
  return texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`
}

/** Faults of a default as metadata: inside metadata, those of the whole object that it would make. */
const metaFaults = (value: unknown, { around, root }: Place, at: string): Errors => {
  const coerced = EmbeddedResources.coerce(root, around(value))
  const faults = Result.isFailure(coerced)
    ? [coerced.failure]
    : EmbeddedResources.validate(root, coerced.success.object)
  return faults.length === 0
    ? []
    : [FieldError.invalid(at, value, `must result in valid metadata: ${aggregated(faults)}`)]
}

/** Faults of the metadata of objects inside a default. */
const objectFaults = (
  schema: Schema.Schema,
  coerced: ReturnType<typeof EmbeddedResources.coerce>,
  at: string
): Errors => {
  const faults = Result.isFailure(coerced)
    ? [coerced.failure]
    : EmbeddedResources.validate(schema, coerced.success.object)
  return faults.map((error) => ({ ...error, field: `${at}${error.field.startsWith("[") ? "" : "."}${error.field}` }))
}

/** Defaults must fit their schema and have no unknown fields. */
const defaults = (schema: Schema.Schema, path: string, outer: Place = rootPlace(schema)): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const embedded = schema["x-kubernetes-embedded-resource"] === true
  const place = embedded ? rootPlace(schema) : outer
  const { around, insideMeta } = place
  if (Schema.hasDefault(schema)) {
    const at = `${path}.default`
    const coerced = EmbeddedResources.coerce(schema, schema.default)
    // Errors show the default without its unknown metadata fields.
    const value = insideMeta || Result.isFailure(coerced) ? schema.default : coerced.success.object
    if (!insideMeta && !JsonValue.equals(pruneValue(schema, schema.default), schema.default)) {
      errors.push(FieldError.invalid(at, value, "must not have unknown fields"))
    }
    const meta = insideMeta ? metaFaults(value, place, at) : objectFaults(schema, coerced, at)
    const wrong = meta.length > 0 ? meta : SchemaValidation.validateDefault(schema, value, at)
    errors.push(...(wrong.length > 0 ? wrong : RuleValidation.validateDefault(schema, at)))
  }
  if (schema.items !== undefined) {
    errors.push(...defaults(schema.items, `${path}.items`, { ...place, around: (value) => around([value]) }))
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    errors.push(...defaults(inner, `${path}.properties[${name}]`, {
      ...place,
      around: (value) => around({ [name]: value }),
      insideMeta: insideMeta || embedded && Schema.isMetaField(name)
    }))
  }
  return errors
}
