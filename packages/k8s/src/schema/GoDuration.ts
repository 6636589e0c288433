/**
 * `GoDuration`: durations as Go parses them, with Go's errors.
 *
 * Source: Go's time/format.go (`ParseDuration`).
 */
import { quote } from "./FieldError.ts"

/** In milliseconds. */
const units: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000]
])

const term = /^(\d+\.?\d*|\.\d+)([^\d.]*)/

/** The error for a text such as `1h30m`; undefined if it is a duration. */
export const fault = (text: string): string | undefined => {
  let rest = text.replace(/^[+-]/, "")
  if (rest === "0") return undefined
  do {
    const found = term.exec(rest)
    if (found === null) return `time: invalid duration ${quote(text)}`
    const [all, , unit = ""] = found
    if (unit === "") return `time: missing unit in duration ${quote(text)}`
    if (!units.has(unit)) return `time: unknown unit ${quote(unit)} in duration ${quote(text)}`
    rest = rest.slice(all.length)
  } while (rest !== "")
  return undefined
}

/** A duration such as `1h30m` in milliseconds; 0 if the text is not a duration. */
export const millis = (text: string): number => {
  if (fault(text) !== undefined) return 0
  let sum = 0
  for (const [, amount = "", unit = ""] of text.matchAll(/([\d.]+)([^\d.]+)/g)) {
    sum += Number(amount) * (units.get(unit) ?? 0)
  }
  return text.startsWith("-") ? -sum : sum
}
