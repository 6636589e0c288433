/**
 * `GoFault`: a JSON value that does not fit a Go type, in the words of Go's decoder.
 *
 * Source: sigs.k8s.io/json `UnmarshalTypeError`. For a type with its own decoder (apimachinery's Time and IntOrString)
 * the error names the type that it decodes.
 */
import type { Schema } from "../kinds/definitions.ts"

export class Fault {
  readonly message: string
  /**
   * Whether it ends decoding: an error of a type with its own decoder. Of all others the first is reported, at the end.
   */
  readonly isFinal: boolean
  constructor(message: string, isFinal = false) {
    this.message = message
    this.isFinal = isFinal
  }
}

/** The Go name of `io.k8s.api.core.v1.PodSpec`: `v1.PodSpec`. */
export const nameOf = (definition: string): string => definition.split(".").slice(-2).join(".")

/** The Go name of a schema's type. */
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

/** Integers are written without an exponent. */
const digits = (value: number): string => Number.isInteger(value) ? BigInt(value).toString() : String(value)

const jsonType = (value: unknown, type: string): string => {
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return /^u?int/.test(type) ? `number ${digits(value)}` : "number"
  return typeof value === "boolean" ? "bool" : value === null ? "null" : typeof value
}

/** An embedded struct as part of a path. JSON has its fields in the outer struct; only errors show its name. */
export const embedded = (name: string): string => `\ue000.${name}\ue001`

/** A path without embedded structs. */
export const withoutEmbedded = (path: string): string => path.replace(/\ue000[^\ue001]*\ue001/g, "")

/** A map key as part of a path, distinguishable from an index and from a field. */
export const mapKey = (key: string): string => `\ue002${key}\ue003`

/** A path with map keys written like fields. */
export const withPlainKeys = (path: string): string => path.replace(/\ue002([^\ue003]*)\ue003/g, ".$1")

/**
 * The error for a value of a wrong type. `schema` is the type's name or its schema. Go names only struct fields in the
 * path, so indexes and map keys are removed.
 */
export const wrong = (value: unknown, schema: Schema | string, path: string, owner: string): Fault => {
  const type = typeof schema === "string" ? schema : goType(schema)
  return wrongField(jsonType(value, type), type, path, owner)
}

const wrongField = (what: string, type: string, path: string, owner: string): Fault => {
  const field = `${owner}${path.replace(/\[\d+\]|\ue002[^\ue003]*\ue003|[\ue000\ue001]/g, "")}`
  return new Fault(`json: cannot unmarshal ${what} into Go struct field ${field} of type ${type}`)
}

/** As `wrong`, for a number whose notation is wrong: with a fraction or an exponent. */
export const wrongText = (text: string, schema: Schema, path: string, owner: string): Fault =>
  wrongField(`number ${text}`, goType(schema), path, owner)
