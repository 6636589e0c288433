/**
 * `Time`: parses and prints timestamps and durations, and computes their parts.
 *
 * Timestamps are parsed as RFC 3339 and printed in the zone in which they were written. Durations are parsed as Go's
 * (`1h30m`) and printed in seconds. Parts of a timestamp are in UTC unless a zone is given.
 *
 * Source: Go's time package, and github.com/google/cel-go/common/types/{timestamp,duration}.go.
 */
import { Duration, Fault, fault, Timestamp, type Value } from "./Values.ts"

const second = 1_000_000_000n

const daysIn = (year: number, month: number): number => new Date(Date.UTC(2000 + year % 400, month, 0)).getUTCDate()

/** A day in milliseconds since 1970; also for years before 100. */
const dayMillis = (year: number, month: number, day: number): number => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime()
}

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:(Z)|([+-])(\d{2}):(\d{2}))$/

/** Parses RFC 3339; undefined if the text is invalid. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const parts = rfc3339.exec(text)
  if (parts === null) return undefined
  const [year, month, day, hour, minute, sec] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || sec > 59) {
    return undefined
  }
  const [, , , , , , , fraction = "", , sign, zoneHour = "0", zoneMinute = "0"] = parts
  if (Number(zoneHour) > 24 || Number(zoneMinute) > 60) return undefined
  const offset = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === "-" ? -1 : 1)
  const seconds = BigInt(dayMillis(year, month, day) / 1000) + BigInt(hour * 3600 + minute * 60 + sec - offset * 60)
  return new Timestamp(seconds * second + BigInt(fraction.slice(0, 9).padEnd(9, "0")), offset)
}

/** Parses a date, `2006-01-02`. */
export const parseDate = (text: string): Timestamp | undefined => parseTimestamp(`${text}T00:00:00Z`)

const floorDiv = (a: bigint, b: bigint): bigint => a >= 0n ? a / b : -((-a + b - 1n) / b)

const two = (value: number): string => String(value).padStart(2, "0")

/** As Go's RFC3339Nano. */
export const formatTimestamp = ({ nanos, offset }: Timestamp): string => {
  const local = nanos + BigInt(offset) * 60n * second
  const seconds = floorDiv(local, second)
  const date = new Date(Number(seconds) * 1000)
  const fraction = String(local - seconds * second).padStart(9, "0").replace(/0+$/, "")
  const day = `${String(date.getUTCFullYear()).padStart(4, "0")}-${two(date.getUTCMonth() + 1)}-${
    two(date.getUTCDate())
  }`
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
  const minutes = Math.abs(offset)
  const zone = offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${day}T${time}${fraction === "" ? "" : `.${fraction}`}${zone}`
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "µs": 1_000n,
  "μs": 1_000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second
}

const term = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy

/** Parses a duration as Go's `time.ParseDuration` does; undefined if it is invalid or too long. */
export const parseDuration = (text: string): Duration | undefined => {
  const sign = /^[+-]/.test(text) ? text[0] : ""
  const rest = text.slice(sign!.length)
  if (rest === "0") return new Duration(0n)
  let total = 0n
  let end = 0
  for (const match of rest.matchAll(term)) {
    const [whole = "0", fraction = ""] = match[1]!.split(".")
    const unit = units[match[2]!]!
    const digits = fraction.slice(0, 18)
    total += BigInt(whole === "" ? 0 : whole) * unit + BigInt(digits || 0) * unit / 10n ** BigInt(digits.length)
    end = match.index + match[0].length
  }
  if (end === 0 || end !== rest.length) return undefined
  const nanos = sign === "-" ? -total : total
  return nanos < -(2n ** 63n) || nanos >= 2n ** 63n ? undefined : new Duration(nanos)
}

/** Seconds, with as many decimals as needed. */
export const formatDuration = ({ nanos }: Duration): string => {
  const seconds = Number(nanos / second) + Number(nanos % second) / 1e9
  return `${plainNumber(seconds)}s`
}

/** A number without an exponent. */
const plainNumber = (value: number): string => {
  const text = String(value)
  if (!text.includes("e")) return text
  return value.toFixed(9).replace(/\.?0+$/, "")
}

/** The local parts of a timestamp. */
interface Parts {
  readonly date: Date
  readonly nanos: bigint
}

const partsAt = ({ nanos }: Timestamp, offsetMinutes: number): Parts => {
  const local = nanos + BigInt(Math.round(offsetMinutes * 60)) * second
  const seconds = floorDiv(local, second)
  return { date: new Date(Number(seconds) * 1000), nanos: local - seconds * second }
}

/** A named zone's offset from UTC at a time, in minutes. */
const zoneOffset = (zone: string, at: Timestamp): number | Fault => {
  if (zone === "" || zone === "UTC") return 0
  const millis = Number(floorDiv(at.nanos, second)) * 1000
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
    const name = format.formatToParts(new Date(millis)).find(({ type }) => type === "timeZoneName")!.value
    const match = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(name)
    if (match?.[1] === undefined) return 0
    const minutes = Number(match[2]) * 60 + Number(match[3]) + Number(match[4] ?? 0) / 60
    return match[1] === "-" ? -minutes : minutes
  } catch {
    return fault(`unknown time zone ${zone}`)
  }
}

const atoi = (text: string): number | Fault =>
  /^[+-]?\d+$/.test(text) ? Number(text) : fault(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)

const offsetOf = (zone: string, at: Timestamp): number | Fault => {
  const colon = zone.indexOf(":")
  if (colon < 0) return zoneOffset(zone, at)
  const hours = atoi(zone.slice(0, colon))
  if (hours instanceof Fault) return hours
  const minutes = atoi(zone.slice(colon + 1))
  if (minutes instanceof Fault) return minutes
  return zone.startsWith("-") ? hours * 60 - minutes : hours * 60 + minutes
}

const dayOfYear = (date: Date): number =>
  Math.floor((date.getTime() - dayMillis(date.getUTCFullYear(), 1, 1)) / 86_400_000)

/** The functions that return a part of a timestamp. */
export const timestampParts: Readonly<Record<string, (parts: Parts) => number>> = {
  getFullYear: ({ date }) => date.getUTCFullYear(),
  getMonth: ({ date }) => date.getUTCMonth(),
  getDayOfYear: ({ date }) => dayOfYear(date),
  getDayOfMonth: ({ date }) => date.getUTCDate() - 1,
  getDate: ({ date }) => date.getUTCDate(),
  getDayOfWeek: ({ date }) => date.getUTCDay(),
  getHours: ({ date }) => date.getUTCHours(),
  getMinutes: ({ date }) => date.getUTCMinutes(),
  getSeconds: ({ date }) => date.getUTCSeconds(),
  getMilliseconds: ({ nanos }) => Number(nanos / 1_000_000n)
}

/** A part of a timestamp, in a zone. */
export const timestampPart = (name: string, at: Timestamp, zone = ""): Value => {
  const offset = offsetOf(zone, at)
  return offset instanceof Fault ? offset : BigInt(timestampParts[name]!(partsAt(at, offset)))
}

/** The unit of each part of a duration, in nanoseconds. */
export const durationParts: Readonly<Record<string, bigint>> = {
  getHours: 3600n * second,
  getMinutes: 60n * second,
  getSeconds: second,
  getMilliseconds: 1_000_000n
}
