/**
 * `Quantity`: amounts such as `500m` or `1Gi`, in the one form a server writes them in.
 *
 * A server reads an amount and writes it anew: the largest suffix that keeps the number whole, at most nine decimals
 * (more are rounded up), binary suffixes only for whole numbers from 1024 on. `0.5` becomes `500m`, `1024Ki` `1Mi`.
 *
 * Source: k8s.io/apimachinery/pkg/api/resource/quantity.go, `ParseQuantity` and `CanonicalizeBytes`.
 */

const grammar = /^([+-]?)(\d+)?(?:\.(\d*))?(?:([eE])([+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?$/

const decimals: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18
}

const decimalSuffixes: Readonly<Record<number, string>> = Object.fromEntries(
  [...Object.entries(decimals).map(([suffix, exponent]) => [exponent, suffix]), [0, ""]]
)

const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

/** What a server says of a text that is no amount. */
export const malformed = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** Amounts are counted in billionths. */
const unit = 1_000_000_000n

const power = (base: bigint, exponent: number): bigint => base ** BigInt(exponent)

/** `digits * 10^exponent` in billionths, rounded up. */
const scaled = (digits: bigint, exponent: number): bigint => {
  const shift = exponent + 9
  if (shift >= 0) return digits * power(10n, shift)
  const divisor = power(10n, -shift)
  return (digits + divisor - 1n) / divisor
}

const decimal = (billionths: bigint, exponential: boolean): string => {
  let exponent = -9
  let number = billionths
  while (number % 1000n === 0n && exponent < 18) {
    number /= 1000n
    exponent += 3
  }
  return `${number}${exponential ? exponent === 0 ? "" : `e${exponent}` : decimalSuffixes[exponent]}`
}

const binary = (whole: bigint): string => {
  let index = 0
  let number = whole
  while (number % 1024n === 0n && index < binarySuffixes.length - 1) {
    number /= 1024n
    index += 1
  }
  return `${number}${binarySuffixes[index]}`
}

interface Parsed {
  /** How much, in billionths, without its sign. */
  readonly billionths: bigint
  readonly negative: boolean
  readonly form: "binary" | "decimal" | "exponential"
}

const parse = (text: string): Parsed | undefined => {
  const match = grammar.exec(text)
  if (match === null) return undefined
  const [, sign = "", whole = "", fraction = "", mark, exponent, suffix = ""] = match
  if (whole === "" && fraction === "") return undefined
  const digits = BigInt(`${whole}${fraction}`)
  const isBinary = suffix.endsWith("i")
  const shift = isBinary ? 0 : mark === undefined ? decimals[suffix] ?? 0 : Number(exponent)
  const factor = isBinary ? power(1024n, binarySuffixes.indexOf(suffix)) : 1n
  return {
    billionths: scaled(digits * factor, shift - fraction.length),
    negative: sign === "-",
    form: isBinary ? "binary" : mark === undefined ? "decimal" : "exponential"
  }
}

const format = ({ billionths, form, negative }: Parsed): string => {
  if (billionths === 0n) return "0"
  const rest = form === "binary" && billionths % unit === 0n && billionths >= 1024n * unit
    ? binary(billionths / unit)
    : decimal(billionths, form === "exponential")
  return `${negative ? "-" : ""}${rest}`
}

/** The text as a server writes it; undefined for a text that is no amount. */
export const canonical = (text: string): string | undefined => {
  const parsed = parse(text)
  return parsed === undefined ? undefined : format(parsed)
}

const nothing: Parsed = { billionths: 0n, negative: false, form: "decimal" }

const signed = ({ billionths, negative }: Parsed): bigint => negative ? -billionths : billionths

/** Billionths; 0 of a text that is no amount. */
export const billionths = (text: string): bigint => signed(parse(text) ?? nothing)

const combined = (a: string, b: string, sign: 1n | -1n): string => {
  const [left, right] = [parse(a) ?? nothing, parse(b) ?? nothing]
  const total = signed(left) + sign * signed(right)
  // Written as the first is, unless that says nothing.
  const { form } = left.billionths === 0n ? right : left
  return format({ billionths: total < 0n ? -total : total, negative: total < 0n, form })
}

export const add = (a: string, b: string): string => combined(a, b, 1n)
export const subtract = (a: string, b: string): string => combined(a, b, -1n)

/** Which of two amounts is larger: negative, 0 or positive, as for a sort. */
export const compare = (a: string, b: string): number => {
  const [left, right] = [billionths(a), billionths(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
