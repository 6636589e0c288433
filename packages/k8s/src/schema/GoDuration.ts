/**
 * `GoDuration`: why a text is no duration, in the words of Go.
 *
 * Source: Go's time/format.go (`ParseDuration`).
 */
import { quote } from "./FieldError.ts"

const units: ReadonlySet<string> = new Set(["ns", "us", "µs", "μs", "ms", "s", "m", "h"])

const term = /^(\d+\.?\d*|\.\d+)([^\d.]*)/

/** The fault of a text such as `1h30m`; undefined if it is a duration. */
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
