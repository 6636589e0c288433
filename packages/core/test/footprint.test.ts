import { footprint, footprintOfAll } from "@effect-operator/core/internal/footprint"
import { freeze } from "@effect-operator/core/internal/freeze"
import { assert, describe, it } from "@effect/vitest"

describe("footprint", () => {
  it("grows with every part of a value", () => {
    const sizes = [null, 1, "", "abc", {}, { a: 1 }, { a: "x" }, { a: ["x", { b: "y" }] }].map(footprint)
    assert.deepStrictEqual(sizes, [...sizes].sort((a, b) => a - b))
    assert.strictEqual(footprint({ a: "xy" }) - footprint({ a: "x" }), 1)
  })

  it("of many objects is estimated from an even sample, and exact if all are alike or few", () => {
    const small = { a: "x" }
    const large = { a: "x".repeat(1000) }
    assert.strictEqual(footprintOfAll([], 0), 0)
    assert.strictEqual(footprintOfAll([small, large], 2), footprint(small) + footprint(large))
    const many = Array.from({ length: 10_000 }, () => small)
    assert.strictEqual(footprintOfAll(many, many.length), 10_000 * footprint(small))
    // The first half small, the second large: an estimate from the first objects alone would be far off.
    const mixed = [...many, ...many.map(() => large)]
    const exact = 10_000 * (footprint(small) + footprint(large))
    assert.approximately(footprintOfAll(mixed, mixed.length) / exact, 1, 0.05)
  })
})

describe("freeze", () => {
  const isDeep = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeep))

  it("freezes every part, even inside an object that is already frozen on the outside", () => {
    for (const outer of [(value: object) => value, Object.freeze]) {
      const object = outer({ metadata: { labels: { a: "b" } }, spec: { list: [{ x: 1 }], none: null } })
      assert.strictEqual(freeze(object), object)
      assert.isTrue(isDeep(object))
    }
  })
})
