/**
 * `QuotedYaml`: rewrites a YAML text so that a YAML 1.2 reader reads its quoted scalars as Go's YAML 1.1 reader does.
 *
 * Go requires no indentation in continuation lines of quoted scalars. It knows `"\'"`, but not `"\/"` or unpaired
 * surrogates. Line numbers are kept; columns may change.
 *
 * Source: go.yaml.in/yaml/v2 scannerc.go (`yaml_parser_scan_flow_scalar`).
 */
import * as Yaml from "yaml"

/** Escapes that only one of the readers knows, or that the two read differently. */
const suspicious = /\\(?:['/]|u[dD][89a-fA-F])/

/** Whether a text must be rewritten before it is read. */
export const isSuspicious = (text: string): boolean => suspicious.test(text)

/** A line that ends a document. */
export const indicator = /^(?:---|\.\.\.)(?=\s|$)/m

/** An escape that neither reader knows. */
const unknown = "\\'"

const escapes = (scalar: string): string =>
  scalar.replace(
    /\\(?:u([dD][89a-fA-F]..)|[^])/g,
    (escape, half: string | undefined) =>
      half !== undefined ? "\\Uffffffff" : escape === "\\'" ? "'" : escape === "\\/" ? unknown : escape
  )

/** Where the quoted scalar that starts at `at` is closed; undefined if it is not closed in its document. */
const closingOf = (text: string, at: number): number | undefined => {
  const scalar = text[at] === "\"" ? /"[^"\\]*(?:\\[^][^"\\]*)*"/y : /'[^']*(?:''[^']*)*'/y
  scalar.lastIndex = at
  const [found] = scalar.exec(text) ?? []
  return found === undefined || indicator.test(found.replace(/^.*/, "")) ? undefined : at + found.length
}

/** The column of an offset, from 0. */
export const columnOf = (text: string, at: number): number => at - text.lastIndexOf("\n", at - 1) - 1

/** Indents continuation lines as deep as the scalar's start, which is deeper than its parent. */
const indented = (scalar: string, column: number): string => scalar.replaceAll("\n", `\n${" ".repeat(column + 1)}`)

/** The rewritten text. */
export const readable = (text: string): string => {
  let written = ""
  let at = 0
  const through = (end: number, scalar?: string): void => {
    written += scalar ?? text.slice(at, end)
    at = end
  }
  /** Reads on until a scalar that Go ends later than the reader would: the rest must be scanned again. */
  const scan = (): void => {
    let previous = ""
    for (const token of new Yaml.Lexer().lex(text.slice(at))) {
      const isQuoted = (token.startsWith("\"") || token.startsWith("'")) && previous !== Yaml.CST.SCALAR
      previous = token
      if ([Yaml.CST.DOCUMENT, Yaml.CST.FLOW_END, Yaml.CST.SCALAR].includes(token)) continue
      const closing = isQuoted ? closingOf(text, at) : at + token.length
      if (closing === undefined) return through(text.length)
      if (!isQuoted) through(closing)
      else {
        const isShort = closing > at + token.length
        const scalar = text.slice(at, closing)
        const escaped = scalar.startsWith("\"") ? escapes(scalar) : scalar
        through(closing, isShort ? indented(escaped, columnOf(text, at)) : escaped)
        if (isShort) return
      }
    }
    through(text.length)
  }
  while (at < text.length) scan()
  return written
}
