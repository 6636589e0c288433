/**
 * `Conversions`: `int(x)`, `string(x)` and the other conversions.
 *
 * Source: `ConvertToType` of the values in github.com/google/cel-go/common/types.
 */
import * as Operators from "./Operators.ts"
import * as Time from "./Time.ts"
import { Duration, fault, Timestamp, typeName, TypeValue, Uint, type Value } from "./Values.ts"

const refused = (value: Value, to: string): Value => fault(`type conversion error from '${typeName(value)}' to '${to}'`)

const truthy = new Set(["1", "t", "T", "TRUE", "true", "True"])
const falsy = new Set(["0", "f", "F", "FALSE", "false", "False"])

export const toBool = (value: Value): Value => {
  if (typeof value === "boolean") return value
  if (typeof value === "string" && (truthy.has(value) || falsy.has(value))) return truthy.has(value)
  return refused(value, "bool")
}

const utf8 = new TextEncoder()
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export const toBytes = (value: Value): Value =>
  value instanceof Uint8Array ? value : typeof value === "string" ? utf8.encode(value) : refused(value, "bytes")

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const hexadecimal = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/

/** Parses Go's notation for floats, which may have a base and underscores. */
const parseDouble = (text: string): number => {
  const bare = text.replace(/(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])/g, "")
  if (decimal.test(bare)) return Number(bare)
  const [, sign, whole = "", fraction = "", power] = hexadecimal.exec(bare) ?? []
  if (power === undefined || whole + fraction === "") return NaN
  return parseInt(whole + fraction, 16) * 2 ** (Number(power) - 4 * fraction.length) * (sign === "-" ? -1 : 1)
}
const special: Readonly<Record<string, number>> = {
  nan: NaN,
  inf: Infinity,
  "+inf": Infinity,
  "-inf": -Infinity,
  infinity: Infinity,
  "+infinity": Infinity,
  "-infinity": -Infinity
}

export const toDouble = (value: Value): Value => {
  if (typeof value === "number") return value
  if (typeof value === "bigint") return Number(value)
  if (value instanceof Uint) return Number(value.value)
  if (typeof value !== "string") return refused(value, "double")
  const known = special[value.toLowerCase()]
  if (known !== undefined) return known
  const number = parseDouble(value)
  return Number.isFinite(number) ? number : refused(value, "double")
}

export const toDuration = (value: Value): Value => {
  if (value instanceof Duration) return value
  const read = typeof value === "string" ? Time.parseDuration(value) : undefined
  return read ?? refused(value, "google.protobuf.Duration")
}

const truncated = (value: number): bigint | undefined => Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined

export const toInt = (value: Value): Value => {
  if (typeof value === "bigint") return value
  if (typeof value === "number") {
    // The bounds themselves are excluded, since a double cannot distinguish them from their neighbours.
    const whole = truncated(value)
    return whole === undefined || value <= -(2 ** 63) || value >= 2 ** 63 ? fault("integer overflow") : whole
  }
  if (value instanceof Uint) return Operators.int(value.value)
  if (value instanceof Duration) return value.nanos
  if (value instanceof Timestamp) return BigInt.asIntN(64, floorSeconds(value))
  const read = typeof value === "string" && /^[+-]?\d+$/.test(value) ? BigInt(value.replace("+", "")) : undefined
  return read !== undefined && Operators.isInt(read) ? read : refused(value, "int")
}

const floorSeconds = ({ nanos }: Timestamp): bigint =>
  nanos >= 0n ? nanos / 1_000_000_000n : -((-nanos + 999_999_999n) / 1_000_000_000n)

export const toUint = (value: Value): Value => {
  if (value instanceof Uint) return value
  if (typeof value === "bigint") return Operators.uint(value)
  if (typeof value === "number") {
    const whole = truncated(value)
    return whole === undefined || value < 0 || value >= 2 ** 64 ? fault("unsigned integer overflow") : new Uint(whole)
  }
  const read = typeof value === "string" && /^\d+$/.test(value) ? BigInt(value) : undefined
  return read !== undefined && Operators.isUint(read) ? new Uint(read) : refused(value, "uint")
}

/** A number as Go's `%g` prints it: with an exponent below 1e-4 and from 1e6 up. */
export const formatDouble = (value: number): string => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"
  if (value === 0) return Object.is(value, -0) ? "-0" : "0"
  const [mantissa, power] = value.toExponential().split("e") as [string, string]
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return String(value)
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}

export const toText = (value: Value): Value => {
  if (typeof value === "string") return value
  if (typeof value === "bigint" || typeof value === "boolean") return String(value)
  if (typeof value === "number") return formatDouble(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Duration) return Time.formatDuration(value)
  if (value instanceof Timestamp) return Time.formatTimestamp(value)
  if (value instanceof TypeValue) return value.name
  if (!(value instanceof Uint8Array)) return refused(value, "string")
  try {
    return strictUtf8.decode(value)
  } catch {
    return fault("invalid UTF-8 in bytes, cannot convert to string")
  }
}

export const toTimestamp = (value: Value): Value => {
  if (value instanceof Timestamp) return value
  if (typeof value === "bigint") return Operators.timestamp(value * 1_000_000_000n)
  const read = typeof value === "string" ? Time.parseTimestamp(value) : undefined
  return read === undefined
    ? refused(value, "google.protobuf.Timestamp")
    : Operators.timestamp(read.nanos, read.offset)
}
