/**
 * `Quantities`: amounts such as `1.5Gi`.
 *
 * A quantity is exact: an integer times a power of ten. It is rounded up to a billionth when it is read, and cut off at
 * 2^63-1, as the server does.
 *
 * Source: k8s.io/apimachinery/pkg/api/resource/quantity.go, k8s.io/apiserver/pkg/cel/library/quantity.go.
 */
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { fault, Opaque, type Value } from "../Values.ts"

/** `digits` times ten to the power of `scale`. */
export interface Quantity {
  readonly digits: bigint
  readonly scale: number
  /** True where the server no longer holds it as 64 bits and an exponent. */
  readonly large: boolean
}

const type = named("quantity", Types.struct("kubernetes.Quantity"))

const decimalSuffix: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18
}
const binarySuffix: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }

const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const wrongSuffix = "unable to parse quantity's suffix"

const maxInt64 = 2n ** 63n - 1n

const powerOfTen = (power: number): bigint => 10n ** BigInt(power)

/** Rounded up, away from zero, to a billionth. */
const toNano = ({ digits, scale, large }: Quantity): Quantity => {
  if (scale >= -9) return { digits, scale, large }
  const divisor = powerOfTen(-9 - scale)
  const magnitude = digits < 0n ? -digits : digits
  const rounded = (magnitude + divisor - 1n) / divisor
  return { digits: digits < 0n ? -rounded : rounded, scale: -9, large }
}

/** The value as an integer over a power of ten that is at most one. */
const aligned = ({ digits, scale }: Quantity): readonly [digits: bigint, scale: number] =>
  scale > 0 ? [digits * powerOfTen(scale), 0] : [digits, scale]

const capped = (quantity: Quantity): Quantity => {
  const [digits, scale] = aligned(quantity)
  const limit = maxInt64 * powerOfTen(-scale)
  return digits > limit || digits < -limit
    ? { digits: digits < 0n ? -maxInt64 : maxInt64, scale: 0, large: quantity.large }
    : quantity
}

/** A quantity from its text, or why it is none. */
export const parse = (text: string): Quantity | string => {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(.*)$/s.exec(text)
  if (text === "" || parts === null) return wrongFormat
  const [, sign, whole = "", fraction = "", suffix = ""] = parts
  if (!/^[eEinumkKMGTP]*[-+]?[0-9]*$/.test(suffix) || whole + fraction === "" && suffix !== "") return wrongFormat
  if (whole + fraction === "") return wrongFormat
  const exponent = /^[eE]([-+]?\d+)$/.exec(suffix)
  const binary = Object.hasOwn(binarySuffix, suffix) ? binarySuffix[suffix]! : undefined
  const power = exponent !== null
    ? Number(exponent[1])
    : Object.hasOwn(decimalSuffix, suffix)
    ? decimalSuffix[suffix]!
    : undefined
  if (binary === undefined && power === undefined) return wrongSuffix
  const digits = BigInt(whole + fraction || "0") * (sign === "-" ? -1n : 1n) * 2n ** BigInt(binary ?? 0)
  const scale = (power ?? 0) - fraction.length
  const significant = whole.replace(/^0+/, "").length + fraction.length
  const large = binary !== undefined
    ? fraction !== "" || significant > 15 - Math.floor(binary * 3 / 10)
    : significant > 18
  return capped(toNano({ digits, scale, large: large || scale < -9 }))
}

const text = (quantity: Quantity): string => {
  let [digits, scale] = aligned(quantity)
  while (scale < 0 && digits % 10n === 0n) {
    digits /= 10n
    scale++
  }
  return `${digits}e${scale}`
}

export const value = (quantity: Quantity): Opaque<Quantity> => new Opaque(type, quantity, text(quantity))

const compare = ({ data: a }: Opaque<Quantity>, { data: b }: Opaque<Quantity>): number => {
  const scale = Math.min(a.scale, b.scale)
  const left = a.digits * powerOfTen(a.scale - scale)
  const right = b.digits * powerOfTen(b.scale - scale)
  return left < right ? -1 : left > right ? 1 : 0
}

const isInt64 = (number: bigint): boolean => number >= -(2n ** 63n) && number <= maxInt64

const plus = (sign: 1n | -1n) => ({ data: a }: Opaque<Quantity>, other: Opaque<Quantity> | bigint): Value => {
  const b = typeof other === "bigint" ? { digits: other, scale: 0, large: false } : other.data
  const scale = Math.min(a.scale, b.scale)
  const digits = a.digits * powerOfTen(a.scale - scale) + sign * b.digits * powerOfTen(b.scale - scale)
  return value({ digits, scale, large: a.large || b.large || !isInt64(digits) })
}

/** The whole number that a quantity is, if the server sees it at once. */
const integer = ({ data: { digits, large, scale } }: Opaque<Quantity>): bigint | undefined => {
  if (large || scale < 0) return undefined
  const number = digits * powerOfTen(scale)
  return isInt64(number) ? number : undefined
}

const sign = ({ data: { digits } }: Opaque<Quantity>): Value => digits < 0n ? -1n : digits > 0n ? 1n : 0n

export const quantities: ReadonlyArray<FunctionDeclaration> = [
  define(
    "quantity",
    overload("string_to_quantity", "(string) quantity", (written: string) => {
      const read = parse(written)
      return typeof read === "string" ? fault(read) : value(read)
    })
  ),
  define(
    "isQuantity",
    overload("is_quantity_string", "(string) bool", (written: string) => typeof parse(written) !== "string")
  ),
  define("sign", overload("quantity_sign", "(quantity) int", sign)),
  define(
    "isGreaterThan",
    overload(
      "quantity_is_greater_than",
      "quantity.(quantity) bool",
      (a: Opaque<Quantity>, b: Opaque<Quantity>) => compare(a, b) > 0
    )
  ),
  define(
    "isLessThan",
    overload(
      "quantity_is_less_than",
      "quantity.(quantity) bool",
      (a: Opaque<Quantity>, b: Opaque<Quantity>) => compare(a, b) < 0
    )
  ),
  define(
    "compareTo",
    overload(
      "quantity_compare_to",
      "quantity.(quantity) int",
      (a: Opaque<Quantity>, b: Opaque<Quantity>) => BigInt(compare(a, b))
    )
  ),
  define(
    "asApproximateFloat",
    overload(
      "quantity_get_float",
      "quantity.() double",
      ({ data: { digits, scale } }: Opaque<Quantity>) => Number(digits) * 10 ** scale
    )
  ),
  define(
    "asInteger",
    overload(
      "quantity_get_int",
      "quantity.() int",
      (quantity: Opaque<Quantity>) => integer(quantity) ?? fault("cannot convert value to integer")
    )
  ),
  define(
    "isInteger",
    overload("quantity_is_integer", "quantity.() bool", (quantity: Opaque<Quantity>) => integer(quantity) !== undefined)
  ),
  define(
    "add",
    overload("quantity_add", "quantity.(quantity) quantity", plus(1n)),
    overload("quantity_add_int", "quantity.(int) quantity", plus(1n))
  ),
  define(
    "sub",
    overload("quantity_sub", "quantity.(quantity) quantity", plus(-1n)),
    overload("quantity_sub_int", "quantity.(int) quantity", plus(-1n))
  )
]
