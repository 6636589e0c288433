/**
 * `GoZero`: which empty values a built-in kind keeps.
 *
 * In most fields, the Go types cannot distinguish an empty string, 0, false or an empty list from a missing value, and
 * omit it. A few fields are pointers, which can; some fields are never omitted; and a nested struct is always present.
 * `leftOut` applies to what a client sent; `complete` adds what a server returns in addition.
 *
 * Source: the struct tags of k8s.io/api (`kinds/goTypes`), and encoding/json.
 */
import { type Draft, put } from "../../../api/Plain.ts"
import { definitions, type Schema, zeroOf } from "../../../kinds/Schema.ts"
import { table } from "../../../kinds/goTypes.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"

interface GoType {
  readonly pointers: ReadonlySet<string>
  readonly always: ReadonlySet<string>
}

const rows: ReadonlyMap<string, string> = new Map(
  table.trim().split("\n").map((line) => [line.split(" ", 1)[0]!, line])
)

const parsed = new Map<string, GoType | undefined>()

/** The Go type of a definition; undefined if the table does not have it. */
const typeOf = (definition: string): GoType | undefined => {
  if (!parsed.has(definition)) {
    const fields = rows.get(definition)?.split(" ").slice(1)
    const marked = (mark: string) =>
      new Set(fields?.filter((field) => field.startsWith(mark)).map((field) => field.slice(1)))
    parsed.set(definition, fields === undefined ? undefined : { pointers: marked("*"), always: marked("!") })
  }
  return parsed.get(definition)
}

/** The fields of a definition in the order of its struct; empty if the table does not have it. */
export const fieldsOf = (definition: string): ReadonlyArray<string> =>
  rows.get(definition)?.split(" ").slice(1).map((field) => field.replace(/^[!*]/, "")) ?? []

const isEmpty = (value: unknown): boolean =>
  value === "" || value === 0 || value === false ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0)

/** Definitions that are encoded as a string or number, with their zero. */
const texts: Readonly<Record<string, unknown>> = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": null,
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": null,
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "0",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0
}

/** Kept as it was sent. */
const raw = "io.k8s.apimachinery.pkg.runtime.RawExtension"

const structOf = (schema: Schema): string | undefined =>
  schema.ref !== undefined && definitions[schema.ref]?.properties !== undefined ? schema.ref : undefined

/** Fields in which an empty value is refused by validation, and therefore kept. */
const isJudged = (definition: string, field: string): boolean =>
  (field === "dependencies" && definition.endsWith(".JSONSchemaProps")) ||
  (field === "policies" && definition.endsWith(".HPAScalingRules"))

/** Whether an empty value of a field is omitted. */
export const leftOut = (definition: string, field: string, schema: Schema, value: unknown): boolean => {
  const { ref } = schema
  if (!isEmpty(value) || structOf(schema) !== undefined || (ref !== undefined && (ref === raw || ref in texts))) {
    return false
  }
  if (isJudged(definition, field)) return false
  const type = typeOf(definition)
  return type === undefined
    ? typeof value === "object" && definitions[definition]?.required?.includes(field) !== true
    : !type.pointers.has(field)
}

/** Whether a field is a list that is not omitted when empty: it is null once it was stored. */
export const isToldList = (definition: string, field: string, schema: Schema): boolean =>
  schema.type === "array" && typeOf(definition)?.always.has(field) === true

/** Whether a field is a pointer, which null removes. If the table does not have the type, whether it is optional. */
export const isPointer = (definition: string, field: string): boolean => {
  const type = typeOf(definition)
  return type === undefined
    ? definitions[definition]?.required?.includes(field) !== true
    : type.pointers.has(field)
}

/** The value of a field that is not set; undefined if it is omitted. */
const empty = (type: GoType, field: string, schema: Schema): unknown => {
  if (type.pointers.has(field)) return undefined
  const struct = structOf(schema)
  if (struct !== undefined) return completed(struct, {})
  if (schema.ref !== undefined && schema.ref in texts) return texts[schema.ref]
  if (!type.always.has(field)) return undefined
  if (schema.format === "byte") return null
  return zeroOf(schema.type ?? definitions[schema.ref ?? ""]?.type) ?? null
}

/** The fields that are never omitted, by definition; most definitions have none. */
const fills = new Map<string, ReadonlyArray<readonly [field: string, value: unknown]>>()

/** The fields of a definition that are never omitted, with their values if they are not set. */
export const fillsOf = (definition: string): ReadonlyArray<readonly [field: string, value: unknown]> => {
  let found = fills.get(definition)
  if (found === undefined) {
    const type = typeOf(definition)
    found = type === undefined
      ? []
      : Object.entries(definitions[definition]?.properties ?? {}).flatMap(([field, schema]) => {
        const value = empty(type, field, schema)
        return value === undefined ? [] : [[field, value] as const]
      })
    fills.set(definition, found)
  }
  return found
}

/** The schema of a list's items or a map's values, or the schema itself. */
const inner = (schema: Schema): Schema => schema.items ?? schema.values ?? schema

const value = (schema: Schema, item: unknown): unknown => {
  const struct = structOf(inner(schema))
  if (struct === undefined || typeof item !== "object" || item === null) return item
  const each = (entry: unknown) => JsonValue.isObject(entry) ? completed(struct, entry) : entry
  if (schema.items !== undefined) return Array.isArray(item) ? JsonValue.mapArray(item, each) : item
  if (schema.values !== undefined) return JsonValue.mapObject(item as JsonValue.JsonObject, each)
  return each(item)
}

/** Frozen objects in which nothing is missing, with their definition. */
const whole = new WeakMap<JsonValue.JsonObject, string>()

/** Adds missing fields; returns the same object if nothing is missing. */
const completed = (definition: string, object: JsonValue.JsonObject): JsonValue.JsonObject => {
  if (whole.get(object) === definition) return object
  const properties = definitions[definition]?.properties ?? {}
  let changed = false
  const out: Draft = {}
  for (const key of Object.keys(object)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
    const item = object[key]
    const next = schema === undefined ? item : value(schema, item)
    if (next !== item) changed = true
    put(out, key, next)
  }
  for (const [field, nothing] of fillsOf(definition)) {
    if (field in out) continue
    out[field] = nothing
    changed = true
  }
  if (changed) return out
  if (Object.isFrozen(object)) whole.set(object, definition)
  return object
}

/** `complete` for one field of an object. */
export const completeField = (definition: string, key: string, item: unknown): unknown =>
  value(definitions[definition]!.properties![key]!, item)

/** The object with all fields that are never omitted. Its own metadata is left as it is. */
export const complete = (definition: string, object: JsonValue.JsonObject): JsonValue.JsonObject => {
  const { metadata, ...rest } = object
  const { metadata: _, ...filled } = completed(definition, rest)
  return metadata === undefined ? filled : { ...filled, metadata }
}
