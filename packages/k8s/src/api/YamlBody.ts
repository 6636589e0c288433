/**
 * `YamlBody`: a body in YAML, with the keys that occur twice in it.
 *
 * The last of several equal keys counts. JSON is YAML, so this reads both.
 *
 * Source: sigs.k8s.io/yaml (`Unmarshal`, `UnmarshalStrict`).
 */
import * as Yaml from "yaml"
import { isOutOfStack, yamlOptions, yamlTooDeep } from "./Negotiation.ts"

export interface Parsed {
  readonly value: unknown
  /** `line 3: key "a" already set in map`, for each repetition. */
  readonly repeated: ReadonlyArray<string>
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

const repeatedKeys = (text: string, document: Yaml.Document.Parsed): ReadonlyArray<string> => {
  const repeated: Array<string> = []
  Yaml.visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!Yaml.isScalar(key)) continue
        if (seen.has(key.value)) {
          repeated.push(
            `line ${lineOf(text, key.range?.[0] ?? 0)}: key ${JSON.stringify(key.value)} already set in map`
          )
        }
        seen.add(key.value)
      }
    }
  })
  return repeated
}

const tooDeep = { error: `error converting YAML to JSON: ${yamlTooDeep}` }

/** Reads a body; the error is the parser's. */
export const parse = (text: string): Parsed | { readonly error: string } => {
  try {
    return read(text)
  } catch {
    return tooDeep
  }
}

const read = (text: string): Parsed | { readonly error: string } => {
  const [document, following] = Yaml.parseAllDocuments(text, yamlOptions) as ReadonlyArray<Yaml.Document.Parsed>
  if (document === undefined) return { value: undefined, repeated: [] }
  if (following !== undefined) return { error: "yaml: expected a single document in the stream" }
  const [error] = document.errors
  if (error !== undefined && isOutOfStack(error)) return tooDeep
  return error === undefined
    ? { value: document.toJS() as unknown, repeated: repeatedKeys(text, document) }
    : { error: `error converting YAML to JSON: yaml: line ${lineOf(text, error.pos[0])}: ${error.message}` }
}
