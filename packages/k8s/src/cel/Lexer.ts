/**
 * `Lexer`: splits an expression into tokens.
 *
 * The longest match wins; between two of equal length, the keyword. White space and `//` comments separate tokens. Text
 * that is not a token is reported and skipped, together with the character at which that became clear, as by the
 * server's generated lexer.
 *
 * Source: the lexer rules of github.com/google/cel-go/parser/gen/CEL.g4.
 */
import type { Issue, Source } from "./Source.ts"

/** The kind of a token; for punctuation and keywords that is their text. */
export type TokenKind =
  | "EOF"
  | "IDENTIFIER"
  | "ESC_IDENTIFIER"
  | "NUM_INT"
  | "NUM_UINT"
  | "NUM_FLOAT"
  | "STRING"
  | "BYTES"
  | `'${string}'`

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** The start, in code points. */
  readonly at: number
}

export interface Lexed {
  readonly tokens: ReadonlyArray<Token>
  readonly issues: ReadonlyArray<Issue>
}

const keywords = new Set(["in", "true", "false", "null"])
const pairs = new Set(["==", "!=", "<=", ">=", "&&", "||"])
const signs = new Set("<>[]{}().,-!?:+*/%")
/** First characters of two-character operators that are not tokens themselves. */
const halves = new Set(["=", "&", "|"])

const isDigit = (char: string | undefined): boolean => char !== undefined && char >= "0" && char <= "9"
const isHex = (char: string | undefined): boolean => char !== undefined && /^[0-9a-fA-F]$/.test(char)
const isLetter = (char: string | undefined): boolean => char !== undefined && /^[A-Za-z_]$/.test(char)
const isSpace = (char: string | undefined): boolean => char !== undefined && /^[ \t\r\n\f]$/.test(char)

/** The end of a match or, without one, the position of the first character that does not fit. */
type Match = { readonly kind: TokenKind; readonly end: number } | { readonly stuck: number }

type Chars = ReadonlyArray<string>

const digits = (chars: Chars, from: number): number => {
  let at = from
  while (isDigit(chars[at])) at++
  return at
}

const exponent = (chars: Chars, from: number): number => {
  if (chars[from] !== "e" && chars[from] !== "E") return from
  const start = chars[from + 1] === "+" || chars[from + 1] === "-" ? from + 2 : from + 1
  const end = digits(chars, start)
  return end > start ? end : from
}

const isUnsigned = (char: string | undefined): boolean => char === "u" || char === "U"

const number = (chars: Chars, from: number): Match => {
  if (chars[from] === "0" && chars[from + 1] === "x" && isHex(chars[from + 2])) {
    let end = from + 2
    while (isHex(chars[end])) end++
    return isUnsigned(chars[end]) ? { kind: "NUM_UINT", end: end + 1 } : { kind: "NUM_INT", end }
  }
  const whole = digits(chars, from)
  const fraction = chars[whole] === "." && isDigit(chars[whole + 1]) ? digits(chars, whole + 1) : whole
  const end = exponent(chars, fraction)
  if (end > whole) return { kind: "NUM_FLOAT", end }
  return isUnsigned(chars[whole]) ? { kind: "NUM_UINT", end: whole + 1 } : { kind: "NUM_INT", end: whole }
}

/** The end of the escape that starts at a backslash, or the position at which it is invalid. */
const escape = (chars: Chars, at: number): { readonly end: number } | { readonly stuck: number } => {
  const run = (from: number, count: number, ok: (char: string | undefined) => boolean) => {
    for (let index = 0; index < count; index++) if (!ok(chars[from + index])) return { stuck: from + index }
    return { end: from + count }
  }
  const isOctal = (char: string | undefined): boolean => char !== undefined && char >= "0" && char <= "7"
  switch (chars[at + 1]) {
    case "x":
    case "X":
      return run(at + 2, 2, isHex)
    case "u":
      return run(at + 2, 4, isHex)
    case "U":
      return run(at + 2, 8, isHex)
    case "0":
    case "1":
    case "2":
    case "3":
      return run(at + 2, 2, isOctal)
    default:
      return chars[at + 1] !== undefined && "abfnrtv\"'\\?`".includes(chars[at + 1]!)
        ? { end: at + 2 }
        : { stuck: at + 1 }
  }
}

/** A string, starting at its first quote. */
const quoted = (chars: Chars, start: number, raw: boolean): { readonly end: number } | { readonly stuck: number } => {
  const quote = chars[start]!
  const triple = chars[start + 1] === quote && chars[start + 2] === quote
  const single = stringEnd(chars, start + 1, raw, (at) => chars[at] === quote ? at + 1 : undefined, false)
  if (!triple) return single
  const closes = (at: number) =>
    chars[at] === quote && chars[at + 1] === quote && chars[at + 2] === quote ? at + 3 : undefined
  const long = stringEnd(chars, start + 3, raw, closes, true)
  return "end" in long ? long : single
}

const stringEnd = (
  chars: Chars,
  start: number,
  raw: boolean,
  closes: (at: number) => number | undefined,
  lines: boolean
): { readonly end: number } | { readonly stuck: number } => {
  let at = start
  while (at < chars.length) {
    const end = closes(at)
    if (end !== undefined) return { end }
    if (!lines && (chars[at] === "\n" || chars[at] === "\r")) return { stuck: at }
    if (chars[at] === "\\" && !raw) {
      const escaped = escape(chars, at)
      if ("stuck" in escaped) return escaped
      at = escaped.end
    } else at++
  }
  return { stuck: at }
}

const isQuote = (char: string | undefined): boolean => char === "\"" || char === "'"

/** Strings and bytes; undefined if there is no quote. */
const text = (chars: Chars, from: number): Match | undefined => {
  let at = from
  const bytes = chars[at] === "b" || chars[at] === "B"
  if (bytes) at++
  const raw = chars[at] === "r" || chars[at] === "R"
  if (raw) at++
  if (!isQuote(chars[at])) return undefined
  const found = quoted(chars, at, raw)
  return "stuck" in found ? found : { kind: bytes ? "BYTES" : "STRING", end: found.end }
}

const word = (chars: Chars, from: number): Match => {
  let end = from
  while (isLetter(chars[end]) || isDigit(chars[end])) end++
  const name = chars.slice(from, end).join("")
  return { kind: keywords.has(name) ? `'${name}'` : "IDENTIFIER", end }
}

const escapedWord = (chars: Chars, from: number): Match => {
  let end = from + 1
  while (chars[end] !== undefined && /^[A-Za-z0-9_.\-/ ]$/.test(chars[end]!)) end++
  return chars[end] === "`" && end > from + 1 ? { kind: "ESC_IDENTIFIER", end: end + 1 } : { stuck: end }
}

const match = (chars: Chars, at: number): Match => {
  const char = chars[at]!
  if (isDigit(char) || char === "." && isDigit(chars[at + 1])) return number(chars, at)
  const string = text(chars, at)
  // For an unterminated string with a prefix, the prefix is read as a name.
  if (string !== undefined && ("end" in string || isQuote(char))) return string
  if (isLetter(char)) return word(chars, at)
  if (char === "`") return escapedWord(chars, at)
  const pair = char + (chars[at + 1] ?? "")
  if (pairs.has(pair)) return { kind: `'${pair}'`, end: at + 2 }
  if (signs.has(char)) return { kind: `'${char}'`, end: at + 1 }
  return { stuck: halves.has(char) ? at + 1 : at }
}

const control: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** All tokens, ending with EOF. */
export const lex = ({ chars }: Source): Lexed => {
  const tokens: Array<Token> = []
  const issues: Array<Issue> = []
  let at = 0
  while (at < chars.length) {
    if (isSpace(chars[at])) at++
    else if (chars[at] === "/" && chars[at + 1] === "/") {
      while (at < chars.length && chars[at] !== "\n") at++
    } else {
      const found = match(chars, at)
      if ("end" in found) {
        tokens.push({ kind: found.kind, text: chars.slice(at, found.end).join(""), at })
        at = found.end
      } else {
        const skipped = chars.slice(at, found.stuck + 1).map((char) => control[char] ?? char).join("")
        issues.push({ at, message: `Syntax error: token recognition error at: '${skipped}'` })
        at = found.stuck + 1
      }
    }
  }
  tokens.push({ kind: "EOF", text: "<EOF>", at: chars.length })
  return { tokens, issues }
}
