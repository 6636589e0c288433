/**
 * `Quantity`: amounts such as `500m` or `1Gi`, parsed, added and written as Go's `resource.Quantity` does.
 *
 * A server writes a parsed amount in canonical form: with the largest suffix that keeps the number whole, at most nine
 * decimals (more are rounded up), and binary suffixes only for whole numbers from 1024 up. `0.5` becomes `500m`,
 * `1024Ki` becomes `1Mi`. Some texts stay as written although the server would not write them so (`+1`, `5.`, `1E3`).
 *
 * Amounts are exact: an integer times a power of ten. Only those with a binary suffix are limited, to 2^63-1.
 *
 * Source: k8s.io/apimachinery/pkg/api/resource/quantity.go, `ParseQuantity` and `CanonicalizeBytes`.
 */

type Format = "DecimalSI" | "BinarySI" | "DecimalExponent"

/** `digits` times ten to the power of `scale`. */
export interface Quantity {
  readonly digits: bigint
  readonly scale: number
  /** True if a server represents it as a big decimal rather than as 64 bits and an exponent. */
  readonly large: boolean
  readonly format: Format
  /** The text as written, if it stays so. */
  readonly text?: string | undefined
}

/** A server's error for a text that is not a quantity. */
export const malformed = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const wrongSuffix = "unable to parse quantity's suffix"
const wrongNumber = "unable to parse numeric part of quantity"

interface Suffix {
  readonly base: 2n | 10n
  readonly exponent: number
  readonly format: Format
}

const decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
const binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

const suffixes: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ...binary.map((name, index) => [name, { base: 2n, exponent: 10 * index, format: "BinarySI" }] as const),
  ...decimal.map((name, index) => [name, { base: 10n, exponent: 3 * index - 9, format: "DecimalSI" }] as const)
])

const suffixOf = (text: string): Suffix | undefined => {
  const known = suffixes.get(text)
  if (known !== undefined) return known
  const exponent = /^[eE]([-+]?\d+)$/.exec(text)?.[1]
  return exponent === undefined ? undefined : { base: 10n, exponent: Number(exponent), format: "DecimalExponent" }
}

const maxInt64 = 2n ** 63n - 1n

const isInt64 = (number: bigint): boolean => number >= -maxInt64 - 1n && number <= maxInt64

/** The number of digits up to which a server assumes that a number fits 64 bits. */
const safeDigits = 18

/** The smallest power of ten. */
const nano = -9

const powerOfTen = (power: number): bigint => 10n ** BigInt(power)

const absolute = (number: bigint): bigint => number < 0n ? -number : number

/** Parses a quantity, or returns the server's error. */
export const parse = (text: string): Quantity | string => {
  const [, sign = "", zeros = "", number = "", fraction = "", name] =
    /^([+-]?)(0*)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text) ?? []
  if (text === "" || name === undefined) return malformed
  const suffix = suffixOf(name)
  if (suffix === undefined) return wrongSuffix
  const { base, exponent, format } = suffix
  // Leading zeros do not count, and no digits mean zero.
  const counted = (number === "" ? 1 : number.length) + fraction.length
  const digits = BigInt(`${number === "" ? "0" : number}${fraction}`)
  const factor = base ** BigInt(base === 2n ? exponent : 0)
  const scale = (base === 10n ? exponent : 0) - fraction.length
  const room = base === 10n
    ? safeDigits - counted
    : fraction !== ""
    ? -1
    : 15 - counted - Math.floor(exponent * 3 / 10) - 1
  const signed = (magnitude: bigint) => sign === "-" ? -magnitude : magnitude
  if (room >= 0 && scale >= nano && isInt64(digits * factor)) {
    const stays = format === "BinarySI"
      ? (digits & 7n) !== 0n
      : scale % 3 === 0 && number !== "" && !`${number}${fraction}`.endsWith("000")
    return { digits: signed(digits * factor), scale, large: false, format, text: stays ? text : undefined }
  }
  if (`${zeros}${number}${fraction}` === "") return wrongNumber
  const magnitude = large(digits * factor, scale, format)
  return { ...magnitude, digits: signed(magnitude.digits) }
}

/** A big decimal, in multiples of 1e-9, rounded up. */
const large = (digits: bigint, scale: number, format: Format): Quantity => {
  if (digits === 0n) return { digits, scale, large: true, format }
  const divisor = powerOfTen(Math.max(0, nano - scale))
  const billionths = scale >= nano ? digits * powerOfTen(scale - nano) : (digits + divisor - 1n) / divisor
  const one = powerOfTen(-nano)
  if (format !== "BinarySI") return { digits: billionths, scale: nano, large: true, format }
  if (billionths > maxInt64 * one) return { digits: maxInt64, scale: 0, large: true, format }
  return { digits: billionths, scale: nano, large: true, format: billionths < one ? "DecimalSI" : format }
}

/** Both as integers over the same power of ten. */
const aligned = (a: Quantity, b: Quantity): readonly [a: bigint, b: bigint, scale: number] => {
  const scale = Math.min(a.scale, b.scale)
  return [a.digits * powerOfTen(a.scale - scale), b.digits * powerOfTen(b.scale - scale), scale]
}

/** Negative, zero or positive. */
export const order = (a: Quantity, b: Quantity): number => {
  const [left, right] = aligned(a, b)
  return left < right ? -1 : left > right ? 1 : 0
}

/** The sum, in the format of the first amount unless that is zero. */
export const plus = (a: Quantity, b: Quantity): Quantity => {
  const format = a.digits === 0n ? b.format : a.format
  if (!a.large && !b.large) {
    if (b.digits === 0n) return { ...a, format, text: undefined }
    if (a.digits === 0n) return { ...b, text: undefined }
  }
  const [left, right, scale] = aligned(a, b)
  return { digits: left + right, scale, large: a.large || b.large || !isInt64(left + right), format }
}

export const minus = (a: Quantity, b: Quantity): Quantity => plus(a, { ...b, digits: -b.digits })

/** A whole number as an amount. */
export const ofInteger = (digits: bigint): Quantity => ({ digits, scale: 0, large: false, format: "DecimalSI" })

/** The integer value, if a server can tell it without rounding. */
export const integer = ({ digits, large, scale }: Quantity): bigint | undefined => {
  if (large || scale < 0) return undefined
  const number = digits * powerOfTen(scale)
  return isInt64(number) ? number : undefined
}

/** The nearest float, or one close to it: a server multiplies two floats. */
export const approximate = ({ digits, scale }: Quantity): number =>
  scale === 0 ? Number(digits) : Number(digits) * 10 ** scale

/** A number without a factor, and how often the factor divides it. */
export const reduced = (number: bigint, factor: bigint): readonly [number: bigint, times: number] => {
  let times = 0
  let rest = number
  while (rest !== 0n && rest % factor === 0n) {
    rest /= factor
    times++
  }
  return [rest, times]
}

/** The canonical text. If there is no suffix for the exponent, it is omitted. */
export const toText = (quantity: Quantity): string => {
  const { digits, format, scale, text } = quantity
  if (text !== undefined) return text
  if (digits === 0n) return "0"
  if (format === "BinarySI") {
    const [whole, one] = scale >= 0 ? [digits * powerOfTen(scale), 1n] : [digits, powerOfTen(-scale)]
    if (absolute(whole) >= 1024n * one && whole % one === 0n) {
      const [number, times] = reduced(whole / one, 1024n)
      return `${number}${binary[times] ?? ""}`
    }
  }
  const [number, times] = reduced(digits, 10n)
  const exponent = 3 * Math.floor((scale + times) / 3)
  const written = number * powerOfTen(scale + times - exponent)
  if (format === "DecimalExponent") return `${written}${exponent === 0 ? "" : `e${exponent}`}`
  return `${written}${decimal[(exponent - nano) / 3] ?? ""}`
}

/** The canonical form of a text; undefined if it is not a quantity. */
export const canonical = (text: string): string | undefined => {
  const parsed = parse(text.trim())
  return typeof parsed === "string" ? undefined : toText(parsed)
}

const milli = -3

/** The amount in whole thousandths, rounded away from zero. */
export const inThousandths = (text: string): string => {
  const parsed = parse(text.trim())
  if (typeof parsed === "string" || parsed.scale >= milli) return text
  const divisor = powerOfTen(milli - parsed.scale)
  const magnitude = (absolute(parsed.digits) + divisor - 1n) / divisor
  return toText({ ...parsed, digits: parsed.digits < 0n ? -magnitude : magnitude, scale: milli, text: undefined })
}

const nothing: Quantity = ofInteger(0n)

/** 0 for a text that is not a quantity. */
const read = (text: string): Quantity => {
  const parsed = parse(text.trim())
  return typeof parsed === "string" ? nothing : parsed
}

/** The amount in billionths; 0 for a text that is not a quantity. */
export const billionths = (text: string): bigint => {
  const { digits, scale } = read(text)
  return digits * powerOfTen(scale - nano)
}

export const add = (a: string, b: string): string => toText(plus(read(a), read(b)))
export const subtract = (a: string, b: string): string => toText(minus(read(a), read(b)))

/** Compares two amounts, as for a sort: negative, 0 or positive. */
export const compare = (a: string, b: string): number => order(read(a), read(b))
