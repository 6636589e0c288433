/**
 * `GoYamlText`: writes a JSON value as YAML, as Go's writer does.
 *
 * A text is plain if it reads back as the same text, in double quotes if it would read back as something else, in
 * single quotes if it contains indicators of YAML, and a block scalar if it has several lines. Long lines are folded at
 * 80 characters. Keys are in natural order (`a2` before `a10`), and lists have the indentation of their key.
 *
 * Source: go.yaml.in/yaml/v2 encode.go, emitterc.go, sorter.go.
 */
import * as JsonValue from "../schema/JsonValue.ts"
import * as GoYaml from "./GoYaml.ts"

const width = 80

/** A longer key, in bytes, is written with `? `, and so is a key of several lines. */
const longestKey = 128

const letter = /^\p{L}$/u
const digit = /^\p{Nd}$/u

/** Natural order: digits within texts compare as numbers. */
const compareKeys = (left: string, right: string): number => {
  const [a, b] = [Array.from(left), Array.from(right)]
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [x, y] = [a[at]!, b[at]!]
    if (x === y) continue
    const [isX, isY] = [letter.test(x), letter.test(y)]
    if (isX !== isY) return isY ? -1 : 1
    if (!isX) {
      const within = (x === "0" || y === "0") && /[1-9]\d*$/.test(a.slice(0, at).join("")) ? "1" : ""
      const [m, n] = [a, b].map((chars) => {
        let end = at
        while (end < chars.length && digit.test(chars[end]!)) end++
        return chars.slice(at, end).join("")
      }) as [string, string]
      const order = Number(within + m || "0") - Number(within + n || "0") || m.length - n.length
      if (order !== 0) return order
    }
    return x < y ? -1 : 1
  }
  return a.length - b.length
}

const time =
  /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)?$/
const sixties = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/
const words =
  /^(?:~|null|Null|NULL|y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF|\.nan|\.NaN|\.NAN|[-+]?\.(?:inf|Inf|INF))?$/

/** Whether a plain text would be read as another type. */
const isOther = (text: string): boolean =>
  words.test(text) || time.test(text) || sixties.test(text) || typeof GoYaml.numberOrText(text) === "number"

// Control characters, surrogates and characters outside the basic plane are written as escapes.
const special = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u

const startsWithSign = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$)|---|\.\.\.)/
const hasSign = /:(?:[ \t\n]|$)|[ \t\n]#/

const isPlain = (text: string): boolean =>
  !startsWithSign.test(text) && !hasSign.test(text) && !/^ | $|[\n\u2028\u2029]/.test(text) && !special.test(text)

const named: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  "\"": "\"",
  "\\": "\\",
  "\x85": "N",
  "\u2028": "L",
  "\u2029": "P"
}

const escaped = (char: string): string => {
  const name = named[char]
  if (name !== undefined) return `\\${name}`
  if (!special.test(char)) return char
  const code = char.codePointAt(0)!
  const [sign, size] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8]
  return `\\${sign}${code.toString(16).toUpperCase().padStart(size as number, "0")}`
}

/**
 * Writes a single-line text, folded where it is too long: at single spaces or, with a backslash, before runs of spaces.
 */
const broken = (
  text: string,
  place: Place,
  quote: string,
  written: (char: string) => string,
  allowsRuns: boolean
): string => {
  let out = quote
  let column = place.column + quote.length
  const chars = Array.from(text)
  let spaces = false
  for (const [at, char] of chars.entries()) {
    const inside = quote === "" || (at > 0 && at < chars.length - 1)
    const isBreak = char === " " && place.indent !== undefined && !spaces && column > width && inside &&
      (allowsRuns || chars[at + 1] !== " ")
    if (isBreak) {
      out += `\n${" ".repeat(place.indent)}`
      column = place.indent
      if (allowsRuns && chars[at + 1] === " ") {
        out += "\\"
        column++
      }
    } else {
      const piece = written(char)
      out += piece
      column += Array.from(piece).length
    }
    spaces = char === " "
  }
  return out + quote
}

interface Place {
  /** The column at which the text starts. */
  readonly column: number
  /** The indentation of continuation lines; undefined if the text must not be folded. */
  readonly indent: number | undefined
}

const twice = (text: string, place: Place): string => broken(text, place, "\"", escaped, true)

const once = (text: string, place: Place): string =>
  broken(text, place, "'", (char) => char === "'" ? "''" : char, false)

/** A block scalar. */
const block = (text: string, indent: number): string => {
  const hint = /^[ \n]/.test(text) ? "2" : ""
  const chomp = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : ""
  const lines = text.replace(/\n$/, "").split("\n")
  return `|${hint}${chomp}\n${lines.map((line) => line === "" ? "" : " ".repeat(indent) + line).join("\n")}`
}

const textOf = (text: string, place: Place): string => {
  if (place.indent !== undefined && text.includes("\n")) {
    return / (?:\n|$)/.test(text) || special.test(text) ? twice(text, place) : block(text, place.indent)
  }
  if (text.includes("\n") || isOther(text)) return twice(text, place)
  if (isPlain(text)) return broken(text, place, "", (char) => char, false)
  return special.test(text) ? twice(text, place) : once(text, place)
}

/** The shortest digits of a float, with an exponent from a million up, as Go writes them. */
const numberOf = (value: number): string => {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return String(BigInt(value))
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e")
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
}

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : JsonValue.isObject(value) && Object.keys(value).length === 0

/** A value that starts at a column. `depth` is the indentation of its entries; continuation lines have more. */
const valueOf = (value: unknown, column: number, depth: number): string => {
  if (isEmpty(value)) return Array.isArray(value) ? "[]" : "{}"
  if (Array.isArray(value)) return listOf(value, depth)
  if (JsonValue.isObject(value)) return mapOf(value, depth)
  if (typeof value === "string") return textOf(value, { column, indent: depth })
  return typeof value === "number" ? numberOf(value) : String(value)
}

const listOf = (list: ReadonlyArray<unknown>, depth: number): string =>
  list.map((item) => `- ${valueOf(item, depth + 2, depth + 2)}`).join(`\n${" ".repeat(depth)}`)

const mapOf = (map: JsonValue.JsonObject, depth: number): string => {
  const pad = " ".repeat(depth)
  return Object.keys(map).sort(compareKeys).map((key) => {
    const value = map[key]
    if (Buffer.byteLength(key) > longestKey || key.includes("\n")) {
      const place = { column: depth + 2, indent: depth + 2 }
      return `? ${textOf(key, place)}\n${pad}: ${valueOf(value, depth + 2, depth + 2)}`
    }
    const head = `${textOf(key, { column: 0, indent: undefined })}:`
    if (isEmpty(value) || typeof value !== "object" || value === null) {
      return `${head} ${valueOf(value, depth + Array.from(head).length + 1, depth + 2)}`
    }
    const inner = Array.isArray(value) ? depth : depth + 2
    return `${head}\n${" ".repeat(inner)}${valueOf(value, inner, inner)}`
  }).join(`\n${pad}`)
}

/** Writes the document. */
export const encode = (value: unknown): string => `${valueOf(value, 0, 0)}\n`
