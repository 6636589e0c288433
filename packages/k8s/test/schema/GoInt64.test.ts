import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as GoInt64 from "../../src/schema/GoInt64.ts"

const read = (json: string): unknown => JSON.parse(GoInt64.readable(json))

describe("GoInt64", () => {
  it("the limits of an int64 are read as one, and what lies beyond is not", () => {
    for (
      const inside of ["9223372036854775807", "9223372036854775500", "-9223372036854775808", "-9223372036854775807"]
    ) {
      assert.isTrue(GoInt64.is(read(inside)), inside)
    }
    for (const outside of ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "1.5"]) {
      assert.isFalse(GoInt64.is(read(outside)), outside)
    }
    assert.isFalse(GoInt64.is("1"))
  })

  it("what only looks like such a number is left alone", () => {
    const strings = { "9223372036854775807": "[9223372036854775807,\\\"9223372036854775807]" }
    assert.deepStrictEqual(read(JSON.stringify(strings)), strings)
    assert.strictEqual(read("9223372036854775807.5"), 2 ** 63)
    assert.strictEqual(read("9223372036854775807e1"), 2 ** 63 * 10)
    assert.strictEqual(read("1e-9223372036854775807"), 0)
    assert.strictEqual(read("0.9223372036854775807"), Number("0.9223372036854775807"))
  })

  it.prop(
    "an integer is an int64 if and only if it has 64 bits",
    { high: Schema.Int, low: Schema.Int },
    ({ high, low }) => {
      const exact = (BigInt(Math.trunc(high)) % 4n) * 2n ** 62n + BigInt(low)
      assert.strictEqual(GoInt64.is(read(String(exact))), BigInt.asIntN(64, exact) === exact, String(exact))
    }
  )
})
