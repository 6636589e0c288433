/**
 * `GoYamlFaults`: the errors of Go's reader for invalid YAML, derived from those of the reader used here.
 *
 * Both find the same faults in the same places, but word them differently. Go counts lines from 1 if its scanner finds
 * the fault, from 0 if its parser does, and never mentions the first line. It reads only the first node of a text and
 * ignores what follows.
 *
 * Source: go.yaml.in/yaml/v2 {scannerc,parserc,readerc,decode}.go; texts compared with a kube-apiserver.
 */
import * as Yaml from "yaml"
import * as QuotedYaml from "./QuotedYaml.ts"

type Fault = Pick<Yaml.YAMLParseError, "code" | "message" | "pos">

/** Whether the reader ran out of stack, which it reports as an error of the text. */
const isOutOfStack = ({ message }: Pick<Fault, "message">): boolean => /call stack/.test(message)

/** The error for a text nested so deeply that the reader runs out of stack. */
export const tooDeep = "yaml: exceeded max depth of 10000"

export const isUnclosed = ({ message }: Pick<Fault, "message">): boolean => /^Missing closing ["']/.test(message)

/** The errors of Go's scanner for misplaced characters, by the error codes of this reader. */
const complaints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "found character that cannot start any token",
  BAD_SCALAR_START: "found character that cannot start any token",
  BLOCK_AS_IMPLICIT_KEY: "mapping values are not allowed in this context",
  MULTILINE_IMPLICIT_KEY: "mapping values are not allowed in this context",
  BAD_DQ_ESCAPE: "found unknown escape character"
}

const noNode = "did not find expected node content"
const noKey = "did not find expected key"
const noEntry = "did not find expected '-' indicator"

/** A misplaced comma or end of a flow collection. */
const isMisplacedFlow = (message: string, char: string): boolean =>
  /^Unexpected (?:, in flow|flow-(?:map|seq)-end token)/.test(message) ||
  (char === "," && message.includes("flow indicator"))

/** The closing bracket of the innermost flow collection around an offset; undefined outside of any. */
const closing = (document: Yaml.Document.Parsed, at: number): string | undefined => {
  let found: string | undefined
  Yaml.visit(document, {
    Collection: (_, collection) => {
      const [start = 0, end = 0] = collection.range ?? []
      if (collection.flow === true && start < at && at <= end) found = Yaml.isMap(collection) ? "}" : "]"
    }
  })
  return found
}

/** Something beside or after a node that has ended. */
const isAtEnd = ({ message }: Pick<Fault, "message">): boolean =>
  /^Unexpected (?:[\w-]+ at node end|[\w-]+ token(?:$| in YAML stream))/.test(message)

/** Lines that end with a plain scalar, which continues in the next line. */
const continues = /(?:^|\n)[^\n]*(?::|-)[ \t]+[^\s"'[\]{}|>&*!#%@`][^\n"#]*\n$/

/** Whether a fault is after the end of the first node. A smaller indentation ends a block collection. */
const isAfter = (fault: Fault, { contents }: Yaml.Document.Parsed, text: string): boolean => {
  const [start = 0, end = 0] = contents?.range ?? []
  if (contents === null || !isAtEnd(fault)) return false
  const isBlock = Yaml.isCollection(contents) && contents.flow !== true
  return isBlock
    ? QuotedYaml.columnOf(text, fault.pos[0]) < QuotedYaml.columnOf(text, start)
    : fault.pos[0] >= end || !Yaml.isMap(contents)
}

/** The error for an unknown directive, or a version other than 1.1. */
const directiveFault = (text: string): string | undefined => {
  const [, name, version] = /^(?:[^\S\n]*(?:#.*)?\n)*%(\S+)(?:[ \t]+(\S+))?/.exec(text) ?? []
  if (name === undefined || name === "TAG" || (name === "YAML" && version === "1.1")) return undefined
  return `yaml: ${name === "YAML" ? "found incompatible YAML document" : "found unknown directive name"}`
}

// oxlint-disable-next-line no-control-regex
const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/

/** The error for the first document of a text; undefined if it can be read. */
export const of = (document: Yaml.Document.Parsed, text: string): string | undefined => {
  if (control.test(text)) return "yaml: control characters are not allowed"
  const directive = directiveFault(text)
  if (directive !== undefined) return directive
  const [error] = document.errors
  if (error === undefined || isAfter(error, document, text)) return undefined
  return faultOf(error, text, document)
}

/** The error for an alias or merge key without a target. */
export const ofReference = (thrown: unknown, document: Yaml.Document.Parsed): string | undefined => {
  if (!(thrown instanceof Error)) return undefined
  const anchor = /^Unresolved alias .*: (.*)$/.exec(thrown.message)?.[1]
  if (anchor !== undefined) return `yaml: unknown anchor '${anchor}' referenced`
  if (!thrown.message.startsWith("Merge sources")) return undefined
  let lost: string | undefined
  Yaml.visit(document, {
    Alias: (_, alias) => {
      if (lost === undefined && alias.resolve(document) === undefined) lost = alias.source
    }
  })
  return lost === undefined
    ? "yaml: map merge requires map or sequence of maps as the value"
    : `yaml: unknown anchor '${lost}' referenced`
}

/** The error of Go's scanner for an escaped character code, derived from this reader's message. */
const codeComplaint = (message: string): string | undefined => {
  const code = /\\[xuU](.*)$/.exec(message)?.[1]
  if (code === undefined) return undefined
  return /^[0-9a-fA-F]+$/.test(code)
    ? "found invalid Unicode character escape code"
    : "did not find expected hexdecimal number"
}

/** The line of an offset, from 0. */
export const linesBefore = (text: string, at: number): number => text.slice(0, at).split("\n").length - 1

/** Go does not mention the first line. */
const atLine = (said: string, line: number): string => line === 0 ? `yaml: ${said}` : `yaml: line ${line}: ${said}`

/**
 * Lines count from 1 in the scanner's errors, from 0 in the parser's. Source: go.yaml.in/yaml/v2 decode.go (`fail`).
 */
const faultOf = ({ code, message, pos: [at] }: Fault, text: string, document: Yaml.Document.Parsed): string => {
  if (isOutOfStack({ message })) return tooDeep
  const inSequence = Yaml.isSeq(document.contents)
  const scanned = (place: number): number => {
    const line = linesBefore(text, place)
    return line === 0 ? 0 : line + 1
  }
  if (/^Flow (?:sequence|map) (?:in block collection|must end)/.test(message)) {
    const close = message.startsWith("Flow sequence") ? "]" : "}"
    const isEnd = text.slice(at).trim() === ""
    // The end of the text counts as a line of its own.
    const end = linesBefore(text, isEnd ? text.length : at) + (isEnd && !text.endsWith("\n") ? 1 : 0)
    return atLine(isEnd && /[[{,:]\s*$/.test(text) ? noNode : `did not find expected ',' or '${close}'`, end)
  }
  const separated = /^Missing , or : between flow (sequence|map) items/.exec(message)?.[1]
  if (separated !== undefined) {
    return atLine(`did not find expected ',' or '${separated === "map" ? "}" : "]"}'`, linesBefore(text, at))
  }
  if (isMisplacedFlow(message, text[at]!)) {
    const within = message.includes("YAML stream") ? inSequence ? noEntry : noKey : noNode
    return atLine(within, linesBefore(text, at))
  }
  if (/^All (mapping|sequence) items must start at the same column/.test(message) || isAtEnd({ message })) {
    return atLine(inSequence ? noEntry : noKey, linesBefore(text, at))
  }
  if (message.startsWith("Implicit map keys need to be followed")) {
    // Go reports the line where the next token starts, which may be the end of the text.
    const rest = text.slice(at).replace(/^[^\n]*/, "")
    const next = rest.search(/(?<=^|\n)[ \t]*[^\s#]/)
    const line = linesBefore(text, next === -1 ? text.length : text.length - rest.length + next)
    return atLine("could not find expected ':'", line + (next === -1 && !text.endsWith("\n") ? 2 : 1))
  }
  if (code === "TAB_AS_INDENT" && continues.test(text.slice(0, at))) {
    return atLine("found a tab character that violates indentation", scanned(at))
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
  if (code === "MULTILINE_IMPLICIT_KEY") {
    const place = at + Math.max(0, text.slice(at).search(/:(?:\s|$)/))
    const close = closing(document, at)
    if (close !== undefined) return atLine(`did not find expected ',' or '${close}'`, linesBefore(text, place))
    if (/^-\s/.test(text.slice(at))) return atLine(noKey, linesBefore(text, at))
    // A text at the start of a map's line is a key, unless it is the value of the line before.
    const before = text.slice(0, at)
    const isKey = /\n[ \t]*$/.test(before) && /[^\s:?-]\s*$/.test(before)
    if (isKey) return atLine("could not find expected ':'", scanned(place))
  }
  if (message.startsWith("Block collections are not allowed within flow")) return atLine(noNode, linesBefore(text, at))
  if (message.startsWith("Block scalar header includes extra")) {
    return atLine("did not find expected comment or line break", scanned(at))
  }
  const known = codeComplaint(message) ?? complaints[code]
  if (known === undefined) return `yaml: line ${linesBefore(text, at) + 1}: ${message}`
  // A key may start on an earlier line than its colon.
  const colon = code === "BLOCK_AS_IMPLICIT_KEY" || code === "MULTILINE_IMPLICIT_KEY"
    ? text.slice(at).search(/:(?:\s|$)/)
    : 0
  return atLine(known, scanned(at + Math.max(0, colon)))
}
