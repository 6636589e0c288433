/**
 * `SchemaKeywords`: the keywords that a CustomResourceDefinition's schema may use, and their valid values.
 *
 * Source: ValidateCustomResourceDefinitionOpenAPISchema in
 * k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation, release 1.35.
 */
import * as FieldError from "./FieldError.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** JSON Schema keywords that structural schemas do not have. */
const unsupported = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const

const openApiTypes = ["array", "boolean", "integer", "number", "object", "string"]

const keyword = (schema: Schema.Schema, name: string): unknown =>
  JsonValue.isObject(schema) ? JsonValue.get(schema, name) : undefined

/** Keywords for which Go distinguishes empty from absent. */
const toldEmpty: ReadonlySet<string> = new Set(["additionalItems", "dependencies", "$ref"])

const isSet = (schema: Schema.Schema, name: string): boolean => {
  const value = keyword(schema, name)
  return value !== undefined && value !== null && (toldEmpty.has(name) ||
    value !== "" && !(JsonValue.isObject(value) && Object.keys(value).length === 0))
}

/** Whether a predicate holds for the schema or one nested in it. */
const some = (schema: Schema.Schema, holds: (schema: Schema.Schema) => boolean): boolean =>
  holds(schema) || children(schema, "").some(([child]) => some(child, holds))

/** True if the schema cannot be decoded as structural at all, so that only the keywords are reported. */
export const usesUnsupported = (schema: Schema.Schema): boolean =>
  some(schema, (one) =>
    unsupported.some((name) => isSet(one, name)) || isSet(one, "$schema") ||
    JsonValue.isArray(one.items) || one["x-kubernetes-preserve-unknown-fields"] === false)

/** True if the schema or one nested in it has a default. */
export const hasDefaults = (schema: Schema.Schema): boolean =>
  some(schema, (one) => one.default !== undefined && one.default !== null)

/** The schemas directly inside another, with their paths and, for properties, names. */
const children = (schema: Schema.Schema, path: string): ReadonlyArray<readonly [Schema.Schema, string, string?]> => {
  const values = Schema.mapValue(schema)
  return [
    ...(values === undefined ? [] : [[values, `${path}.additionalProperties`] as const]),
    ...Object.entries(schema.properties ?? {}).map(([name, inner]) =>
      [inner, `${path}.properties[${name}]`, name] as const
    ),
    ...(schema.not === undefined ? [] : [[schema.not, `${path}.not`] as const]),
    ...(["allOf", "oneOf", "anyOf"] as const).flatMap((junctor) =>
      (schema[junctor] ?? []).map((inner, index) => [inner, `${path}.${junctor}[${index}]`] as const)
    ),
    ...(schema.items === undefined || JsonValue.isArray(schema.items) ? [] : [[schema.items, `${path}.items`] as const])
  ]
}

/** The position of a schema. */
interface Place {
  readonly root: boolean
  /** Inside apiVersion, kind or metadata of the object or of an embedded one. */
  readonly insideMeta: boolean
  /** Why a default is forbidden here. */
  readonly noDefault: string | undefined
}

/** Faults in the keywords of the schema and all nested schemas. */
export const check = (schema: Schema.Schema, path: string): Errors =>
  walk(schema, path, { root: true, insideMeta: false, noDefault: undefined })

const walk = (schema: Schema.Schema, path: string, place: Place): Errors => {
  const errors: Array<FieldError.FieldError> = [...checkNode(schema, path, place)]
  const meta = place.root || schema["x-kubernetes-embedded-resource"] === true
  for (const [inner, at, name] of children(schema, path)) {
    const isMeta = meta && name !== undefined && Schema.isMetaField(name)
    const insideMap = at === `${path}.additionalProperties` && place.insideMeta
    errors.push(...walk(inner, at, {
      root: false,
      insideMeta: place.insideMeta || isMeta,
      noDefault: insideMap
        ? "inside additionalProperties applying to object metadata"
        : isMeta && place.root
        ? `in top-level ${name}`
        : place.noDefault
    }))
  }
  return errors
}

const checkNode = (schema: Schema.Schema, path: string, place: Place): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const type = schema.type ?? ""
  if (type !== "" && !openApiTypes.includes(type)) {
    errors.push(FieldError.notSupported(`${path}.type`, type, openApiTypes))
  }
  if (Schema.hasDefault(schema) && place.noDefault !== undefined) {
    errors.push(FieldError.forbidden(`${path}.default`, `must not be set ${place.noDefault}`))
  }
  for (const name of unsupported) {
    if (isSet(schema, name)) errors.push(FieldError.forbidden(`${path}.${name}`, `${name} is not supported`))
  }
  if (type === "null") {
    const detail = "type cannot be set to null, use nullable as an alternative"
    errors.push(FieldError.forbidden(`${path}.type`, detail))
  }
  if (JsonValue.isArray(schema.items) && schema.items.length > 0) {
    errors.push(FieldError.forbidden(`${path}.items`, "items must be a schema object and not an array"))
  }
  if (place.insideMeta && schema["x-kubernetes-embedded-resource"] === true) {
    errors.push(
      FieldError.forbidden(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta")
    )
  }
  if (schema.uniqueItems === true) {
    errors.push(FieldError.forbidden(
      `${path}.uniqueItems`,
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    ))
  }
  if (Object.keys(schema.properties ?? {}).length > 0) {
    const { additionalProperties } = schema
    if (additionalProperties !== undefined && additionalProperties !== true) {
      const detail = "additionalProperties and properties are mutual exclusive"
      errors.push(FieldError.forbidden(`${path}.additionalProperties`, detail))
    }
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    const field = `${path}.x-kubernetes-preserve-unknown-fields`
    errors.push(FieldError.invalid(field, false, "must be true or undefined"))
  }
  errors.push(...checkMapType(schema, path), ...checkListType(schema, path))
  return errors
}

const checkMapType = (schema: Schema.Schema, path: string): Errors => {
  const mapType = schema["x-kubernetes-map-type"]
  if (mapType === undefined) return []
  const errors: Array<FieldError.FieldError> = []
  const type = schema.type ?? ""
  if (type !== "object") {
    const detail = "must be object if x-kubernetes-map-type is specified"
    const field = `${path}.type`
    errors.push(type === "" ? FieldError.required(field, detail) : FieldError.invalid(field, type, detail))
  }
  if (mapType !== "atomic" && mapType !== "granular") {
    errors.push(FieldError.notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]))
  }
  return errors
}

const checkListType = (schema: Schema.Schema, path: string): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const listType = schema["x-kubernetes-list-type"]
  const listTypePath = `${path}.x-kubernetes-list-type`
  const type = schema.type ?? ""
  const items = JsonValue.isArray(schema.items) ? undefined : schema.items
  if (listType !== undefined && type !== "array") {
    const detail = "must be array if x-kubernetes-list-type is specified"
    const field = `${path}.type`
    errors.push(type === "" ? FieldError.required(field, detail) : FieldError.invalid(field, type, detail))
  } else if (listType === "set" && items !== undefined) {
    const detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    const inner = items["x-kubernetes-list-type"]
    if (items.type === "array" && inner !== undefined && inner !== "atomic") {
      errors.push(FieldError.invalid(`${path}.items.x-kubernetes-list-type`, inner, detail))
    }
    if (items.type === "object" && items["x-kubernetes-map-type"] !== "atomic") {
      // The server prints the list type here, which an object does not have.
      errors.push(FieldError.invalid(`${path}.items.x-kubernetes-map-type`, inner ?? null, detail))
    }
  }
  if (listType !== undefined && listType !== "atomic" && listType !== "set" && listType !== "map") {
    errors.push(FieldError.notSupported(listTypePath, listType, ["atomic", "set", "map"]))
  }
  const keys = schema["x-kubernetes-list-map-keys"] ?? []
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty"
    errors.push(
      listType === undefined
        ? FieldError.required(listTypePath, detail)
        : FieldError.invalid(listTypePath, listType, detail)
    )
  }
  if (listType === "map") errors.push(...checkMapKeys(keys, schema, items, path))
  if ((listType === "set" || listType === "map") && items?.nullable === true) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`
    errors.push(FieldError.forbidden(`${path}.items.nullable`, detail))
  }
  if (listType === "map" && items !== undefined) errors.push(...checkKeyFields(keys, items, path))
  return errors
}

/** Checks that every item has a value for every key. */
const checkKeyFields = (keys: ReadonlyArray<string>, items: Schema.Schema, path: string): Errors =>
  keys.flatMap((key) => {
    const inner = Schema.property(items, key)
    if (inner === undefined) return []
    const at = `${path}.items.properties[${key}]`
    const inKeys = "this property is in x-kubernetes-list-map-keys, so it"
    return [
      ...(items.required?.includes(key) === true || Schema.hasDefault(inner)
        ? []
        : [FieldError.required(`${at}.default`, `${inKeys} must have a default or be a required property`)]),
      ...(inner.nullable === true ? [FieldError.forbidden(`${at}.nullable`, `${inKeys} cannot be nullable`)] : [])
    ]
  })

const checkMapKeys = (
  keys: ReadonlyArray<string>,
  schema: Schema.Schema,
  items: Schema.Schema | undefined,
  path: string
): Errors => {
  const errors: Array<FieldError.FieldError> = []
  const keysPath = `${path}.x-kubernetes-list-map-keys`
  if (keys.length === 0) {
    errors.push(FieldError.required(keysPath, "must not be empty if x-kubernetes-list-type is map"))
  }
  if (items === undefined) {
    const field = `${path}.items`
    return [
      ...errors,
      schema.items === undefined
        ? FieldError.required(field, "must have a schema if x-kubernetes-list-type is map")
        : FieldError.invalid(field, schema.items, "must only have a single schema if x-kubernetes-list-type is map")
    ]
  }
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map"
    errors.push(FieldError.invalid(`${path}.items.type`, items.type ?? "", detail))
    return errors
  }
  for (const [index, key] of keys.entries()) {
    const inner = Schema.property(items, key)
    if (inner === undefined) {
      errors.push(FieldError.invalid(keysPath, keys, "entries must all be names of item properties"))
    } else if (inner.type === "array" || inner.type === "object") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
      errors.push(FieldError.invalid(`${path}.items.properties[${key}].type`, items.type, detail))
    }
    if (keys.indexOf(key) !== index) {
      errors.push(FieldError.invalid(keysPath, keys, "must not contain duplicate entries"))
    }
  }
  return errors
}
