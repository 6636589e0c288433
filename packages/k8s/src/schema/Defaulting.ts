/**
 * `Defaulting`: fills in a schema's defaults for missing values.
 *
 * A null that the schema does not allow counts as missing: it becomes the default, or is removed if there is none (a
 * null item of an array stays, for validation to refuse). Defaults are filled in only inside existing objects.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting.
 */
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** The object with all defaults; the same object if nothing was missing. Idempotent. */
export const applyDefaults = (schema: Schema.Schema, object: unknown): unknown =>
  fillDefaults(schema, withoutNulls(schema, object))

/** As `applyDefaults`, but nulls without a default stay, for validation to refuse. */
export const fillDefaults = (schema: Schema.Schema, object: unknown): unknown => fill(schema, object)

const isRefusedNull = (value: unknown, schema: Schema.Schema | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true

/** The object without the nulls that its schema does not allow, except those to be replaced by a default. */
export const withoutNulls = (schema: Schema.Schema | undefined, value: unknown): unknown => {
  if (typeof value !== "object" || value === null || Schema.isSettled(schema, value)) return value
  if (JsonValue.isArray(value)) return JsonValue.mapArray(value, (item) => withoutNulls(schema?.items, item))
  if (!JsonValue.isObject(value)) return value
  return JsonValue.mapObject(value, (item, key) => {
    const inner = schema === undefined ? undefined : Schema.property(schema, key) ?? Schema.mapValue(schema)
    return isRefusedNull(item, inner) && !Schema.hasDefault(inner!) ? undefined : withoutNulls(inner, item)
  })
}

const fill = (schema: Schema.Schema | undefined, value: unknown): unknown => {
  if (schema === undefined || typeof value !== "object" || value === null || Schema.isSettled(schema, value)) {
    return value
  }
  if (JsonValue.isArray(value)) {
    return JsonValue.mapArray(value, (item) => fill(schema.items, defaulted(item, schema.items)))
  }
  if (!JsonValue.isObject(value)) return value
  let object = value
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    if (Schema.hasDefault(inner) && (!JsonValue.has(object, key) || isRefusedNull(object[key], inner))) {
      object = JsonValue.set(object, key, inner.default)
    }
  }
  const values = Schema.mapValue(schema)
  return JsonValue.mapObject(object, (item, key) => {
    const known = Schema.property(schema, key)
    return known === undefined ? fill(values, defaulted(item, values)) : fill(known, item)
  })
}

const defaulted = (value: unknown, schema: Schema.Schema | undefined): unknown =>
  isRefusedNull(value, schema) && Schema.hasDefault(schema!) ? schema!.default : value
