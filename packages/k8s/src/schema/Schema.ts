/**
 * `Schema`: an `openAPIV3Schema` of a CustomResourceDefinition, in its JSON form.
 *
 * `StructuralRules` checks which keywords a CRD may use; `Pruning`, `Defaulting` and `SchemaValidation` implement them.
 *
 * Source: apiextensions.k8s.io/v1 JSONSchemaProps.
 */
import * as JsonValue from "./JsonValue.ts"

export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly nullable?: boolean
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly required?: ReadonlyArray<string>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly allOf?: ReadonlyArray<Schema>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly not?: Schema
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-list-type"?: string
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-validations"?: ReadonlyArray<unknown>
}

/** The schema of a named property. */
export const property = (schema: Schema, name: string): Schema | undefined =>
  schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined

/** The schema of a map's values; undefined also if any value is allowed. */
export const mapValue = (schema: Schema): Schema | undefined =>
  JsonValue.isObject(schema.additionalProperties) ? schema.additionalProperties as Schema : undefined

/** True if the schema has a default. `default: null` does not count. */
export const hasDefault = (schema: Schema): boolean => schema.default !== undefined && schema.default !== null

/** The schema of a complete object, with implicit apiVersion, kind and metadata. */
export const asRoot = (schema: Schema): Schema =>
  schema["x-kubernetes-embedded-resource"] === true ? schema : { ...schema, "x-kubernetes-embedded-resource": true }

/** The fields of an object that no schema describes. */
export const isMetaField = (name: string): boolean => name === "apiVersion" || name === "kind" || name === "metadata"

/** The path of a map entry: `spec.labels[a/b]`. */
export const keyPath = (path: string, key: string): string => `${path}[${key}]`

/** The path of a property. An empty path is the object itself. */
export const childPath = (path: string, name: string): string => path === "" ? name : `${path}.${name}`

/** Cached answers to a question about schemas. */
type Answers = WeakMap<Schema, boolean>

const inside = (schema: Schema, is: (schema: Schema) => boolean, answers: Answers): boolean => {
  let answer = answers.get(schema)
  if (answer === undefined) {
    const inner = [...Object.values(schema.properties ?? {}), mapValue(schema), schema.items]
    answer = is(schema) || inner.some((part) => part !== undefined && inside(part, is, answers))
    answers.set(schema, answer)
  }
  return answer
}

const embedding: Answers = new WeakMap()
const listing: Answers = new WeakMap()

/** True if the schema contains that of an embedded object; otherwise a search for embedded objects can be skipped. */
export const embeds = (schema: Schema): boolean =>
  inside(schema, (part) => part["x-kubernetes-embedded-resource"] === true, embedding)

/** True if the schema contains that of a list with unique items or keys. */
export const hasDistinctItems = (schema: Schema): boolean =>
  inside(
    schema,
    ({ "x-kubernetes-list-type": type }) => type === "set" || type === "map",
    listing
  )

/** The schema by which a frozen value was decoded; decoding it by that schema again changes nothing. */
const settled = new WeakMap<object, Schema>()

/** True if decoding the value by the schema would not change it. */
export const isSettled = (schema: Schema | undefined, value: object): boolean =>
  schema !== undefined && settled.get(value) === schema

/** Records that decoding the parts of a frozen object by the schema does not change them. */
export const settle = (schema: Schema, object: object): void => {
  for (const [key, part] of Object.entries(object)) {
    const inner = typeof part === "object" && part !== null ? property(schema, key) : undefined
    if (inner !== undefined && !isMetaField(key) && Object.isFrozen(part)) settled.set(part, inner)
  }
}
