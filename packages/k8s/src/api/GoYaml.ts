/**
 * `GoYaml`: a body in YAML as Go's reader has it, and what that reader says of one that is broken.
 *
 * It is read by the 1.1 rules for booleans and octal numbers (`defaultMode: 0644` is 420), with merge keys, but without
 * timestamps and base-60 numbers.
 *
 * Source: sigs.k8s.io/yaml, go.yaml.in/yaml/v2; texts compared with a kube-apiserver.
 */
import * as Result from "effect/Result"
import * as Yaml from "yaml"
import * as GoInt64 from "../schema/GoInt64.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as QuotedYaml from "./QuotedYaml.ts"

export interface Read {
  readonly value: unknown
  /** The first document, which `value` is of; undefined if there is none. */
  readonly document: Yaml.Document.Parsed | undefined
  /** The line of a place in the document, from 1. */
  readonly lineOf: (place: number) => number
}

const integer = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/
const float = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/

/** What begins like a number is one if Go can parse it, and a text otherwise. */
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

/** What the reader would make something else of than Go does: times, sets and numbers but for those that are none. */
const isOther = (tag: Yaml.Tags[number]): boolean =>
  typeof tag !== "string" &&
  (["timestamp", "binary", "set", "omap", "pairs", "int"].some((name) => tag.tag === core + name) ||
    (tag.tag === `${core}float` && tag.test?.test(".inf") !== true))

/** Version 1.1, with numbers as Go has them and no times. */
const options: Yaml.ParseOptions & Yaml.DocumentOptions & Yaml.SchemaOptions = {
  version: "1.1",
  customTags: (tags) => [...tags.filter((tag) => !isOther(tag)), number("int"), number("float"), binary],
  // The last of several equal keys counts.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "error"
}

/** Whether the reader ran out of stack, which it tells as an error of the text. */
const isOutOfStack = ({ message }: Pick<Yaml.YAMLParseError, "message">): boolean => /call stack/.test(message)

/** What is said of a text of so many levels that its reader runs out of stack. */
const tooDeep = "yaml: exceeded max depth of 10000"

/** What stands last in a node. */
const lastIn = (node: unknown): unknown => {
  if (Yaml.isSeq(node)) return lastIn(node.items.at(-1))
  return Yaml.isMap(node) ? lastIn(node.items.at(-1)?.value) : node
}

interface First {
  /** The text that was read: places are places in it. */
  readonly text: string
  readonly document: Yaml.Document.Parsed
}

const firstOf = (text: string): First | undefined => {
  const [document] = Yaml.parseAllDocuments(text, options) as ReadonlyArray<Yaml.Document.Parsed>
  return document === undefined ? undefined : { text, document }
}

const isUnclosed = ({ message }: Pick<Yaml.YAMLParseError, "message">): boolean => /^Missing closing ["']/.test(message)

/** Most texts are read alike by ours and Go's reader; others are made so. */
const parse = (text: string): First | undefined => {
  if (QuotedYaml.isSuspicious(text)) return firstOf(QuotedYaml.readable(text))
  const first = firstOf(text)
  return first?.document.errors.some(isUnclosed) === true ? firstOf(QuotedYaml.readable(text)) : first
}

/** The first document of a text; what follows it is not read. Undefined if there is none. */
const firstDocument = (body: string): First | undefined => {
  const first = parse(body)
  if (first === undefined) return undefined
  const { document, text } = first
  const unended = /[^\s][^\r\n]*$/.test(text) && document.errors.length === 0
  const last = unended ? lastIn(document.contents) : undefined
  // Go ends no line for the writer: a block that ends with the text, in the midst of a line, has no line break there.
  if (
    Yaml.isScalar(last) && (last.type === "BLOCK_LITERAL" || last.type === "BLOCK_FOLDED") &&
    last.range?.[1] === text.length && typeof last.value === "string"
  ) {
    last.value = last.value.replace(/\n$/, "")
  }
  return first
}

/** What Go's scanner says of a character that is where it must not be, by what ours says. */
const complaints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "found character that cannot start any token",
  BAD_SCALAR_START: "found character that cannot start any token",
  BLOCK_AS_IMPLICIT_KEY: "mapping values are not allowed in this context",
  MULTILINE_IMPLICIT_KEY: "mapping values are not allowed in this context",
  BAD_DQ_ESCAPE: "found unknown escape character"
}

/** What Go's scanner says of the code of a character, by what ours says of it. */
const codeComplaint = (message: string): string | undefined => {
  const code = /\\[xuU](.*)$/.exec(message)?.[1]
  if (code === undefined) return undefined
  return /^[0-9a-fA-F]+$/.test(code)
    ? "found invalid Unicode character escape code"
    : "did not find expected hexdecimal number"
}

/** Line breaks before a place: the number of its line, from 0. */
const linesBefore = (text: string, at: number): number => text.slice(0, at).split("\n").length - 1

/** Go does not tell the first line. */
const atLine = (said: string, line: number): string => line === 0 ? `yaml: ${said}` : `yaml: line ${line}: ${said}`

/** Source: go.yaml.in/yaml/v2 decode.go (`fail`): lines count from 1 in what the scanner says, from 0 in the parser's. */
const faultOf = ({ code, message, pos: [at] }: Yaml.YAMLParseError, text: string): string => {
  if (isOutOfStack({ message })) return tooDeep
  const scanned = (place: number): number => {
    const line = linesBefore(text, place)
    return line === 0 ? 0 : line + 1
  }
  if (/^Flow (?:sequence|map) in block collection/.test(message)) {
    const close = message.startsWith("Flow sequence") ? "]" : "}"
    // The end of a text is on a line of its own.
    const end = linesBefore(text, at) + (at >= text.length && !text.endsWith("\n") ? 1 : 0)
    return atLine(`did not find expected ',' or '${close}'`, end)
  }
  if (isUnclosed({ message })) {
    const end = text.slice(at).search(QuotedYaml.indicator)
    return end === -1
      ? atLine("found unexpected end of stream", scanned(text.length))
      : atLine("found unexpected document indicator", scanned(at + end))
  }
  if (message.startsWith("Unexpected block-seq-ind")) {
    return atLine("block sequence entries are not allowed in this context", scanned(at))
  }
  const known = codeComplaint(message) ?? complaints[code]
  if (known === undefined) return `yaml: line ${linesBefore(text, at) + 1}: ${message}`
  // A key may have begun on an earlier line than its colon.
  const colon = code === "BLOCK_AS_IMPLICIT_KEY" || code === "MULTILINE_IMPLICIT_KEY"
    ? text.slice(at).search(/:(?:\s|$)/)
    : 0
  return atLine(known, scanned(at + Math.max(0, colon)))
}

/** Numbers that JSON does not have, as Go writes them. */
const unwritable = (value: number): string => Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"

class Unsupported extends Error {}

/** What is read goes through a map, which has its keys in order, and into JSON. */
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

/** What no text may hold as it is: YAML 1.1 has it escaped, and neither JSON nor the reader below do. */
const unprintable = /(?![\t\n\r\u0085])[\p{Cc}\ufffe\uffff]/u

const readFirst = (body: string): Result.Result<Read, string> => {
  if (unprintable.test(body)) return Result.fail("yaml: control characters are not allowed")
  // Next Line is one of the line breaks of YAML 1.1.
  const first = firstDocument(body.replaceAll("\u0085", "\n"))
  if (first === undefined) return Result.succeed({ value: undefined, document: undefined, lineOf: () => 1 })
  const { document, text } = first
  const [error] = document.errors
  if (error !== undefined) return Result.fail(faultOf(error, text))
  return Result.try({
    try: () => ({ value: inOrder(document.toJS()), document, lineOf: (place) => linesBefore(text, place) + 1 }),
    catch: (thrown) => {
      if (thrown instanceof Unsupported) return thrown.message
      const anchor = /^Unresolved alias .*: (.*)$/.exec(thrown instanceof ReferenceError ? thrown.message : "")?.[1]
      return anchor === undefined ? tooDeep : `yaml: unknown anchor '${anchor}' referenced`
    }
  })
}

/** The first document of a body; what follows it is not read. */
export const read = (body: string): Result.Result<Read, string> =>
  Result.flatMap(Result.try({ try: () => readFirst(body), catch: () => tooDeep }), (result) => result)
