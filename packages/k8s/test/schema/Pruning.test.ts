import { assert, describe, it } from "@effect/vitest"
import * as JsonValue from "../../src/schema/JsonValue.ts"
import * as Pruning from "../../src/schema/Pruning.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import { forAll, frozen } from "../testing/support/RandomJson.ts"

const text: Schema = { type: "string" }
const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})
const keep: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

const spec = (schema: Schema, value: unknown) =>
  Pruning.pruneWithPaths(object({ spec: schema }), frozen({ spec: value }))

describe("prune", () => {
  it("drops what the schema does not know, and names it", () => {
    const pruned = spec(
      object({ a: text, l: { type: "array", items: object({ a: text }) } }),
      { a: "x", b: 1, l: [{ a: "x", b: 1 }, { c: 1 }] }
    )
    assert.deepStrictEqual(pruned, {
      object: { spec: { a: "x", l: [{ a: "x" }, {}] } },
      unknown: ["spec.b", "spec.l[0].b", "spec.l[1].c"]
    })
  })

  it("leaves apiVersion, kind and metadata of the object alone", () => {
    const value = { apiVersion: "v1", kind: "K", metadata: { anything: 1 } }
    assert.deepStrictEqual(Pruning.prune(object({}), frozen(value)), value)
    assert.deepStrictEqual(spec(object({}), { kind: "K" }).object, { spec: {} })
  })

  it("keeps the values of a map, pruned by their schema", () => {
    const map = { type: "object", additionalProperties: object({ a: text }) }
    assert.deepStrictEqual(spec(map, { x: { a: "y", b: 1 } }).object, { spec: { x: { a: "y" } } })
  })

  it("empties the maps in a map of anything", () => {
    const map = { type: "object", additionalProperties: true }
    assert.deepStrictEqual(spec(map, { x: { a: 1 }, y: 1 }).object, { spec: { x: {}, y: 1 } })
  })

  it("keeps everything under preserve-unknown-fields, except below a schema of its own", () => {
    const schema = { ...keep, properties: { known: object({ a: text }) } }
    const value = { other: { x: 1 }, known: { a: "x", b: 1 } }
    assert.deepStrictEqual(spec(schema, value).object, { spec: { other: { x: 1 }, known: { a: "x" } } })
  })

  it("prunes embedded objects, but not their metadata", () => {
    const schema = object({ spec: object({ a: text }) }, { "x-kubernetes-embedded-resource": true })
    const value = { apiVersion: "v1", kind: "K", metadata: { x: 1 }, spec: { a: "x", b: 1 }, status: {} }
    assert.deepStrictEqual(spec(schema, value).object, {
      spec: { apiVersion: "v1", kind: "K", metadata: { x: 1 }, spec: { a: "x" } }
    })
  })

  it("a property named like something of JavaScript's is unknown like any other", () => {
    assert.deepStrictEqual(spec(object({ a: text }), { toString: 1 }).unknown, ["spec.toString"])
  })

  it("is idempotent, and gives the same object back where nothing is unknown", () =>
    forAll(300, (random) => {
      const schema = object({
        a: object({ a: text, b: { type: "array", items: object({ c: keep }) } }),
        b: { type: "object", additionalProperties: object({ a: text }) },
        c: { ...keep, properties: { a: object({ b: text }) } }
      })
      const once = Pruning.prune(schema, frozen(random.object(4)))
      assert.strictEqual(Pruning.prune(schema, frozen(once)), once)
      assert.isTrue(JsonValue.equals(Pruning.pruneWithPaths(schema, once).unknown, []))
    }))
})
