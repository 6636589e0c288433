/**
 * `GoYaml`: reads a YAML body as Go's reader does, with that reader's errors for invalid text.
 *
 * It follows YAML 1.1 for booleans and octal numbers (`defaultMode: 0644` is 420) and has merge keys, but no timestamps
 * and no base-60 numbers.
 *
 * Source: sigs.k8s.io/yaml, go.yaml.in/yaml/v2; texts compared with a kube-apiserver.
 */
import * as Result from "effect/Result"
import * as Yaml from "yaml"
import * as GoYamlFaults from "./GoYamlFaults.ts"
import * as GoYamlKeys from "./GoYamlKeys.ts"
import * as GoInt64 from "../schema/GoInt64.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as QuotedYaml from "./QuotedYaml.ts"

export interface Read {
  readonly value: unknown
  /** The first document, which `value` comes from; undefined if there is none. */
  readonly document: Yaml.Document.Parsed | undefined
  /** The line of an offset in the document, from 1. */
  readonly lineOf: (place: number) => number
}

const integer = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/
const float = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/

/** A scalar that starts like a number: a number if Go can parse it as one, otherwise text. */
export const numberOrText = (text: string): number | string => {
  const plain = text.replaceAll("_", "")
  const digits = plain.replace(/^[-+]/, "")
  const sign = plain.startsWith("-") ? -1 : 1
  if (/^[1-9]/.test(digits) && integer.test(plain)) return Number(GoInt64.readable(plain.replace("+", "")))
  if (integer.test(plain)) return sign * Number(digits.replace(/^0(?=[0-7])/, "0o"))
  const number = float.test(plain) ? sign * Number(digits) : Infinity
  return Number.isFinite(number) ? number : text
}

const core = "tag:yaml.org,2002:"

const number = (name: string): Yaml.ScalarTag => ({
  tag: core + name,
  default: true,
  identify: () => false,
  test: /^[-+]?\.?\d/,
  resolve: numberOrText
})

const binary: Yaml.ScalarTag = {
  tag: `${core}binary`,
  identify: () => false,
  resolve: (text) => Buffer.from(text, "base64").toString("utf8")
}

/**
 * Tags that the reader resolves differently from Go: timestamps, binary, sets, and numbers except `.inf` and `.nan`.
 */
const isOther = (tag: Yaml.Tags[number]): boolean =>
  typeof tag !== "string" &&
  (["timestamp", "binary", "set", "omap", "pairs", "int"].some((name) => tag.tag === core + name) ||
    (tag.tag === `${core}float` && tag.test?.test(".inf") !== true))

/** YAML 1.1 with Go's numbers and without timestamps. */
const options: Yaml.ParseOptions & Yaml.DocumentOptions & Yaml.SchemaOptions = {
  version: "1.1",
  customTags: (tags) => [...tags.filter((tag) => !isOther(tag)), number("int"), number("float"), binary],
  // The last of several equal keys wins.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "error"
}

/** The last scalar in a node. */
const lastIn = (node: unknown): unknown => {
  if (Yaml.isSeq(node)) return lastIn(node.items.at(-1))
  return Yaml.isMap(node) ? lastIn(node.items.at(-1)?.value) : node
}

interface First {
  /** The text that was parsed; offsets refer to it. */
  readonly text: string
  readonly document: Yaml.Document.Parsed
}

const firstOf = (text: string): First | undefined => {
  const [document] = Yaml.parseAllDocuments(text, options) as ReadonlyArray<Yaml.Document.Parsed>
  return document === undefined ? undefined : { text, document }
}

/** Parses a text. If this reader and Go's would read it differently, it is rewritten first. */
const parse = (written: string): First | undefined => {
  // A carriage return alone is a line break.
  const text = written.replace(/\r(?!\n)/g, "\n")
  if (QuotedYaml.isSuspicious(text)) return firstOf(QuotedYaml.readable(text))
  const first = firstOf(text)
  return first?.document.errors.some(GoYamlFaults.isUnclosed) === true ? firstOf(QuotedYaml.readable(text)) : first
}

/** Empty if the text ends with a line break. */
const lastLine = (text: string): string => text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1)

/** The first document of a text; the others are ignored. Undefined if there is none. */
const firstDocument = (body: string): First | undefined => {
  const first = parse(body)
  if (first === undefined) return undefined
  const { document, text } = first
  const unended = /\S/.test(lastLine(text)) && document.errors.length === 0
  const last = unended ? lastIn(document.contents) : undefined
  // Go does not add a missing final line break: a block scalar that ends in the middle of the last line has none.
  if (
    Yaml.isScalar(last) && (last.type === "BLOCK_LITERAL" || last.type === "BLOCK_FOLDED") &&
    last.range?.[1] === text.length && typeof last.value === "string"
  ) {
    last.value = last.value.replace(/\n$/, "")
  }
  return first
}

/** Go's names of the numbers that JSON does not have. */
const unwritable = (value: number): string => Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"

class Unsupported extends Error {}

/** Go puts the value through a map, which sorts its keys, and then writes it as JSON. */
const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (JsonValue.isObject(value)) {
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, inOrder(value[key])]))
  }
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Unsupported(`json: unsupported value: ${unwritable(value)}`)
  }
  return value
}

/** Characters that Go's reader refuses; YAML 1.1 requires them to be escaped, but the reader used here accepts them. */
const unprintable = /(?![\t\n\r\u0085])[\p{Cc}\ufffe\uffff]/u

const readFirst = (body: string): Result.Result<Read, string> => {
  if (unprintable.test(body)) return Result.fail("yaml: control characters are not allowed")
  // NEL (next line) is a line break in YAML 1.1.
  const first = firstDocument(body.replaceAll("\u0085", "\n"))
  if (first === undefined) return Result.succeed({ value: undefined, document: undefined, lineOf: () => 1 })
  const { document, text } = first
  const fault = GoYamlFaults.of(document, text) ?? GoYamlKeys.faultOf(document)
  if (fault !== undefined) return Result.fail(fault)
  return Result.try({
    try: () => ({
      value: inOrder(document.toJS()),
      document,
      lineOf: (place) => GoYamlFaults.linesBefore(text, place) + 1
    }),
    catch: (thrown) => {
      if (thrown instanceof Unsupported) return thrown.message
      return GoYamlFaults.ofReference(thrown, document) ?? GoYamlFaults.tooDeep
    }
  })
}

/** Reads the first document of a body; the others are ignored. */
export const read = (body: string): Result.Result<Read, string> =>
  Result.flatMap(Result.try({ try: () => readFirst(body), catch: () => GoYamlFaults.tooDeep }), (result) => result)
