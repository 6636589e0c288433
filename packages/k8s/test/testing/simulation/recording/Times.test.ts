import { assert, describe, it } from "@effect/vitest"
import { isTime, timeless } from "../../../../src/testing/simulation/recording/Times.ts"

describe("Times", () => {
  it("times are times however they are written", () => {
    for (
      const value of ["2026-01-01T00:00:01Z", "2026-01-01T00:00:01.5Z", 1_767_225_660_000, 1_767_225_660, "1767225660"]
    ) {
      assert.isTrue(isTime(value), String(value))
    }
    // A certificate ends in 90 days, or in ten years.
    for (const value of [1_775_001_601_271, "1775001601271", 1_775_001_601, 2_082_585_600, 1_767_222_000]) {
      assert.isTrue(isTime(value), String(value))
    }
    for (
      const value of [
        "2026-01-01",
        3,
        "3",
        1_667_225_660,
        2 ** 31,
        2 ** 30,
        "ready since 2026-01-01T00:00:01Z",
        null,
        {}
      ]
    ) {
      assert.isFalse(isTime(value), String(value))
    }
  })

  it("a text is without the times in it", () => {
    assert.strictEqual(timeless("ready since 2026-01-01T00:00:01Z, as 2 of 3"), "ready since (time), as 2 of 3")
  })

  it("a Secret has times in base64", () => {
    assert.isTrue(isTime(btoa("2026-01-01T00:00:01Z")))
    assert.isTrue(isTime(btoa("1767225660")))
    assert.isFalse(isTime(btoa("until 2026-01-01T00:00:01Z")))
    assert.strictEqual(timeless(btoa("ci until 2026-01-02T00:00:01.5Z")), "ci until (time)")
    assert.strictEqual(timeless(btoa("some password")), btoa("some password"), "anything else is as it was")
  })
})
