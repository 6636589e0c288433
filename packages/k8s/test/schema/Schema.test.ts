import { assert, it } from "@effect/vitest"
import * as Schema from "../../src/schema/Schema.ts"

it("only own properties are properties", () => {
  const schema: Schema.Schema = { type: "object", properties: { a: { type: "string" } } }
  assert.deepStrictEqual(Schema.property(schema, "a"), { type: "string" })
  assert.isUndefined(Schema.property(schema, "constructor"))
})

it("a default of null is none; other falsy ones are defaults", () => {
  assert.deepStrictEqual([undefined, null, false, 0, ""].map((value) => Schema.hasDefault({ default: value })), [
    false,
    false,
    true,
    true,
    true
  ])
})

it("paths", () => {
  assert.strictEqual(Schema.childPath("", "spec"), "spec")
  assert.strictEqual(Schema.childPath("spec", "a"), "spec.a")
  assert.strictEqual(Schema.keyPath("spec", "a/b"), "spec[a/b]")
})
