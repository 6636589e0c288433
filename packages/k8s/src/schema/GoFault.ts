/**
 * `GoFault`: a JSON value that a Go type cannot hold, in the words of Go's decoder.
 *
 * Source: sigs.k8s.io/json `UnmarshalTypeError`; a type that reads itself (apimachinery's Time and IntOrString) is told of
 * by the type it reads.
 */
import type { Schema } from "../kinds/definitions.ts"

export class Fault {
  readonly message: string
  /** Whether it ends the reading: said by a type that reads itself. Of all others the first counts, once all is read. */
  readonly isFinal: boolean
  constructor(message: string, isFinal = false) {
    this.message = message
    this.isFinal = isFinal
  }
}

/** `io.k8s.api.core.v1.PodSpec` as Go calls it: `v1.PodSpec`. */
export const nameOf = (definition: string): string => definition.split(".").slice(-2).join(".")

/** What a type is called that has no name of its own. */
export const goType = (schema: Schema | undefined): string => {
  if (schema === undefined) return "interface {}"
  if (schema.ref !== undefined) return nameOf(schema.ref)
  switch (schema.type) {
    case "boolean":
      return "bool"
    case "integer":
      return schema.format ?? "int64"
    case "number":
      return "float64"
    case "array":
      return `[]${goType(schema.items)}`
    case "object":
      return schema.values === undefined
        ? "map[string]interface {}"
        : schema.values.ref?.endsWith("resource.Quantity") === true
        ? "v1.ResourceList"
        : `map[string]${goType(schema.values)}`
    default:
      return schema.format === "byte" ? "[]uint8" : "string"
  }
}

/** A number without an exponent where it has no fraction. */
const digits = (value: number): string => Number.isInteger(value) ? BigInt(value).toString() : String(value)

const jsonType = (value: unknown, type: string): string => {
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return /^u?int/.test(type) ? `number ${digits(value)}` : "number"
  return typeof value === "boolean" ? "bool" : value === null ? "null" : typeof value
}

/** A struct inside of another, whose fields JSON has in the outer one; its name stands in faults alone. */
export const embedded = (name: string): string => `\ue000.${name}\ue001`

/** A path without the names of structs inside of others. */
export const withoutEmbedded = (path: string): string => path.replace(/\ue000[^\ue001]*\ue001/g, "")

/** A key of a map, as part of a path: unlike an index, and unlike a field of that name. */
export const mapKey = (key: string): string => `\ue002${key}\ue003`

/** A path with keys of maps after a point, as fields are. */
export const withPlainKeys = (path: string): string => path.replace(/\ue002([^\ue003]*)\ue003/g, ".$1")

/** The type is written out, or taken from the schema. Go names the struct fields on the way, which here stand between
 * indexes in brackets and keys of maps. */
export const wrong = (value: unknown, schema: Schema | string, path: string, owner: string): Fault => {
  const type = typeof schema === "string" ? schema : goType(schema)
  return wrongField(jsonType(value, type), type, path, owner)
}

const wrongField = (what: string, type: string, path: string, owner: string): Fault => {
  const field = `${owner}${path.replace(/\[\d+\]|\ue002[^\ue003]*\ue003|[\ue000\ue001]/g, "")}`
  return new Fault(`json: cannot unmarshal ${what} into Go struct field ${field} of type ${type}`)
}

/** The same of a number that is wrong as it is written: with a fraction or an exponent. */
export const wrongText = (text: string, schema: Schema, path: string, owner: string): Fault =>
  wrongField(`number ${text}`, goType(schema), path, owner)
