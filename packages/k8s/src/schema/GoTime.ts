/**
 * `GoTime`: times in the API's formats, with Go's errors.
 *
 * Source: Go's time/format.go (`parse`), with the layouts of apimachinery's `Time` and `MicroTime`.
 */
import * as Result from "effect/Result"
import { quote } from "./FieldError.ts"

/** A parsed time. */
export interface Time {
  /** Whole seconds, as milliseconds since 1970. */
  readonly millis: number
  /** The digits of the fraction of a second; `""` for none. */
  readonly fraction: string
}

/** The layout of a text: an optional fraction of a second, or a fraction of exactly six digits. */
export type Precision = "seconds" | "micros"

interface Found {
  readonly rest: string
  readonly value: number
  readonly text: string
}

interface Part {
  /** What precedes the part. */
  readonly before: string
  /** The part in the layout. */
  readonly layout: string
  readonly pattern: RegExp
  /** The name of a number in range errors, and its bounds. */
  readonly bounds?: readonly [name: string, least: number, most: number]
}

const part = (before: string, layout: string, pattern: RegExp, bounds?: Part["bounds"]): Part => ({
  before,
  layout,
  pattern,
  ...(bounds === undefined ? {} : { bounds })
})

const date: ReadonlyArray<Part> = [
  part("", "2006", /^\d{4}/),
  part("-", "01", /^\d\d/, ["month", 1, 12]),
  part("-", "02", /^\d\d/),
  part("T", "15", /^\d\d?/, ["hour", 0, 23]),
  part(":", "04", /^\d\d/, ["minute", 0, 59])
]

const zone = part("", "Z07:00", /^(?:Z|[+-]\d\d:\d\d)/)

const parts: Readonly<Record<Precision, ReadonlyArray<Part>>> = {
  seconds: [...date, part(":", "05", /^\d\d(?:[.,]\d+)?/, ["second", 0, 59]), zone],
  micros: [...date, part(":", "05", /^\d\d/, ["second", 0, 59]), part("", ".000000", /^[.,]\d{6}/), zone]
}

const layoutOf = (precision: Precision): string =>
  parts[precision].map(({ before, layout }) => `${before}${layout}`).join("")

const layouts: Readonly<Record<Precision, string>> = { seconds: layoutOf("seconds"), micros: layoutOf("micros") }

/** Reads the part at the start of a text. The failure is what follows the whole text in the error. */
const read = ({ before, bounds, layout, pattern }: Part, text: string, whole: string): Result.Result<Found, string> => {
  const cannot = (at: string, as: string) => Result.fail(` as "${whole}": cannot parse ${quote(at)} as "${as}"`)
  if (!text.startsWith(before)) return cannot(text, before)
  const rest = text.slice(before.length)
  const found = pattern.exec(rest)?.[0]
  if (found === undefined) return cannot(rest, layout)
  const value = Number.parseInt(found, 10)
  return bounds !== undefined && (value < bounds[1] || value > bounds[2])
    ? Result.fail(`: ${bounds[0]} out of range`)
    : Result.succeed({ rest: rest.slice(found.length), value, text: found })
}

/** The parts of a text in order. */
const split = (text: string, precision: Precision): Result.Result<ReadonlyArray<Found>, string> => {
  const found: Array<Found> = []
  let rest = text
  for (const next of parts[precision]) {
    const one = read(next, rest, layouts[precision])
    if (Result.isFailure(one)) return Result.fail(one.failure)
    found.push(one.success)
    rest = one.success.rest
  }
  return rest === "" ? Result.succeed(found) : Result.fail(`: extra text: ${quote(rest)}`)
}

const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

const offsetOf = (text: string): Result.Result<number, string> => {
  if (text === "Z") return Result.succeed(0)
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(4, 6))]
  if (hours > 24) return Result.fail(": time zone offset hour out of range")
  if (minutes > 60) return Result.fail(": time zone offset minute out of range")
  return Result.succeed((text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes))
}

const assemble = (found: ReadonlyArray<Found>): Result.Result<Time, string> => {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = found.map(({ value }) => value)
  return Result.flatMap(offsetOf(found.at(-1)!.text), (offset) => {
    if (day < 1 || day > daysIn(year, month)) return Result.fail(": day out of range")
    const at = new Date(0)
    at.setUTCFullYear(year, month - 1, day)
    at.setUTCHours(hour, minute - offset, second)
    const fraction = /[.,](\d+)$/.exec(found[found.length - 2]!.text)?.[1] ?? ""
    return Result.succeed({ millis: at.getTime(), fraction })
  })
}

/** Parses a text, or fails with Go's error. */
export const parse = (text: string, precision: Precision = "seconds"): Result.Result<Time, string> =>
  Result.mapError(Result.flatMap(split(text, precision), assemble), (why) => `parsing time ${quote(text)}${why}`)

/** The time in whole seconds of UTC, as the API writes it, without the final `Z`. */
export const wholeSeconds = ({ millis }: Time): string => new Date(millis).toISOString().slice(0, -5)
