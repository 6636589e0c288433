/**
 * `GoYamlKeys`: errors for YAML keys that JSON cannot have. Go's reader refuses lists and maps as keys, and the
 * conversion to JSON refuses null. A template that was not rendered (`{{ .Values.x }}`) is a map as a key.
 *
 * Source: go.yaml.in/yaml/v2 decode.go (`mapping`), sigs.k8s.io/yaml `convertToJSONableObject`.
 */
import * as Yaml from "yaml"
import * as FieldError from "../schema/FieldError.ts"

const entries = (value: unknown): ReadonlyArray<readonly [unknown, unknown]> =>
  Yaml.isMap(value) ? value.items.map(({ key, value }) => [key, value]) : []

/** A node as Go prints it, with types. `nothing` stands for null. */
const printed = (node: unknown, nothing: string): string => {
  if (Yaml.isSeq(node)) return `[]interface {}{${node.items.map((item) => printed(item, inner)).join(", ")}}`
  if (Yaml.isMap(node)) {
    const parts = entries(node).map(([key, value]) => `${printed(key, inner)}:${printed(value, inner)}`).sort()
    return `map[interface {}]interface {}{${parts.join(", ")}}`
  }
  const value = Yaml.isScalar(node) ? node.value : node
  return value === null || value === undefined
    ? nothing
    : typeof value === "string"
    ? FieldError.quote(value)
    : String(value)
}

/** Null inside a list or map. */
const inner = "interface {}(nil)"

/** The error for the first such key. */
export const faultOf = (document: Yaml.Document.Parsed): string | undefined => {
  let complex: string | undefined
  let lost: string | undefined
  Yaml.visit(document, {
    Pair: (_, { key, value }) => {
      if (Yaml.isCollection(key)) complex ??= `yaml: invalid map key: ${printed(key, inner)}`
      if (Yaml.isScalar(key) && key.value === null) {
        lost ??= `unsupported map key of type: %!s(<nil>), key: <nil>, value: ${printed(value, "<nil>")}`
      }
    }
  })
  return complex ?? lost
}
