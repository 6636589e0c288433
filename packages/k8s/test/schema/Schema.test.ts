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

it("what is nowhere in a schema need not be looked for", () => {
  const embedded: Schema.Schema = { type: "object", "x-kubernetes-embedded-resource": true }
  const set: Schema.Schema = { type: "array", "x-kubernetes-list-type": "set" }
  const around = (part: Schema.Schema): ReadonlyArray<Schema.Schema> => [
    part,
    { type: "object", properties: { a: { type: "string" }, b: { type: "array", items: part } } },
    { type: "object", additionalProperties: part }
  ]
  assert.deepStrictEqual(around(embedded).map(Schema.embeds), [true, true, true])
  assert.deepStrictEqual(around(set).map(Schema.embeds), [false, false, false])
  assert.deepStrictEqual(around(set).map(Schema.hasDistinctItems), [true, true, true])
  assert.deepStrictEqual(around({ ...set, "x-kubernetes-list-type": "atomic" }).map(Schema.hasDistinctItems), [
    false,
    false,
    false
  ])
})

it("a part is settled for the schema it was read by, and while it cannot change", () => {
  const spec: Schema.Schema = { type: "object", properties: { a: { type: "string" } } }
  const schema: Schema.Schema = { type: "object", properties: { spec, metadata: {}, loose: spec } }
  const object = { spec: Object.freeze({ a: "b" }), metadata: Object.freeze({}), loose: { a: "b" }, more: 1 }
  Schema.settle(schema, object)
  assert.isTrue(Schema.isSettled(spec, object.spec))
  assert.isFalse(Schema.isSettled({ ...spec }, object.spec))
  assert.isFalse(Schema.isSettled(undefined, object.spec))
  assert.isFalse(Schema.isSettled(schema.properties!["metadata"], object.metadata))
  assert.isFalse(Schema.isSettled(spec, object.loose))
})
