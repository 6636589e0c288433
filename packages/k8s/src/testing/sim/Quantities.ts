/**
 * `Quantities`: quantities of resources as exact numbers, in thousandths.
 *
 * Source: k8s.io/apimachinery/pkg/api/resource/quantity.go.
 */

const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binary: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 }

/** The quantity in thousandths, rounded up; undefined if it is invalid. */
export const milli = (quantity: string | number | undefined): bigint | undefined => {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.exec(String(quantity ?? ""))
  if (match === null) return undefined
  const [, sign, whole = "", fraction = "", suffix = ""] = match
  if (whole + fraction === "") return undefined
  let value = BigInt(whole + fraction)
  let exponent = 3 - fraction.length
  if (Object.hasOwn(binary, suffix)) value *= 1024n ** BigInt(binary[suffix]!)
  else exponent += Object.hasOwn(decimal, suffix) ? decimal[suffix]! : Number(suffix.slice(1))
  if (Math.abs(exponent) > 1000) return undefined
  const divisor = 10n ** BigInt(Math.max(0, -exponent))
  const scaled = (value * 10n ** BigInt(Math.max(0, exponent)) + divisor - 1n) / divisor
  return sign === "-" ? -scaled : scaled
}

/** Quantities by resource, in thousandths. */
export type Amounts = ReadonlyMap<string, bigint>

/** The quantities in a resource list; invalid ones are left out. */
export const amounts = (list: Readonly<Record<string, string | number>> | undefined): Amounts => {
  const result = new Map<string, bigint>()
  for (const [name, quantity] of Object.entries(list ?? {})) {
    const value = milli(quantity)
    if (value !== undefined) result.set(name, value)
  }
  return result
}

/** The sum, by name. */
export const plus = (a: Amounts, b: Amounts): Amounts => merge(a, b, (x, y) => x + y)

/** The difference, by name. */
export const minus = (a: Amounts, b: Amounts): Amounts => merge(a, b, (x, y) => x - y)

/** The maximum, by name. */
export const most = (a: Amounts, b: Amounts): Amounts => merge(a, b, (x, y) => x > y ? x : y)

const merge = (a: Amounts, b: Amounts, f: (x: bigint, y: bigint) => bigint): Amounts => {
  if (b.size === 0) return a
  const result = new Map(a)
  for (const [name, value] of b) result.set(name, f(a.get(name) ?? 0n, value))
  return result
}
