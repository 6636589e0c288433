import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as GoTime from "../../src/schema/GoTime.ts"

const layout = "2006-01-02T15:04:05Z07:00"

const shown = (text: string, precision?: GoTime.Precision): string =>
  Result.match(GoTime.parse(text, precision), {
    onSuccess: (time) => `${GoTime.wholeSeconds(time)} ${time.fraction}`,
    onFailure: (why) => why
  })

const fault = (text: string): string => shown(text).replace(`parsing time ${JSON.stringify(text)}`, "")

describe("GoTime", () => {
  it("reads times of any zone, with fractions and hours of one digit", () => {
    assert.strictEqual(shown("2020-01-31T23:59:59Z"), "2020-01-31T23:59:59 ")
    assert.strictEqual(shown("2020-03-01T00:30:00.25+01:00"), "2020-02-29T23:30:00 25")
    assert.strictEqual(shown("0001-01-01T1:00:00,5-00:30"), "0001-01-01T01:30:00 5")
    assert.strictEqual(shown("2020-01-01T00:00:00.123456Z", "micros"), "2020-01-01T00:00:00 123456")
  })

  const faults: ReadonlyArray<readonly [string, string]> = [
    ["yesterday", ` as "${layout}": cannot parse "yesterday" as "2006"`],
    ["", ` as "${layout}": cannot parse "" as "2006"`],
    ["20", ` as "${layout}": cannot parse "20" as "2006"`],
    ["2020-1-01T00:00:00Z", ` as "${layout}": cannot parse "1-01T00:00:00Z" as "01"`],
    ["2020-01-01", ` as "${layout}": cannot parse "" as "T"`],
    ["2020-01-01 00:00:00Z", ` as "${layout}": cannot parse " 00:00:00Z" as "T"`],
    ["2020-02-03T00:00:00", ` as "${layout}": cannot parse "" as "Z07:00"`],
    ["2020-13-01T00:00:00Z", ": month out of range"],
    ["2020-01-01T25:00:00Z", ": hour out of range"],
    ["2020-01-01T00:00:60Z", ": second out of range"],
    ["2021-02-29T00:00:00Z", ": day out of range"],
    ["2020-01-01T00:00:00+25:00", ": time zone offset hour out of range"],
    ["2020-02-03T00:00:00Zx", ": extra text: \"x\""]
  ]
  for (const [text, why] of faults) it(`${text}${why}`, () => assert.strictEqual(fault(text), why))

  it("wants six digits where it reads microseconds", () => {
    for (const text of ["2020-01-01T00:00:00.12Z", "2020-01-01T00:00:00Z"]) {
      const rest = JSON.stringify(text.slice("2020-01-01T00:00:00".length))
      assert.strictEqual(
        shown(text, "micros"),
        `parsing time "${text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ${rest} as ".000000"`
      )
    }
  })
})
