/**
 * `GoJsonSyntax`: the errors of Go's decoder for a text that is not JSON.
 *
 * It is a state machine that reads byte by byte, as Go's does, written as data: the transitions of each state, and the
 * error for any other character. It accepts what `JSON.parse` accepts, except that nesting is limited to 10,000 levels.
 *
 * Source: encoding/json, scanner.go.
 */
import { quote } from "./FieldError.ts"

/** The nesting limit of Go's decoder. */
export const maxDepth = 10_000

/** What is being read in the innermost object or array. */
type Inside = "key" | "value" | "item"

interface Next {
  readonly state: string
  /** Enters a level. */
  readonly open?: Inside
  /** Leaves a level. */
  readonly close?: true
  /** What is read from here on at the same level. */
  readonly inside?: Inside
}

interface State {
  readonly next: Readonly<Record<string, Next>>
  /** The error for any other character. If absent, the value has ended, and what may follow it is expected. */
  readonly words?: string
  /** The next state for any other character. */
  readonly other?: string
}

const on = (characters: string, next: Next | string): Readonly<Record<string, Next>> =>
  Object.fromEntries([...characters].map((char) => [char, typeof next === "string" ? { state: next } : next]))

const digits = "0123456789"
const white = " \t\r\n"

/** The states of a literal, after each of its letters. */
const literal = (word: string): Readonly<Record<string, State>> =>
  Object.fromEntries(
    [...word].slice(1).map((char, at) => [
      word.slice(0, at + 1),
      {
        next: on(char, at + 2 === word.length ? "end" : word.slice(0, at + 2)),
        words: `in literal ${word} (expecting '${char}')`
      }
    ])
  )

/** The four digits of an escaped character. */
const hexadecimal: Readonly<Record<string, State>> = Object.fromEntries([1, 2, 3, 4].map((at) => [
  `hexadecimal ${at}`,
  {
    next: on(`${digits}abcdefABCDEF`, at === 4 ? "string" : `hexadecimal ${at + 1}`),
    words: "in \\u hexadecimal character escape"
  }
]))

const close: Next = { state: "end", close: true }

const value = {
  ...on("{", { state: "first key", open: "key" }),
  ...on("[", { state: "first item", open: "item" }),
  ...on("\"", "string"),
  ...on("-", "minus"),
  ...on("0", "zero"),
  ...on("123456789", "whole"),
  ...on("t", "t"),
  ...on("f", "f"),
  ...on("n", "n")
}

const noValue = "looking for beginning of value"
const noKey = "looking for beginning of object key string"
const key = on("\"", "string")
const fraction = { ...on(".", "point"), ...on("eE", "e") }

const states: Readonly<Record<string, State>> = {
  "value": { next: { ...on(white, "value"), ...value }, words: noValue },
  "first item": { next: { ...on(white, "first item"), ...value, ...on("]", close) }, words: noValue },
  "key": { next: { ...on(white, "key"), ...key }, words: noKey },
  "first key": { next: { ...on(white, "first key"), ...key, ...on("}", close) }, words: noKey },
  "after key": {
    next: { ...on(white, "end"), ...on(":", { state: "value", inside: "value" }) },
    words: "after object key"
  },
  "after value": {
    next: { ...on(white, "end"), ...on(",", { state: "key", inside: "key" }), ...on("}", close) },
    words: "after object key:value pair"
  },
  "after item": {
    next: { ...on(white, "end"), ...on(",", "value"), ...on("]", close) },
    words: "after array element"
  },
  "after all": { next: on(white, "end"), words: "after top-level value" },
  // Control characters are excluded in `read`.
  "string": { next: { ...on("\"", "end"), ...on("\\", "escape") }, words: "in string literal", other: "string" },
  "escape": { next: { ...on("bfnrt\\/\"", "string"), ...on("u", "hexadecimal 1") }, words: "in string escape code" },
  ...hexadecimal,
  "minus": { next: { ...on("0", "zero"), ...on("123456789", "whole") }, words: "in numeric literal" },
  "whole": { next: { ...on(digits, "whole"), ...fraction } },
  "zero": { next: fraction },
  "point": { next: on(digits, "decimals"), words: "after decimal point in numeric literal" },
  "decimals": { next: { ...on(digits, "decimals"), ...on("eE", "e") } },
  "e": { next: { ...on("+-", "sign"), ...on(digits, "exponent") }, words: "in exponent of numeric literal" },
  "sign": { next: on(digits, "exponent"), words: "in exponent of numeric literal" },
  "exponent": { next: on(digits, "exponent") },
  ...literal("true"),
  ...literal("false"),
  ...literal("null"),
  "end": { next: {} }
}

const isControl = (char: string): boolean => char < " "

const said = (char: string, words: string): string =>
  `invalid character ${char === "'" ? "'\\''" : char === "\"" ? "'\"'" : `'${quote(char).slice(1, -1)}'`} ${words}`

class Machine {
  private state = "value"
  private readonly levels: Array<Inside> = []

  /** Reads a character. Returns the error, if any. */
  read(char: string): string | undefined {
    const { next, other, words } = states[this.state]!
    const step = next[char]
    if (step !== undefined) return this.step(step, char)
    if (other !== undefined && !isControl(char)) {
      this.state = other
      return undefined
    }
    if (words !== undefined) return said(char, words)
    this.state = this.after()
    return this.read(char)
  }

  /** Whether the text is complete. */
  get complete(): boolean {
    return this.levels.length === 0 && this.state === "end"
  }

  private after(): string {
    const inside = this.levels.at(-1)
    return inside === undefined ? "after all" : `after ${inside}`
  }

  private step({ close, inside, open, state }: Next, char: string): string | undefined {
    this.state = state
    if (inside !== undefined) this.levels[this.levels.length - 1] = inside
    if (close === true) this.levels.pop()
    if (open === undefined) return undefined
    this.levels.push(open)
    return this.levels.length > maxDepth ? said(char, "exceeded max depth") : undefined
  }
}

/** The error of Go's decoder for a text in UTF-8; undefined for JSON. */
export const fault = (text: Uint8Array): string | undefined => {
  const machine = new Machine()
  for (const byte of text) {
    // Go reports a multi-byte character by its first byte, as a character of its own.
    const wrong = machine.read(String.fromCharCode(byte))
    if (wrong !== undefined) return wrong
  }
  // A number may end with the text: a following space tells whether it is complete.
  const wrong = machine.read(" ")
  return wrong ?? (machine.complete ? undefined : "unexpected end of JSON input")
}

/** The index of the quote that closes the string starting at `start`. */
const closingQuote = (json: string, start: number): number => {
  for (let end = json.indexOf("\"", start + 1);; end = json.indexOf("\"", end + 1)) {
    let before = end
    while (json[before - 1] === "\\") before -= 1
    // A quote is escaped if an odd number of backslashes precedes it.
    if ((end - before) % 2 === 0) return end
  }
}

/** Whether a JSON text is nested more deeply than Go's decoder allows. */
export const isTooDeep = (json: string): boolean => {
  // Each level takes two characters.
  if (json.length < 2 * maxDepth) return false
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const char = json[at]
    if (char === "\"") at = closingQuote(json, at)
    else if (char === "{" || char === "[") depth += 1
    else if (char === "}" || char === "]") depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}
