import { assert, describe, it } from "@effect/vitest"
import * as Quantity from "../../src/api/Quantity.ts"
import { forAll } from "../testing/support/RandomJson.ts"

describe("Quantity", () => {
  it("writes amounts in the one form a server has", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["0.5", "500m"],
      ["1000m", "1"],
      ["1", "1"],
      ["1000", "1k"],
      ["1500", "1500"],
      ["1024Ki", "1Mi"],
      ["1000Ki", "1000Ki"],
      ["0.5Gi", "512Mi"],
      ["0.5Ki", "512"],
      ["1.5Gi", "1536Mi"],
      ["100Mi", "100Mi"],
      ["1000M", "1G"],
      ["1e3", "1e3"],
      ["12e6", "12e6"],
      ["0", "0"],
      ["0Gi", "0"],
      [".5", "500m"],
      ["-1", "-1"],
      ["0.0000000001", "1n"],
      ["1u", "1u"]
    ]
    assert.deepStrictEqual(cases.map(([text]) => Quantity.canonical(text)), cases.map(([, form]) => form))
  })

  it("leaves as it is what might have been written so", () => {
    for (const text of ["+1", "5.", "1E3", "007", "1.500", "70.u", "-09", "9Ki", "1E"]) {
      assert.strictEqual(Quantity.canonical(text), text)
    }
    assert.strictEqual(Quantity.canonical(" 1Gi "), "1Gi")
  })

  it("takes nothing for a zero, and a suffix alone", () => {
    for (const text of [".", "+", "-0", "Gi", "e3", "000"]) assert.strictEqual(Quantity.canonical(text), "0", text)
  })

  it("ends amounts with a binary suffix at 2^63-1, and no others", () => {
    assert.strictEqual(Quantity.canonical("8Ei"), "9223372036854775807")
    assert.strictEqual(Quantity.canonical("-9Ei"), "-9223372036854775807")
    assert.strictEqual(Quantity.canonical("9223372036854775808"), "9223372036854775808")
    assert.strictEqual(Quantity.canonical("6e30"), "6e30")
    // There is no suffix for it.
    assert.strictEqual(Quantity.canonical("1000E"), "1")
    assert.strictEqual(Quantity.add("8Ei", "1"), "8Ei")
  })

  it("is rounded to thousandths, away from zero", () => {
    const cases = ["1.0001", "0.00001", "-1.0001", "1.5", "3n", "1Gi", "0", "1e-4"]
    assert.deepStrictEqual(cases.map(Quantity.inThousandths), [
      "1001m",
      "1m",
      "-1001m",
      "1.5",
      "1m",
      "1Gi",
      "0",
      "1e-3"
    ])
  })

  it("refuses what is no amount", () => {
    for (const text of ["", "x", "1 Gi", "1KI", "--1", "1ki", "1e", "e", "Pi", "1.2.3"]) {
      assert.isUndefined(Quantity.canonical(text), text)
    }
  })

  it("is idempotent, and keeps the order of amounts", () =>
    forAll(500, (random) => {
      const amount = () =>
        `${random.chance(0.5) ? Math.floor(random.next() * 5000) : (random.next() * 50).toFixed(3)}${
          random.pick(["", "m", "k", "M", "Ki", "Mi", "Gi", "e3"])
        }`
      const [a, b] = [amount(), amount()]
      const [canonicalA, canonicalB] = [Quantity.canonical(a)!, Quantity.canonical(b)!]
      assert.strictEqual(Quantity.canonical(canonicalA), canonicalA, a)
      assert.strictEqual(Quantity.compare(a, canonicalA), 0, a)
      assert.strictEqual(Quantity.compare(a, b), Quantity.compare(canonicalA, canonicalB), `${a} ${b}`)
    }))
})
