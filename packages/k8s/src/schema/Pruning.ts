/**
 * `Pruning`: drops fields that a schema does not specify.
 *
 * Below `x-kubernetes-preserve-unknown-fields` everything without a schema stays; parts with a schema are pruned by it.
 * apiVersion, kind and metadata of the object and of embedded resources are never touched.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning.
 */
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** The pruned object, and what was dropped. */
export interface Pruned {
  readonly object: unknown
  /** Paths such as `spec.l[0].k`, sorted: the unknown fields in the error of a strict write. */
  readonly unknown: ReadonlyArray<string>
}

/** The object without unknown fields. The same object if there are none. */
export const prune = (schema: Schema.Schema, object: unknown): unknown => pruneWithPaths(schema, object).object

/** As `prune`, with the paths of what was dropped. */
export const pruneWithPaths = (schema: Schema.Schema, object: unknown): Pruned => {
  const unknown: Array<string> = []
  const pruned = walk(Schema.asRoot(schema), object, "", unknown)
  return { object: pruned, unknown: unknown.sort() }
}

/** As `prune`, for a value inside an object, such as a default. */
export const pruneValue = (schema: Schema.Schema, value: unknown): unknown => walk(schema, value, "", [])

const walk = (schema: Schema.Schema | undefined, value: unknown, path: string, unknown: Array<string>): unknown => {
  if (typeof value !== "object" || value === null || Schema.isSettled(schema, value)) return value
  if (schema?.["x-kubernetes-preserve-unknown-fields"] === true) return preserve(schema, value, path, unknown)
  if (JsonValue.isArray(value)) {
    return JsonValue.mapArray(value, (item, index) => walk(schema?.items, item, `${path}[${index}]`, unknown))
  }
  if (!JsonValue.isObject(value)) return value
  return JsonValue.mapObject(value, (item, key) => {
    const at = Schema.childPath(path, key)
    if (schema?.["x-kubernetes-embedded-resource"] === true && Schema.isMetaField(key)) return item
    const known = schema === undefined ? undefined : Schema.property(schema, key)
    if (known !== undefined) return walk(known, item, at, unknown)
    // `additionalProperties: true` does not specify what the values contain: maps in them are emptied.
    if (schema?.additionalProperties !== undefined) return walk(Schema.mapValue(schema), item, at, unknown)
    unknown.push(at)
    return undefined
  })
}

const preserve = (schema: Schema.Schema, value: unknown, path: string, unknown: Array<string>): unknown => {
  if (JsonValue.isArray(value)) {
    const items = schema.items
    return items === undefined
      ? value
      : JsonValue.mapArray(value, (item, index) => preserve(items, item, `${path}[${index}]`, unknown))
  }
  if (!JsonValue.isObject(value)) return value
  return JsonValue.mapObject(value, (item, key) => {
    if (schema["x-kubernetes-embedded-resource"] === true && Schema.isMetaField(key)) return item
    const known = Schema.property(schema, key)
    if (known !== undefined) return walk(known, item, Schema.childPath(path, key), unknown)
    return schema.additionalProperties === undefined
      ? item
      : walk(Schema.mapValue(schema), item, Schema.childPath(path, key), unknown)
  })
}
