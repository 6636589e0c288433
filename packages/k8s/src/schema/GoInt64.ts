/**
 * `GoInt64`: Go's int64 in JavaScript numbers, which have 53 bits.
 *
 * A number is an int64 here if and only if it is one for Go: if rounding would carry it over a limit, its neighbour on
 * the right side of the limit is used. Integers between 2^53 and the limits become the nearest number.
 */

const limit = 2 ** 63

/** Whether a number is an int64. */
export const is = (value: unknown): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= -limit && value < limit

/** The largest int64 that a number can represent, and the largest number below all int64s. */
const largest = "9223372036854774784"
const below = "-9223372036854777856"

const onItsSide = (digits: string): string => {
  const exact = BigInt(digits)
  const rounded = Number(digits)
  if (rounded === limit && exact < rounded) return largest
  return rounded === -limit && exact < rounded ? below : digits
}

/** Strings, and integers that may be beyond the limits. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])(-?\d{19,})(?![\d.eE])/gs

/** A JSON text whose integers parse to int64s if and only if Go decodes them as such. */
export const readable = (json: string): string =>
  /\d{19}/.test(json)
    ? json.replace(tokens, (token, digits: string | undefined) => digits === undefined ? token : onItsSide(digits))
    : json
