import { assert, describe, it } from "@effect/vitest"
import { arrayAt, at, copy, dropNulls, freeze, objectAt, stringAt } from "../../src/api/Plain.ts"

describe("Plain", () => {
  it("copies as JSON text would", () => {
    const value = {
      a: [1, undefined, { b: undefined, c: null }],
      d: new Date("2020-01-01T00:00:00Z"),
      e: Number.NaN,
      f: undefined,
      g: () => 1
    }
    assert.deepStrictEqual(copy(value) as unknown, JSON.parse(JSON.stringify(value)))
  })

  it("copies share nothing with the original", () => {
    const value = { a: { b: [1] } }
    const copied = copy(value)
    copied.a.b.push(2)
    assert.deepStrictEqual(value, { a: { b: [1] } })
  })

  it("copies at every depth alike", () => {
    const value = (): unknown => ({ a: [1, undefined, { b: undefined, c: Number.NaN }], d: new Date(0), e: () => 1 })
    const under = (inner: unknown) => {
      let outer = inner
      for (let level = 0; level < 5_000; level++) outer = [{ "__proto__x": outer }]
      return outer
    }
    let copied: any = copy(under({ ...value() as object, ...JSON.parse("{\"__proto__\":{}}") }))
    for (let level = 0; level < 5_000; level++) copied = copied[0]["__proto__x"]
    const { ["__proto__"]: own, ...rest } = copied
    assert.deepStrictEqual([Object.keys(copied).includes("__proto__"), own], [true, {}])
    assert.deepStrictEqual(rest, JSON.parse(JSON.stringify(value())))
  })

  it("copies a key named __proto__ as data", () => {
    const copied = copy(JSON.parse("{\"__proto__\":{\"polluted\":true}}") as object)
    assert.deepStrictEqual(Object.keys(copied), ["__proto__"])
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
  })

  it("freezes every level", () => {
    const value = freeze({ a: [{ b: 1 }] })
    assert.throws(() => Object.assign(value.a[0]!, { b: 2 }))
  })

  it("drops nulls of objects but not of arrays", () =>
    assert.deepStrictEqual(dropNulls({ a: null, b: [null, { c: null }] }), { b: [null, {}] }))

  it("reads paths without throwing", () => {
    const value = { a: { b: ["c"] }, d: "e" }
    assert.deepStrictEqual(at(value, "a", "b"), ["c"])
    assert.isUndefined(at(value, "a", "x", "y"))
    assert.isUndefined(at(null, "a"))
    assert.isUndefined(at(value, "toString"))
    assert.deepStrictEqual(objectAt(value, "d"), {})
    assert.deepStrictEqual(arrayAt(value, "a"), [])
    assert.strictEqual(stringAt(value, "a"), "")
  })
})
