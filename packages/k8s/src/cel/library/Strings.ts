/**
 * `Strings`: functions of strings. Indexes count code points.
 *
 * Source: github.com/google/cel-go/ext/strings.go, version 2.
 */
import { define, type FunctionDeclaration, overload } from "../Functions.ts"
import { fault, list, ListValue, show, type Value } from "../Values.ts"
import { format } from "./StringFormat.ts"

const outOfRange = (index: bigint): Value => fault(`index out of range: ${index}`)

const charAt = (text: string, index: bigint): Value => {
  const chars = Array.from(text)
  return index < 0n || index > chars.length ? outOfRange(index) : chars[Number(index)] ?? ""
}

/** The first index from `start`, in the direction of `step`, at which the part occurs, or -1. */
const search = (chars: ReadonlyArray<string>, part: ReadonlyArray<string>, start: number, step: 1 | -1): bigint => {
  for (let at = start; at >= 0 && at + part.length <= chars.length; at += step) {
    if (part.every((char, index) => chars[at + index] === char)) return BigInt(at)
  }
  return -1n
}

const indexOf = (text: string, part: string, offset = 0n): Value => {
  if (part === "") return offset
  const chars = Array.from(text)
  if (offset < 0n) return outOfRange(offset)
  return offset >= chars.length ? -1n : search(chars, Array.from(part), Number(offset), 1)
}

const lastIndexOf = (text: string, part: string, offset?: bigint): Value => {
  const chars = Array.from(text)
  const wanted = Array.from(part)
  if (part === "") return offset ?? BigInt(chars.length)
  if (offset === undefined && chars.length < wanted.length) return -1n
  const from = offset ?? BigInt(chars.length - 1)
  if (from < 0n) return outOfRange(from)
  if (from >= chars.length) return -1n
  return search(chars, wanted, Math.min(Number(from), chars.length - wanted.length), -1)
}

/** Go's `strings.Replace`: an empty text occurs around every character. */
const replace = (text: string, old: string, next: string, count = -1n): Value => {
  if (count < 0n) return old === "" ? around(text, next, Infinity) : text.split(old).join(next)
  if (old === "") return around(text, next, Number(count))
  const parts = text.split(old)
  const kept = Number(count) + 1
  return parts.length <= kept
    ? parts.join(next)
    : [...parts.slice(0, kept - 1), parts.slice(kept - 1).join(old)].join(next)
}

const around = (text: string, next: string, count: number): string => {
  const chars = Array.from(text)
  return chars.map((char, index) => (index < count ? next : "") + char).join("") + (chars.length < count ? next : "")
}

const split = (text: string, separator: string, limit = -1n): Value => {
  if (limit === 0n) return list([])
  const parts = separator === "" ? Array.from(text) : text.split(separator)
  const count = Number(limit)
  return limit < 0n || parts.length <= count
    ? list(parts)
    : list([...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)])
}

const substring = (text: string, start: bigint, end?: bigint): Value => {
  const chars = Array.from(text)
  if (end !== undefined && start > end) return fault(`invalid substring range. start: ${start}, end: ${end}`)
  if (start < 0n || start > chars.length) return outOfRange(start)
  if (end !== undefined && (end < 0n || end > chars.length)) return outOfRange(end)
  return chars.slice(Number(start), end === undefined ? undefined : Number(end)).join("")
}

/** Go's white space, which includes U+0085 but not U+FEFF. */
const space = "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"
const ends = new RegExp(`^${space}|${space}$`, "g")

export const trimSpace = (text: string): string => text.replace(ends, "")

const join = (items: ListValue, separator = ""): Value => {
  const texts: Array<string> = []
  for (const item of items.toArray()) {
    if (typeof item !== "string") return fault(`join: invalid input: ${show(item)}`)
    texts.push(item)
  }
  return texts.join(separator)
}

const escapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  "\"": "\\\""
}

// eslint-disable-next-line no-control-regex
const quote = (text: string): string => `"${text.replace(/[\x07\b\f\n\r\t\v\\"]/g, (char) => escapes[char]!)}"`

export const strings: ReadonlyArray<FunctionDeclaration> = [
  define("charAt", overload("string_char_at_int", "string.(int) string", charAt)),
  define(
    "indexOf",
    overload("string_index_of_string", "string.(string) int", indexOf),
    overload("string_index_of_string_int", "string.(string, int) int", indexOf)
  ),
  define(
    "lastIndexOf",
    overload("string_last_index_of_string", "string.(string) int", lastIndexOf),
    overload("string_last_index_of_string_int", "string.(string, int) int", lastIndexOf)
  ),
  define(
    "lowerAscii",
    overload(
      "string_lower_ascii",
      "string.() string",
      (text: string) => text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase())
    )
  ),
  define(
    "replace",
    overload("string_replace_string_string", "string.(string, string) string", replace),
    overload("string_replace_string_string_int", "string.(string, string, int) string", replace)
  ),
  define(
    "split",
    overload("string_split_string", "string.(string) list<string>", split),
    overload("string_split_string_int", "string.(string, int) list<string>", split)
  ),
  define(
    "substring",
    overload("string_substring_int", "string.(int) string", substring),
    overload("string_substring_int_int", "string.(int, int) string", substring)
  ),
  define("trim", overload("string_trim", "string.() string", trimSpace)),
  define(
    "upperAscii",
    overload(
      "string_upper_ascii",
      "string.() string",
      (text: string) => text.replace(/[a-z]+/g, (lower) => lower.toUpperCase())
    )
  ),
  define("format", overload("string_format", "string.(list<dyn>) string", format)),
  define("strings.quote", overload("strings_quote", "(string) string", quote)),
  define(
    "join",
    overload("list_join", "list<string>.() string", join),
    overload("list_join_string", "list<string>.(string) string", join)
  )
]
