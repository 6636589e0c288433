import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Parameters from "../../src/api/Parameters.ts"

const read = (value: string | undefined) =>
  Result.match(Parameters.integer({ query: value === undefined ? [] : [["limit", value]] }, "limit"), {
    onSuccess: (number) => number,
    onFailure: ({ body, status }) => `${status} ${body.message}`
  })

describe("Parameters", () => {
  it("reads whole numbers of 64 bits", () => {
    assert.deepStrictEqual([undefined, "5", "-1", "+7", "007"].map(read), [undefined, 5, -1, 7, 7])
    assert.isNumber(read("9223372036854775807"))
  })

  it("refuses everything else in Go's words", () => {
    for (const text of ["", "x", "1.5", "1e3", " 1", "0x1"]) {
      assert.strictEqual(read(text), `400 strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
    }
    const large = "9223372036854775808"
    assert.strictEqual(read(large), `400 strconv.ParseInt: parsing "${large}": value out of range`)
  })
})
