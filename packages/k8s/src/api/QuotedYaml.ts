/**
 * `QuotedYaml`: a YAML text in which what is quoted is read by a reader of YAML 1.2 as Go's reader of YAML 1.1 has it.
 *
 * Go wants no indentation of a quoted scalar's later lines; it knows `"\'"`, but no `"\/"` and no halves of surrogate
 * pairs. Lines keep their numbers, columns need not.
 *
 * Source: go.yaml.in/yaml/v2 scannerc.go (`yaml_parser_scan_flow_scalar`).
 */
import * as Yaml from "yaml"

/** Escapes that only one of the readers knows, or that they take for different things. */
const suspicious = /\\(?:['/]|u[dD][89a-fA-F])/

/** Whether a text has to be rewritten before it is read. */
export const isSuspicious = (text: string): boolean => suspicious.test(text)

/** The line that ends a document, wherever it is. */
export const indicator = /^(?:---|\.\.\.)(?=\s|$)/m

/** What stands for nothing that either reader knows. */
const unknown = "\\'"

const escapes = (scalar: string): string =>
  scalar.replace(
    /\\(?:u([dD][89a-fA-F]..)|[^])/g,
    (escape, half: string | undefined) =>
      half !== undefined ? "\\Uffffffff" : escape === "\\'" ? "'" : escape === "\\/" ? unknown : escape
  )

/** Where the scalar that is opened at a place is closed; undefined where it is not, or not in its document. */
const closingOf = (text: string, at: number): number | undefined => {
  const scalar = text[at] === "\"" ? /"[^"\\]*(?:\\[^][^"\\]*)*"/y : /'[^']*(?:''[^']*)*'/y
  scalar.lastIndex = at
  const [found] = scalar.exec(text) ?? []
  return found === undefined || indicator.test(found.replace(/^.*/, "")) ? undefined : at + found.length
}

/** From 0. */
export const columnOf = (text: string, at: number): number => at - text.lastIndexOf("\n", at - 1) - 1

/** Later lines as deep as the scalar's opening, which is deeper than what it belongs to. */
const indented = (scalar: string, column: number): string => scalar.replaceAll("\n", `\n${" ".repeat(column + 1)}`)

/** The text as it is to be read. */
export const readable = (text: string): string => {
  let written = ""
  let at = 0
  const through = (end: number, scalar?: string): void => {
    written += scalar ?? text.slice(at, end)
    at = end
  }
  /** Until a scalar that ends later than the reader believes: from there on it is another text to it. */
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
