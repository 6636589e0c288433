/**
 * `CronFields`: the five fields of a schedule, parsed as by the library of the real controller.
 *
 * The result has every range and step expanded, or is that library's error about the first invalid field. An
 * unrestricted field stays `*`, because days match differently if one of their two fields is unrestricted.
 *
 * Source: github.com/robfig/cron/v3, parser.go.
 */
import * as Result from "effect/Result"

interface Bounds {
  readonly least: number
  readonly most: number
  readonly names: ReadonlyArray<string>
}

const bounds = (least: number, most: number, names = ""): Bounds => ({
  least,
  most,
  names: names === "" ? [] : names.split(" ")
})

const all: ReadonlyArray<Bounds> = [
  bounds(0, 59),
  bounds(0, 23),
  bounds(1, 31),
  bounds(1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"),
  bounds(0, 6, "sun mon tue wed thu fri sat")
]

/** A number, or the name of one. */
const number = (text: string, { least, names }: Bounds): Result.Result<number, string> => {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return Result.succeed(named + least)
  const parsed = `strconv.Atoi: parsing ${JSON.stringify(text)}`
  if (!/^[+-]?[0-9]+$/.test(text)) return Result.fail(`failed to parse int from ${text}: ${parsed}: invalid syntax`)
  const value = Number(text)
  return Math.abs(value) > 2 ** 63
    ? Result.fail(`failed to parse int from ${text}: ${parsed}: value out of range`)
    : value < 0
    ? Result.fail(`negative number (${value}) not allowed: ${text}`)
    : Result.succeed(value)
}

const isStar = (text: string): boolean => text === "*" || text === "?"

/** One part of a list; undefined if it is unrestricted. */
const range = (text: string, field: Bounds): Result.Result<ReadonlyArray<number> | undefined, string> =>
  Result.gen(function*() {
    const [span = "", ...steps] = text.split("/")
    const [low = "", ...highs] = span.split("-")
    const star = isStar(low)
    const start = star ? field.least : yield* number(low, field)
    if (!star && highs.length > 1) return yield* Result.fail(`too many hyphens: ${text}`)
    const end = star ? field.most : highs.length === 0 ? start : yield* number(highs[0]!, field)
    if (steps.length > 1) return yield* Result.fail(`too many slashes: ${text}`)
    const step = steps.length === 0 ? 1 : yield* number(steps[0]!, { ...field, names: [] })
    const last = steps.length === 1 && highs.length === 0 ? field.most : end
    if (start < field.least) {
      return yield* Result.fail(`beginning of range (${start}) below minimum (${field.least}): ${text}`)
    }
    if (last > field.most) return yield* Result.fail(`end of range (${last}) above maximum (${field.most}): ${text}`)
    if (start > last) {
      return yield* Result.fail(`beginning of range (${start}) beyond end of range (${last}): ${text}`)
    }
    if (step === 0) return yield* Result.fail(`step of range should be a positive number: ${text}`)
    if (star && step === 1) return undefined
    return Array.from({ length: Math.floor((last - start) / step) + 1 }, (_, index) => start + index * step)
  })

const field = (text: string, index: number): Result.Result<string, string> =>
  Result.map(
    Result.all(text.split(",").filter((part) => part !== "").map((part) => range(part, all[index]!))),
    (parts) => parts.some((part) => part === undefined) ? "*" : [...new Set(parts.flat())].join(",")
  )

/** The fields with only numbers, commas and stars. */
export const read = (text: string): Result.Result<string, string> => {
  const fields = text.split(/\s+/).filter((part) => part !== "")
  return fields.length === all.length
    ? Result.map(Result.all(fields.map(field)), (read) => read.join(" "))
    : Result.fail(`expected exactly ${all.length} fields, found ${fields.length}: [${fields.join(" ")}]`)
}
