/**
 * `Restoring`: why a patched object cannot be read, as the converter words it that strategic merge patches go through.
 *
 * Other bodies go through the JSON decoder, which names field and types; this one knows Go's kinds only, and no field.
 *
 * Source: k8s.io/apimachinery/pkg/runtime/converter.go `fromUnstructured`.
 */
import { definitions } from "../../../kinds/definitions.ts"

/** The decoder's complaint about a JSON value that a Go type cannot hold. */
const complaint = /json: cannot unmarshal (\w+)( [-\d.e+]+)? into Go struct field (\S*) of type (.+)$/s

/** Whether a field, as faults name it, is of a type that reads itself: a time, or a number that may be a word. */
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

/** What a type is that has a name of its own: a struct, if it has a definition, and otherwise a string, but for amounts. */
const underlying = (type: string): string => {
  if (type === "v1.ResourceList") return "map[v1.ResourceName]resource.Quantity"
  return !/^\w+\.\w+$/.test(type) || Object.keys(definitions).some((name) => name.endsWith(`.${type}`))
    ? type
    : "string"
}

const kindOf = (json: string, literal: string): string =>
  json === "number" ? literal === "" ? "int64" : "float64" : kinds[json] ?? json

/** What the decoder said of a patched object: what the object should have been is not told. */
export const bare = (text: string): string => text.replace(/^.*? cannot be handled as a \w+: /s, "")

/** The same in the converter's words; what is said of values that read themselves stays. */
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
