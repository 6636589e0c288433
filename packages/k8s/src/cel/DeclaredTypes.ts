/**
 * `DeclaredTypes`: the CEL types of data that a schema describes.
 *
 * Properties are fields under their escaped names (`a-b` is `a__dash__b`); expressions do not see what the schema does
 * not specify. A type knows the maximum size of its values, on which cost estimates are based: from declared limits, or
 * from what fits into a request of 3 MiB.
 *
 * Source: k8s.io/apiserver/pkg/cel/{types,limits}.go and pkg/cel/common/schemas.go.
 */
import * as CelName from "@effect-operator/core/CelName"
import * as Schema from "../schema/Schema.ts"
import { byteLength } from "../api/Names.ts"
import type { TypeProvider } from "./Checker.ts"
import * as Types from "./Types.ts"

export interface DeclaredType {
  readonly type: Types.Type
  /** The fields of an object, by escaped name. */
  readonly fields?: ReadonlyMap<string, DeclaredType>
  /** The key type of a map. */
  readonly keys?: DeclaredType
  /** The item type of a list, or the value type of a map. */
  readonly items?: DeclaredType
  /** The maximum number of items, entries or characters of a value. */
  readonly maxElements: number
  /** The minimum size of a value in JSON, in bytes. */
  readonly minSize: number
}

/** The size limit of a request, in bytes. */
const maxRequestSize = 3 * 1024 * 1024

const simple = (type: Types.Type, maxElements: number, minSize: number): DeclaredType => ({
  type,
  maxElements,
  minSize
})

const text = simple(Types.string, 0, 2)

const positive = (count: number): number => Math.max(0, count)

/** A character may take four bytes. */
const stringLength = (schema: Schema.Schema): number =>
  schema.maxLength !== undefined
    ? positive(schema.maxLength) * 4
    : schema.enum !== undefined && schema.enum.length > 0
    ? Math.max(0, ...schema.enum.map((value) => typeof value === "string" ? byteLength(value) : 0))
    : maxRequestSize - 2

const stringType = (schema: Schema.Schema): DeclaredType => {
  switch (schema.format) {
    case "byte":
      return simple(
        Types.bytes,
        schema.maxLength === undefined ? maxRequestSize - 2 : positive(schema.maxLength),
        2
      )
    case "duration":
      return simple(Types.duration, 32, 3)
    case "date":
      return simple(Types.timestamp, 12, 12)
    case "date-time":
      return simple(Types.timestamp, 32, 21)
    default:
      return simple(Types.string, stringLength(schema), 2)
  }
}

const listType = (items: DeclaredType, maxElements: number): DeclaredType => ({
  type: Types.list(items.type),
  items,
  maxElements,
  minSize: 2
})

const mapType = (items: DeclaredType, maxElements: number): DeclaredType => ({
  type: Types.map(Types.string, items.type),
  keys: text,
  items,
  maxElements,
  minSize: 2
})

const plainText: Schema.Schema = { type: "string" }
const objectMeta: Schema.Schema = { type: "object", properties: { name: plainText, generateName: plainText } }

/** The schema of a complete object, with the parts of its type and metadata that are always visible. */
export const withTypeAndObjectMeta = (schema: Schema.Schema): Schema.Schema => {
  const { apiVersion, kind, metadata } = schema.properties ?? {}
  const complete = kind?.type === "string" && apiVersion?.type === "string" && metadata?.type === "object" &&
    metadata.properties?.["name"]?.type === "string" && metadata.properties["generateName"]?.type === "string"
  return complete
    ? schema
    : { ...schema, properties: { ...schema.properties, kind: plainText, apiVersion: plainText, metadata: objectMeta } }
}

const isEmbedded = (schema: Schema.Schema): boolean => schema["x-kubernetes-embedded-resource"] === true

const objectType = (schema: Schema.Schema, name: string): DeclaredType | undefined => {
  const values = Schema.mapValue(schema)
  if (values !== undefined) {
    const items = fromSchema(values, isEmbedded(values), `${name}.@elem`)
    if (items === undefined) return undefined
    const max = schema.maxProperties === undefined
      ? Math.floor((maxRequestSize - 2) / (items.minSize + 6))
      : positive(schema.maxProperties)
    return mapType(items, max)
  }
  const fields = new Map<string, DeclaredType>()
  let minSize = 2
  for (const [property, inner] of Object.entries(schema.properties ?? {})) {
    const escaped = CelName.escape(property)
    const type = fromSchema(inner, isEmbedded(inner), `${name}.${escaped ?? property}`)
    if (type === undefined) continue
    if (escaped !== undefined) fields.set(escaped, type)
    if (schema.required?.includes(property) === true && !Schema.hasDefault(inner)) {
      minSize += byteLength(property) + type.minSize + 4
    }
  }
  return { type: Types.struct(name), fields, maxElements: 0, minSize }
}

/**
 * The CEL type of a schema; undefined if expressions do not see its values. Object types are named after their path,
 * starting with `name`.
 */
export const fromSchema = (written: Schema.Schema, isRoot: boolean, name: string): DeclaredType | undefined => {
  if (written["x-kubernetes-int-or-string"] === true) {
    const max = written.maxLength === undefined ? maxRequestSize - 2 : positive(written.maxLength) * 4
    return simple(Types.dyn, max, 1)
  }
  const schema = isRoot ? withTypeAndObjectMeta(written) : written
  switch (schema.type) {
    case "array": {
      const items = schema.items === undefined
        ? undefined
        : fromSchema(schema.items, isEmbedded(schema.items), `${name}.@idx`)
      if (items === undefined) return undefined
      const max = schema.maxItems === undefined
        ? Math.floor((maxRequestSize - 2) / (items.minSize + 1))
        : positive(schema.maxItems)
      return listType(items, max)
    }
    case "object":
      return objectType(schema, name)
    case "string":
      return stringType(schema)
    case "boolean":
      return simple(Types.bool, 0, 4)
    case "number":
      return simple(Types.double, 0, 1)
    case "integer":
      return simple(Types.int, 0, 1)
    default:
      return undefined
  }
}

/** The object types within a type, for the checker. A field named like a reserved word is also found unescaped. */
export const provider = (root: DeclaredType): TypeProvider => {
  const types = new Map<string, ReadonlyMap<string, DeclaredType>>()
  const collect = (declared: DeclaredType): void => {
    if (declared.fields !== undefined) {
      types.set(declared.type.name, declared.fields)
      declared.fields.forEach(collect)
    }
    if (declared.items !== undefined) collect(declared.items)
  }
  collect(root)
  return {
    isStruct: (name) => types.has(name),
    field: (type, name) => {
      const fields = types.get(type)
      const found = fields?.get(name) ?? (CelName.reserved.has(name) ? fields?.get(`__${name}__`) : undefined)
      return found?.type
    }
  }
}

/** How often data of a type can occur in a request. */
export const maxCardinality = ({ minSize }: DeclaredType): number => Math.floor(maxRequestSize / (minSize + 1))
