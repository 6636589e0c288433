/**
 * `PatchedDocument`: the result of a JSON or merge patch on a built-in object, with its fields in the server's order.
 *
 * JSON objects have no order, but refusals print this document, and the first fault in it counts. The patch library
 * parses no more than necessary. What a patch has touched, even without changing it, has its keys sorted; the rest is
 * as the server wrote it, in the order of the Go types. Values in a JSON patch, and values with which a merge patch
 * replaces an object, keep the order in which they were sent.
 *
 * Source: gopkg.in/evanphx/json-patch.v4 `partialDoc`, `mergeDocs`.
 */
import { arrayAt, at } from "../../../api/Plain.ts"
import { definitions, type Schema } from "../../../kinds/definitions.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as GoZero from "./GoZero.ts"

type Keys = (keys: ReadonlyArray<string>) => ReadonlyArray<string>

const sorted: Keys = (keys) => keys.toSorted()

const inOrder = (
  object: JsonValue.JsonObject,
  keys: Keys,
  each: (value: unknown, key: string) => unknown
): JsonValue.JsonObject => Object.fromEntries(keys(Object.keys(object)).map((key) => [key, each(object[key], key)]))

const allSorted = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(allSorted) : JsonValue.isObject(value) ? inOrder(value, sorted, allSorted) : value

const ofType = (definition: string): Keys => (keys) => {
  const fields = GoZero.fieldsOf(definition)
  return [...fields.filter((field) => keys.includes(field)), ...keys.filter((key) => !fields.includes(key))]
}

/** FieldsV1 is encoded from a set, and sets are sorted. */
const isSet = (definition: string): boolean => definition.endsWith(".FieldsV1")

/** A value in the field order of its Go type. */
export const written = (value: unknown, schema: Schema | undefined): unknown => {
  if (schema === undefined || typeof value !== "object" || value === null) return value
  const { ref } = schema
  if (ref !== undefined) {
    const { items, properties, values } = definitions[ref] ?? {}
    if (isSet(ref)) return allSorted(value)
    return properties !== undefined && JsonValue.isObject(value)
      ? inOrder(value, ofType(ref), (item, key) => written(item, properties[key]))
      : written(value, items ?? values)
  }
  if (Array.isArray(value)) return value.map((item: unknown) => written(item, schema.items))
  return schema.values === undefined || !JsonValue.isObject(value)
    ? value
    : inOrder(value, sorted, (item) => written(item, schema.values))
}

const inner = (schema: Schema | undefined, key: string): Schema | undefined => {
  const type = schema?.ref === undefined ? schema : definitions[schema.ref]
  return type?.properties?.[key] ?? type?.values ?? type?.items
}

/** The result of a merge patch; values that the patch does not mention keep their order. */
const merged = (value: unknown, before: unknown, schema: Schema | undefined, patch: unknown): unknown => {
  if (patch === undefined) return written(value, schema)
  if (!JsonValue.isObject(before)) return allSorted(value)
  if (!JsonValue.isObject(value) || !JsonValue.isObject(patch)) return value
  return inOrder(value, sorted, (item, key) => merged(item, before[key], inner(schema, key), patch[key]))
}

/**
 * The patched object of a definition in the server's order. `stored` is the object before, `patch` the body of the
 * request.
 */
export const ordered = (
  definition: string,
  patched: JsonValue.JsonObject,
  stored: unknown,
  patch: unknown
): JsonValue.JsonObject => {
  if (JsonValue.isObject(patch)) return merged(patched, stored, { ref: definition }, patch) as JsonValue.JsonObject
  const given = arrayAt({ patch }, "patch").map((operation) => at(operation, "value"))
  const touched = (value: unknown, before: unknown, schema: Schema | undefined): unknown => {
    if (typeof value !== "object" || value === null) return value
    if (JsonValue.equals(value, before)) return written(value, schema)
    if (given.some((whole) => JsonValue.equals(whole, value))) return value
    if (JsonValue.isObject(value)) {
      return JsonValue.isObject(before)
        ? inOrder(value, sorted, (item, key) => touched(item, before[key], inner(schema, key)))
        : allSorted(value)
    }
    return Array.isArray(before)
      ? (value as ReadonlyArray<unknown>).map((item, index) => touched(item, before[index], inner(schema, "")))
      : allSorted(value)
  }
  return touched(patched, stored, { ref: definition }) as JsonValue.JsonObject
}
