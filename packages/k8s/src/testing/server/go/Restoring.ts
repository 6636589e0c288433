/**
 * `Restoring`: why a patched object cannot be decoded, in the words of the converter that strategic merge patches use.
 *
 * Other bodies are decoded by the JSON decoder, whose errors name fields and types. The converter's errors name only Go
 * kinds.
 *
 * Source: k8s.io/apimachinery/pkg/runtime/converter.go `fromUnstructured`.
 */
import { definitions } from "../../../kinds/definitions.ts"

/** The decoder's error for a JSON value that a Go type cannot hold. */
const complaint = /json: cannot unmarshal (\w+)( [-\d.e+]+)? into Go struct field (\S*) of type (.+)$/s

/** Whether a field, as faults name it, has a type with its own decoder: a time, or an int-or-string. */
const readsItself = (field: string): boolean => {
  const parts = field.split(".")
  const [owner, name] = [`.${parts[0]}`, parts.at(-1)!]
  return Object.keys(definitions).some((definition) => {
    const schema = definition.endsWith(owner) ? definitions[definition]!.properties?.[name] : undefined
    return /\.(?:IntOrString|(?:Micro)?Time)$/.test(schema?.ref ?? "")
  })
}

const kinds: Readonly<Record<string, string>> = { array: "slice", object: "map" }

const numeric = /^(?:u?int|float)\d*$/

/**
 * The underlying type of a named type: the struct if it has a definition, a map for resource lists, or else a string.
 */
const underlying = (type: string): string => {
  if (type === "v1.ResourceList") return "map[v1.ResourceName]resource.Quantity"
  return !/^\w+\.\w+$/.test(type) || Object.keys(definitions).some((name) => name.endsWith(`.${type}`))
    ? type
    : "string"
}

const kindOf = (json: string, literal: string): string =>
  json === "number" ? literal === "" ? "int64" : "float64" : kinds[json] ?? json

/** The decoder's error without the kind of the object. */
export const bare = (text: string): string => text.replace(/^.*? cannot be handled as a \w+: /s, "")

/** The decoder's error in the converter's words. Errors of types with their own decoders stay as they are. */
export const word = (text: string): string => {
  const found = complaint.exec(text)
  if (found === null) return bare(text).replace(/^illegal base64/, "error decoding from json: $&")
  const [, json = "", literal = "", field = "", type = ""] = found
  if (readsItself(field)) return `json: cannot unmarshal ${json}${literal} into Go value of type ${type}`
  const kind = kindOf(json, literal)
  const inner = underlying(type)
  if (inner.startsWith("map[")) return `cannot restore map from ${kind}`
  if (inner === "[]uint8" && kind === "string") return text
  if (inner.startsWith("[]")) return `cannot restore slice from ${kind}`
  if (inner.includes(".")) return `cannot restore struct from: ${kind}`
  const convertible = kind === "int64"
    ? inner === "string" || numeric.test(inner)
    : kind === "float64" && numeric.test(inner)
  return convertible ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${inner}`
}
