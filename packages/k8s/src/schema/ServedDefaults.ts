/**
 * `ServedDefaults`: a schema as it is served, with defaults that have no metadata fields which do not exist.
 *
 * A definition keeps such a default as it was written. In objects it is filled in after their metadata was read, so it
 * must have been read like that before.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go.
 */
import * as Result from "effect/Result"
import * as EmbeddedResources from "./EmbeddedResources.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** The way from an object to a default: the name of a field, or undefined for an item. */
type Steps = ReadonlyArray<string | undefined>

const around = (steps: Steps, value: unknown): unknown =>
  steps.reduceRight<unknown>((inner, step) => step === undefined ? [inner] : { [step]: inner }, value)

const within = (steps: Steps, object: unknown): unknown =>
  steps.reduce<unknown>(
    (outer, step) =>
      step === undefined
        ? JsonValue.isArray(outer) ? outer[0] : undefined
        : JsonValue.isObject(outer)
        ? JsonValue.get(outer, step)
        : undefined,
    object
  )

/** The default, without what it may not have; undefined if nothing is left of it. */
const read = (root: Schema.Schema, steps: Steps, value: unknown): unknown => {
  const coerced = EmbeddedResources.coerce(root, around(steps, value))
  return Result.isFailure(coerced) ? value : within(steps, coerced.success.object)
}

const served = (schema: Schema.Schema, root: Schema.Schema, steps: Steps): Schema.Schema => {
  const changes: Record<string, unknown> = {}
  if (Schema.hasDefault(schema)) {
    const value = read(root, steps, schema.default)
    if (!JsonValue.equals(value, schema.default)) changes["default"] = value
  }
  const inner = (child: Schema.Schema, step: string | undefined) => served(child, root, [...steps, step])
  if (schema.items !== undefined) {
    const items = inner(schema.items, undefined)
    if (items !== schema.items) changes["items"] = items
  }
  const { additionalProperties, properties } = schema
  if (JsonValue.isObject(additionalProperties)) {
    const values = inner(additionalProperties as Schema.Schema, "*")
    if (values !== additionalProperties) changes["additionalProperties"] = values
  }
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, inner(field, name)] as const)
  if (fields.some(([name, field]) => field !== properties?.[name])) changes["properties"] = Object.fromEntries(fields)
  return Object.keys(changes).length === 0 ? schema : { ...schema, ...changes }
}

const known = new WeakMap<Schema.Schema, Schema.Schema>()

/** The schema as it is served; the same schema where nothing is to be done. */
export const of = (schema: Schema.Schema): Schema.Schema => {
  let found = known.get(schema)
  if (found === undefined) known.set(schema, found = served(schema, Schema.asRoot(schema), []))
  return found
}
