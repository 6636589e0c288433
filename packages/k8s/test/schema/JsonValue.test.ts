import { assert, describe, it } from "@effect/vitest"
import * as JsonValue from "../../src/schema/JsonValue.ts"
import { forAll, frozen } from "../testing/support/RandomJson.ts"

describe("JsonValue", () => {
  it("keys of every name are data", () => {
    const object = JsonValue.set({}, "__proto__", { a: 1 })
    assert.deepStrictEqual(Object.keys(object), ["__proto__"])
    assert.deepStrictEqual(JsonValue.get(object, "__proto__"), { a: 1 })
    assert.isUndefined(JsonValue.get({}, "toString"))
    assert.isFalse(JsonValue.has({}, "constructor"))
    assert.deepStrictEqual(Object.keys(JsonValue.remove(JsonValue.set(object, "b", 1), "__proto__")), ["b"])
  })

  it("changes of many keys are made in one pass, each in its place", () => {
    const object = frozen({ a: 1, b: 2, c: 3 })
    const changed = JsonValue.change(
      object,
      new Map<string, unknown>([["d", 4], ["a", 0], ["b", undefined], ["e", undefined]])
    )
    assert.strictEqual(JSON.stringify(changed), JSON.stringify({ a: 0, c: 3, d: 4 }))
    assert.strictEqual(
      JSON.stringify(JsonValue.change(object, new Map([["b", undefined]]))),
      JSON.stringify({ a: 1, c: 3 })
    )
    assert.strictEqual(JsonValue.change(object, new Map()), object)
    assert.deepStrictEqual(Object.keys(JsonValue.change({}, new Map([["__proto__", 1], ["x", 2]]))), ["__proto__", "x"])
  })

  it("depth counts objects and arrays, of any number", () => {
    assert.isFalse(JsonValue.isDeeper(1, 0))
    assert.isTrue(JsonValue.isDeeper({}, 0))
    assert.isFalse(JsonValue.isDeeper([{}, { a: [] }], 3))
    assert.isTrue(JsonValue.isDeeper([{}, { a: [] }], 2))
    assert.isTrue(JsonValue.isDeeper(JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)))
  })

  it("equality ignores the order of keys, and only that", () => {
    assert.isTrue(JsonValue.equals({ a: 1, b: [null] }, { b: [null], a: 1 }))
    assert.isFalse(JsonValue.equals({ a: 1 }, { a: 1, b: 2 }))
    assert.isFalse(JsonValue.equals({ a: undefined }, { b: undefined }))
    assert.isFalse(JsonValue.equals([], {}))
    assert.isFalse(JsonValue.equals(null, {}))
    assert.isFalse(JsonValue.equals([1, 2], [2, 1]))
  })

  it("a document equals its copy, and shares itself where nothing changed", () =>
    forAll(200, (random) => {
      const document = frozen(random.object(4))
      assert.isTrue(JsonValue.equals(document, JSON.parse(JSON.stringify(document))))
      assert.strictEqual(JsonValue.mapObject(document, (value) => value), document)
    }))
})
