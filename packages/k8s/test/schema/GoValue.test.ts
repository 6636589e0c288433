import { assert, it } from "@effect/vitest"
import * as GoValue from "../../src/schema/GoValue.ts"

it("prints a value as %v does", () => {
  assert.strictEqual(GoValue.print({ b: ["x", 1, null], a: { c: true } }), "map[a:map[c:true] b:[x 1 <nil>]]")
})

it("names Go's types", () => {
  assert.deepStrictEqual([null, [], {}, 1, 1.5, true, "x"].map(GoValue.typeName), [
    "nil",
    "[]interface {}",
    "map[string]interface {}",
    "int64",
    "float64",
    "bool",
    "string"
  ])
})
