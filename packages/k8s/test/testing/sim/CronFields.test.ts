import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import * as CronFields from "../../../src/testing/sim/CronFields.ts"

const rows: ReadonlyArray<readonly [text: string, expected: string]> = [
  ["* * * * *", "* * * * *"],
  ["*/20 0-4/2 ? jan,MAR mon-wed", "0,20,40 0,2,4 * 1,3 1,2,3"],
  ["50/5 1, 2 3 4", "50,55 1 2 3 4"]
]

const faults: ReadonlyArray<readonly [text: string, why: string]> = [
  ["", "expected exactly 5 fields, found 0: []"],
  ["* * *", "expected exactly 5 fields, found 3: [* * *]"],
  ["61 * * * *", "end of range (61) above maximum (59): 61"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"],
  ["* * * * 7", "end of range (7) above maximum (6): 7"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["1/2/3 * * * *", "too many slashes: 1/2/3"]
]

it("writes ranges, steps and names out", () => {
  for (const [text, expected] of rows) assert.deepStrictEqual(CronFields.read(text), Result.succeed(expected), text)
})

it("says what is wrong with the first field that is", () => {
  for (const [text, why] of faults) assert.deepStrictEqual(CronFields.read(text), Result.fail(why), text)
})
