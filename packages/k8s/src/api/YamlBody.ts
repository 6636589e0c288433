/**
 * `YamlBody`: a body in YAML, and the keys that are repeated in it.
 *
 * The last of several equal keys counts, and the first of several documents. JSON is YAML, so this reads both.
 *
 * Source: sigs.k8s.io/yaml (`Unmarshal`, `UnmarshalStrict`), go.yaml.in/yaml/v2 decode.go (`setMapIndex`).
 */
import * as Result from "effect/Result"
import * as Yaml from "yaml"
import * as GoYaml from "./GoYaml.ts"

export interface Parsed {
  readonly value: unknown
  /** `line 3: key "a" already set in map`, for each repetition. */
  readonly repeated: ReadonlyArray<string>
}

const startOf = (node: unknown): number | undefined => Yaml.isNode(node) ? node.range?.[0] : undefined

/**
 * Go decodes a value before it notices that its key is repeated: repetitions inside it come first, and the line is the
 * value's.
 */
const repeatedKeys = (read: GoYaml.Read, node: unknown): ReadonlyArray<string> => {
  if (Yaml.isSeq(node)) return node.items.flatMap((item) => repeatedKeys(read, item))
  if (!Yaml.isMap(node)) return []
  const seen = new Set<unknown>()
  return node.items.flatMap(({ key, value }) => {
    const inner = repeatedKeys(read, value)
    if (!Yaml.isScalar(key) || key.value === "<<") return inner
    const again = seen.has(key.value)
    seen.add(key.value)
    const line = () => read.lineOf(startOf(value) ?? startOf(key) ?? 0)
    return again ? [...inner, `line ${line()}: key ${JSON.stringify(key.value)} already set in map`] : inner
  })
}

/** The repetitions as one error of several lines; undefined if there are none. */
export const repeatedFault = (repeated: ReadonlyArray<string>): string | undefined =>
  repeated.length === 0 ? undefined : `yaml: unmarshal errors:\n${repeated.map((line) => `  ${line}`).join("\n")}`

const texts = new WeakMap<object, string>()

/** Remembers the text that a value was parsed from. */
export const note = (value: unknown, text: string): void => {
  if (typeof value === "object" && value !== null) texts.set(value, text)
}

/** The repetitions in the text that a value was parsed from; none for any other value. */
export const repeatedOf = (value: unknown): ReadonlyArray<string> => {
  const text = typeof value === "object" && value !== null ? texts.get(value) : undefined
  const parsed = text === undefined ? undefined : parse(text)
  return parsed === undefined || "error" in parsed ? [] : parsed.repeated
}

/** Parses a body, or returns the parser's error. */
export const parse = (text: string): Parsed | { readonly error: string } =>
  Result.match(GoYaml.read(text), {
    onFailure: (said) => ({ error: `error converting YAML to JSON: ${said}` }),
    onSuccess: (read) => ({ value: read.value, repeated: repeatedKeys(read, read.document?.contents) })
  })
