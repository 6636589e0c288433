/**
 * `StringFormat`: `"%d of %s".format([1, "x"])`.
 *
 * Clauses are `%s %d %f %e %b %x %X %o`, with a precision for `%f` (`%.2f`). If the format is a literal and its
 * arguments are a list, `Validators` applies the same rules at compile time.
 *
 * The server formats `%f` and `%e` for English readers: `1,234.5` and `1.5×10⁰³`. It takes the precision of `%e` as a
 * width.
 *
 * Source: github.com/google/cel-go/ext/formatting.go.
 */
import * as Conversions from "../Conversions.ts"
import { quote } from "../../schema/FieldError.ts"
import {
  Duration,
  fault,
  ListValue,
  MapValue,
  ObjectValue,
  Opaque,
  Optional,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value
} from "../Values.ts"

export type Verb = "s" | "d" | "f" | "e" | "b" | "x" | "X" | "o"

/** The error of each clause for an unsupported argument. */
export const complaints: Readonly<Record<Verb, string>> = {
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and " +
    "timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
  o: "octal clause can only be used on integers"
}

/** A text, or an error. */
export type Written = { readonly text: string } | { readonly fault: string }

/** Formats the argument at an index for one clause. */
export type Clause = (verb: Verb, index: number, precision: number | undefined) => Written

const verbs = "sdfebxXo"

const precisionOf = (digits: string): number | string =>
  digits === ""
    ? "error while parsing precision: error while converting precision to integer: " +
      "strconv.Atoi: parsing \"\": invalid syntax"
    : Number(digits)

/** Copies a format, with its clauses replaced by the results of `clause`. */
export const interpolate = (format: string, count: number, clause: Clause): Written & { readonly used?: number } => {
  let text = ""
  let index = 0
  for (let at = 0; at < format.length; at++) {
    if (format[at] !== "%") text += format[at]
    else if (format[at + 1] === "%") {
      text += "%"
      at++
    } else {
      if (index >= count) return { fault: `index ${index} out of range` }
      if (at + 1 >= format.length) return { fault: "unexpected end of string" }
      const [whole, dot, digits = ""] = /^%(\.(\d*))?/.exec(format.slice(at))!
      const precision = dot === undefined ? undefined : precisionOf(digits)
      const unparsed = (why: string) => ({ fault: `could not parse formatting clause: ${why}` })
      const verb = Array.from(format.slice(at + whole.length, at + whole.length + 2))[0]
      if (verb === undefined) {
        return unparsed("error while parsing precision: could not find end of precision specifier")
      }
      if (typeof precision === "string") return unparsed(precision)
      if (!verbs.includes(verb)) return unparsed(`unrecognized formatting clause "${verb}"`)
      const written = clause(verb as Verb, index, precision)
      if ("fault" in written) return { fault: `error during formatting: ${written.fault}` }
      text += written.text
      at += whole.length
      index++
    }
  }
  return { text, used: index }
}

const refuse = (verb: Verb, value: Value): Written => ({ fault: `${complaints[verb]}, was given ${typeName(value)}` })

const defaultPrecision = 6

/** Digits after the point, rounding ties to even as in Go. */
const fixed = (value: number, precision: number): string => {
  // From here up JavaScript uses exponents, and all numbers are whole.
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${precision === 0 ? "" : `.${"0".repeat(precision)}`}`
  const text = value.toFixed(precision)
  const exact = value.toFixed(Math.min(100, precision + 30))
  const rest = exact.slice(exact.length - (Math.min(100, precision + 30) - precision))
  if (!/^50*$/.test(rest)) return text
  const kept = exact.slice(0, exact.length - rest.length).replace(/\.$/, "")
  return Number(kept.at(-1)) % 2 === 0 ? kept : text
}

const grouped = (text: string): string => {
  const [whole, fraction] = text.split(".") as [string, string | undefined]
  const marked = whole.replace(/\B(?=(\d{3})+$)/g, ",")
  return fraction === undefined ? marked : `${marked}.${fraction}`
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

const scientific = (value: number, width: number): string => {
  const [mantissa, power] = value.toExponential(defaultPrecision).split("e") as [string, string]
  const digits = Array.from(String(Math.abs(Number(power))).padStart(2, "0"), (digit) => superscripts[Number(digit)])
  return `${mantissa}×10${power.startsWith("-") ? "⁻" : ""}${digits.join("")}`.padStart(width)
}

const infinite = (value: number): string => Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞"

const specials: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity }

const real = (verb: "f" | "e", value: Value, precision: number | undefined): Written => {
  const number = typeof value === "string" && Object.hasOwn(specials, value) ? specials[value]! : value
  if (typeof number !== "number") return refuse(verb, value)
  if (!Number.isFinite(number)) return { text: infinite(number) }
  return { text: verb === "f" ? grouped(fixed(number, precision ?? 6)) : scientific(number, precision ?? 6) }
}

const whole = (value: Value): bigint | undefined =>
  typeof value === "bigint" ? value : value instanceof Uint ? value.value : undefined

const utf8 = new TextEncoder()

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

const radix = (verb: "b" | "x" | "X" | "o", value: Value): Written => {
  const number = whole(value)
  if (number !== undefined) {
    const text = number.toString(verb === "b" ? 2 : verb === "o" ? 8 : 16)
    return { text: verb === "X" ? text.toUpperCase() : text }
  }
  if (verb === "b" && typeof value === "boolean") return { text: value ? "1" : "0" }
  if (verb !== "x" && verb !== "X") return refuse(verb, value)
  const bytes = typeof value === "string" ? utf8.encode(value) : value
  if (!(bytes instanceof Uint8Array)) return refuse(verb, value)
  return { text: verb === "X" ? hex(bytes).toUpperCase() : hex(bytes) }
}

/** An entry of a list or map, as an expression would write it. */
const inside = (value: Value): Written => {
  if (value instanceof Timestamp) return { text: `timestamp(${quote(String(Conversions.toText(value)))})` }
  if (value instanceof Duration) return { text: `duration(${quote(String(Conversions.toText(value)))})` }
  if (typeof value === "number") {
    return { text: Number.isFinite(value) ? fixed(value, defaultPrecision) : quote(goNumber(value)) }
  }
  if (value instanceof Opaque || value instanceof Optional || value instanceof ObjectValue) {
    return { fault: `no formatting function for ${typeName(value)}` }
  }
  const written = string(value)
  if ("fault" in written) return written
  return typeof value === "string"
    ? { text: quote(written.text) }
    : value instanceof Uint8Array
    ? { text: `b${quote(written.text)}` }
    : written
}

const goNumber = (value: number): string => Conversions.formatDouble(value)

const several = (parts: ReadonlyArray<Written>, open: string, close: string): Written => {
  const texts: Array<string> = []
  for (const part of parts) {
    if ("fault" in part) return part
    texts.push(part.text)
  }
  return { text: `${open}${texts.join(", ")}${close}` }
}

const entry = (map: MapValue, key: Value): Written => {
  const name = inside(key)
  const value = inside(map.find(key) ?? null)
  return "fault" in name ? name : "fault" in value ? value : { text: `${name.text}:${value.text}` }
}

const byKey = (map: MapValue): ReadonlyArray<Value> =>
  map.keys().map((key) => [inside(key), key] as const)
    .sort(([a], [b]) => "text" in a && "text" in b ? (a.text < b.text ? -1 : 1) : 0)
    .map(([, key]) => key)

/** `%s` for any value. */
const string = (value: Value): Written => {
  if (value === null) return { text: "null" }
  if (value instanceof ListValue) return several(value.toArray().map(inside), "[", "]")
  if (value instanceof ObjectValue) return refuse("s", value)
  if (value instanceof MapValue) return several(byKey(value).map((key) => entry(value, key)), "{", "}")
  if (value instanceof Opaque || value instanceof Optional) return refuse("s", value)
  const text = Conversions.toText(value)
  return typeof text === "string"
    ? { text }
    : { fault: `could not convert argument ${quote(value instanceof TypeValue ? value.name : "")} to string` }
}

const write = (verb: Verb, value: Value, precision: number | undefined): Written => {
  switch (verb) {
    case "s":
      return string(value)
    case "d": {
      const number = whole(value)
      return number === undefined ? refuse(verb, value) : { text: String(number) }
    }
    case "f":
    case "e":
      return real(verb, value, precision)
    default:
      return radix(verb, value)
  }
}

/** The function `format`. */
export const format = (text: string, args: ListValue): Value => {
  const result = interpolate(text, args.size, (verb, index, precision) => write(verb, args.at(index), precision))
  return "fault" in result ? fault(result.fault) : result.text
}
