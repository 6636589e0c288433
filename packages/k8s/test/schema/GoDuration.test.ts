import { assert, describe, it } from "@effect/vitest"
import * as GoDuration from "../../src/schema/GoDuration.ts"

describe("GoDuration", () => {
  it("takes every sum of numbers with units", () => {
    for (const text of ["0", "-0", "30s", "1h30m", "1.5h", ".5s", "1.s", "+3ms2µs", "-2us1ns"]) {
      assert.isUndefined(GoDuration.fault(text), text)
    }
  })

  it("counts their milliseconds, of what is none nothing", () => {
    const texts = ["1h30m", "1.5s", "-.5s", "0", "", "5", "250us"]
    assert.deepStrictEqual(texts.map(GoDuration.millis), [5_400_000, 1500, -500, 0, 0, 0, 0.25])
  })

  const faults: ReadonlyArray<readonly [string, string]> = [
    ["", "time: invalid duration \"\""],
    ["bad", "time: invalid duration \"bad\""],
    ["-", "time: invalid duration \"-\""],
    [".", "time: invalid duration \".\""],
    ["5", "time: missing unit in duration \"5\""],
    ["1h5", "time: missing unit in duration \"1h5\""],
    ["5x", "time: unknown unit \"x\" in duration \"5x\""],
    ["1 s", "time: unknown unit \" s\" in duration \"1 s\""]
  ]
  for (const [text, why] of faults) it(why, () => assert.strictEqual(GoDuration.fault(text), why))
})
