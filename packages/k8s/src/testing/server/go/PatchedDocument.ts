/**
 * `PatchedDocument`: what a JSON or merge patch has made of a built-in object, with its fields in the server's order.
 *
 * Objects have no order, but this document is told in a refusal, and of its faults the first one counts. The library
 * behind patches reads no more than it must: what a patch has touched, if only to leave it as it was, has its keys
 * sorted, what it has not is as the server wrote it, in the order of the Go types. A value of a JSON patch stays as it
 * was sent, and so does what a merge patch puts in the place of an object.
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

/** Which fields somebody has is told by a set, and sets are sorted. */
const isSet = (definition: string): boolean => definition.endsWith(".FieldsV1")

/** A value as its Go type is written. */
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

/** What a merge patch has made of a value: a value that it says nothing of is as it was. */
const merged = (value: unknown, before: unknown, schema: Schema | undefined, patch: unknown): unknown => {
  if (patch === undefined) return written(value, schema)
  if (!JsonValue.isObject(before)) return allSorted(value)
  if (!JsonValue.isObject(value) || !JsonValue.isObject(patch)) return value
  return inOrder(value, sorted, (item, key) => merged(item, before[key], inner(schema, key), patch[key]))
}

/** The patched object of a definition, where `stored` was before; `patch` is the body of the request. */
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
