/**
 * `GoInt64`: integers as Go reads them, in numbers that have 53 bits.
 *
 * What is an int64 for Go is one here, and what is none is none: a number that rounding would carry over either limit is
 * taken for its neighbour on the right side. Between 2^53 and the limits an integer is the nearest there is.
 */

const limit = 2 ** 63

/** Whether a number is an int64. */
export const is = (value: unknown): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= -limit && value < limit

/** The largest int64 that a number can be, and the first number below all of them. */
const largest = "9223372036854774784"
const below = "-9223372036854777856"

const onItsSide = (digits: string): string => {
  const exact = BigInt(digits)
  const rounded = Number(digits)
  if (rounded === limit && exact < rounded) return largest
  return rounded === -limit && exact < rounded ? below : digits
}

/** Strings, and integers that may lie beyond the limits. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])(-?\d{19,})(?![\d.eE])/gs

/** A JSON text in which every integer is read as one if and only if Go reads it as one. */
export const readable = (json: string): string =>
  /\d{19}/.test(json)
    ? json.replace(tokens, (token, digits: string | undefined) => digits === undefined ? token : onItsSide(digits))
    : json
