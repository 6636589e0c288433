import { assert, describe, it } from "@effect/vitest"
import * as Checking from "../../../src/testing/apply/Checking.ts"
import * as Problems from "../../../src/testing/apply/Problems.ts"
import { type } from "../support/ApplyTypes.ts"

const spec = (value: object) => ({ apiVersion: "g/v1", kind: "K", spec: value })
const problems = (value: object) => Checking.problems(type, spec(value), "refused")

describe("Checking", () => {
  it("says what does not fit, and where", () => {
    assert.deepStrictEqual(problems({ x: 1, set: ["a"], items: [{ name: "a" }, { name: "a", port: 2 }] }), [])
    assert.deepStrictEqual(problems({ x: "1" }), [".spec.x: expected numeric (int or float), got string"])
    assert.deepStrictEqual(problems({ map: { k: true } }), [
      ".spec.map.k: expected string, got &value.valueUnstructured{Value:true}"
    ])
    assert.deepStrictEqual(problems({ items: [{ name: "a" }, { name: "a", port: 1 }] }), [
      `.spec.items: duplicate entries for key [name="a",port=1]`
    ])
    assert.deepStrictEqual(problems({ unknown: 1 }), [".spec.unknown: field not declared in schema"])
    assert.deepStrictEqual(problems({ set: [{}] }), [
      ".spec.set: element 0: associative list without keys has an element that's a map type"
    ])
    assert.deepStrictEqual(problems({ items: [null] }), [
      ".spec.items: element 0: associative list with keys may not have a null element"
    ])
    assert.deepStrictEqual(problems({ mixed: 5, open: { any: [{}] }, whole: null }), [])
    assert.strictEqual(Problems.message(["a", "b"]), "errors:\n  a\n  b")
  })

  it("lets stored lists repeat items", () => {
    assert.deepStrictEqual(Checking.problems(type, spec({ set: ["a", "a"] }), "allowed"), [])
  })
})
