/**
 * `ServedDefaults`: a schema as it is served: unknown metadata fields are removed from its defaults.
 *
 * The stored definition keeps such a default as written. But objects are defaulted after their metadata has been
 * decoded, so the default's metadata must have been decoded already.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go.
 */
import * as Result from "effect/Result"
import * as EmbeddedResources from "./EmbeddedResources.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** The path from an object to a default: field names, or undefined for an item. */
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

/** The default without unknown metadata fields; undefined if nothing is left. */
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

/** The served schema; the same schema if nothing changes. */
export const of = (schema: Schema.Schema): Schema.Schema => {
  let found = known.get(schema)
  if (found === undefined) known.set(schema, found = served(schema, Schema.asRoot(schema), []))
  return found
}
