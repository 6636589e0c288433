/**
 * `Correlation`: a value together with its counterpart before an update.
 *
 * Properties correspond by key, items of a list of type map by their map keys, none of which may be null; items of
 * other lists do not correspond. Errors in unchanged values are forgiven ("ratcheting").
 *
 * Source: k8s.io/apiserver/pkg/cel/common/equality.go.
 */
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** A value and its old value, with the schema that determines how their parts correspond. */
export interface Correlation {
  readonly value: unknown
  readonly old: unknown
  readonly schema: Schema.Schema
}

/** The correlation of a property or entry. */
export const child = (parent: Correlation | undefined, key: string): Correlation | undefined => {
  if (parent === undefined || !JsonValue.isObject(parent.old) || !JsonValue.isObject(parent.value)) return undefined
  if (!JsonValue.has(parent.old, key) || !JsonValue.has(parent.value, key)) return undefined
  const schema = Schema.property(parent.schema, key) ?? Schema.mapValue(parent.schema)
  return schema === undefined ? undefined : { value: parent.value[key], old: parent.old[key], schema }
}

const isMapList = (schema: Schema.Schema): boolean => schema["x-kubernetes-list-type"] === "map"

/** The old counterpart of an item in a list of type map. */
export const oldItem = (schema: Schema.Schema, item: unknown, old: unknown): unknown =>
  isMapList(schema) && JsonValue.isArray(old) ? old.find((other) => sameKeys(schema, item, other)) : undefined

/** The correlation of an item. */
export const item = (parent: Correlation | undefined, index: number): Correlation | undefined => {
  if (parent === undefined || !JsonValue.isArray(parent.value) || parent.schema.items === undefined) return undefined
  const value = parent.value[index]
  const old = oldItem(parent.schema, value, parent.old)
  return old === undefined ? undefined : { value, old, schema: parent.schema.items }
}

const sameKeys = (list: Schema.Schema, a: unknown, b: unknown): boolean =>
  JsonValue.isObject(a) && JsonValue.isObject(b) &&
  (list["x-kubernetes-list-map-keys"] ?? []).every((key) =>
    JsonValue.has(a, key) && JsonValue.has(b, key) && a[key] !== null && a[key] === b[key]
  )

/** Whether the value is unchanged. Items of lists of type map may have been reordered. */
export const unchanged = (node: Correlation): boolean => {
  const { old, value } = node
  if (JsonValue.isArray(value) && JsonValue.isArray(old)) {
    if (value.length !== old.length) return false
    if (!isMapList(node.schema)) return JsonValue.equals(value, old)
    return value.every((_, index) => {
      const correlated = item(node, index)
      return correlated !== undefined && unchanged(correlated)
    })
  }
  if (JsonValue.isObject(value) && JsonValue.isObject(old)) {
    const keys = Object.keys(value)
    if (keys.length !== Object.keys(old).length) return false
    return keys.every((key) => {
      const correlated = child(node, key)
      return correlated !== undefined && unchanged(correlated)
    })
  }
  return JsonValue.equals(value, old)
}
