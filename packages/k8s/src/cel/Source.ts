/**
 * `Source`: the text of an expression, and its errors as an API server prints them.
 *
 * An error names line and column, both counted from 1 and in code points, and shows the line with a mark:
 *
 *     ERROR: <input>:1:5: undefined field 'x'
 *      | self.x
 *      | ....^
 *
 * Several errors are listed by position, one below the other. An error without a position is at `-1:0`, without a line.
 *
 * Source: github.com/google/cel-go/common/{error,errors,source}.go.
 */

export interface Source {
  /** The text, one code point per entry. */
  readonly chars: ReadonlyArray<string>
  /** The start of each line. */
  readonly lines: ReadonlyArray<number>
}

/** An error in an expression. `at` counts code points; -1 means no position. */
export interface Issue {
  readonly at: number
  readonly message: string
}

/** The position of an issue without one. */
export const nowhere = -1

/** The maximum number of printed issues. */
const maxIssues = 100

/** Longer lines are not shown. */
const maxSnippet = 16384

export const make = (text: string): Source => {
  const chars = Array.from(text)
  const lines = [0]
  for (let at = 0; at < chars.length; at++) if (chars[at] === "\n") lines.push(at + 1)
  return { chars, lines }
}

/** Line and column of a position, the line from 1, the column from 0. */
const locate = (source: Source, at: number): readonly [line: number, column: number] => {
  if (at < 0) return [-1, -1]
  // An empty text has no positions.
  if (source.chars.length === 0) return [1, -1]
  let line = source.lines.length
  while (line > 1 && source.lines[line - 1]! > at) line--
  return [line, at - source.lines[line - 1]!]
}

/** Multi-byte characters are marked by a wide sign. */
const isWide = (char: string): boolean => char.codePointAt(0)! > 0x7f

const print = (source: Source, issue: Issue): string => {
  const [line, column] = locate(source, issue.at)
  const head = `ERROR: <input>:${line}:${column + 1}: ${issue.message}`
  if (line < 1 || source.chars.length === 0) return head
  const start = source.lines[line - 1]!
  const next = source.lines[line]
  const chars = source.chars.slice(start, next === undefined ? undefined : next - 1)
  const shown = chars.map((char) => char === "\t" ? " " : char)
  if (shown.join("").length > maxSnippet) return head
  const before = shown.slice(0, column).map((char) => isWide(char) ? "\uff0e" : ".").join("")
  const mark = column < shown.length && isWide(shown[column]!) ? "\uff3e" : "^"
  return `${head}\n | ${shown.join("")}\n | ${before}${mark}`
}

/** All issues as one text. */
export const format = (source: Source, issues: ReadonlyArray<Issue>): string => {
  const kept = issues.slice(0, maxIssues)
  const sorted = kept.map((issue) => [issue, ...locate(source, issue.at)] as const)
    .sort((a, b) => a[1] - b[1] || a[2] - b[2])
  const texts = sorted.map(([issue]) => print(source, issue))
  const more = issues.length - kept.length
  return [...texts, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join("\n")
}
