import { assert, describe, it } from "@effect/vitest"
import * as RangeRules from "../../../../src/testing/server/rules/RangeRules.ts"

const within = (inner: string, outer: string) =>
  RangeRules.isStrictlyWithin(RangeRules.parse(inner)!, RangeRules.parse(outer)!)

describe("RangeRules", () => {
  it("reads both families", () => {
    for (const text of ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/64", "::/0", "::1/128"]) {
      assert.deepStrictEqual(RangeRules.faults("p", text), [], text)
    }
    for (const text of ["10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "::1/129", "10.0.0.0/8/8", ""]) {
      assert.strictEqual(RangeRules.faults("p", text).length, 1, text)
    }
  })

  it("knows which is within which", () => {
    assert.isTrue(within("10.1.0.0/16", "10.0.0.0/8"))
    assert.isTrue(within("2001:db8:1::/48", "2001:db8::/32"))
    assert.isFalse(within("10.0.0.0/8", "10.0.0.0/8"))
    assert.isFalse(within("11.0.0.0/16", "10.0.0.0/8"))
    assert.isFalse(within("::/64", "0.0.0.0/0"))
  })
})
