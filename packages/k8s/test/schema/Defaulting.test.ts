import { assert, describe, it } from "@effect/vitest"
import * as Defaulting from "../../src/schema/Defaulting.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import { forAll, frozen } from "../testing/support/RandomJson.ts"

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})
const apply = (schema: Schema, value: unknown) => Defaulting.applyDefaults(schema, frozen(value))

describe("applyDefaults", () => {
  const schema = object({
    n: { type: "integer", default: 1 },
    zero: { type: "integer", default: 0 },
    inner: object({ s: { type: "string", default: "x" } }),
    made: object({ s: { type: "string", default: "y" } }, { default: {} }),
    list: { type: "array", items: object({ s: { type: "string", default: "z" } }) },
    map: { type: "object", additionalProperties: object({ s: { type: "string", default: "w" } }) }
  })

  it("fills in what is missing, also in a default, never in an object that is missing", () => {
    assert.deepStrictEqual(apply(schema, {}), { n: 1, zero: 0, made: { s: "y" } })
  })

  it("leaves what is there", () => {
    const value = { n: 2, zero: 3, inner: { s: "" }, made: { s: "q" }, list: [{ s: "r" }], map: { a: { s: "t" } } }
    assert.strictEqual(apply(schema, value), value)
  })

  it("reaches into lists and maps", () => {
    assert.deepStrictEqual(apply(schema, { n: 1, zero: 0, made: { s: "" }, inner: {}, list: [{}], map: { a: {} } }), {
      n: 1,
      zero: 0,
      made: { s: "" },
      inner: { s: "x" },
      list: [{ s: "z" }],
      map: { a: { s: "w" } }
    })
  })

  it("a null that is not allowed becomes the default, or goes", () => {
    const nulls = object({
      a: { type: "string", default: "x" },
      b: { type: "string" },
      c: { type: "string", nullable: true, default: "y" },
      l: { type: "array", items: { type: "string" } },
      d: { type: "array", items: { type: "string", default: "z" } }
    })
    assert.deepStrictEqual(apply(nulls, { a: null, b: null, c: null, l: [null], d: [null], u: null }), {
      a: "x",
      c: null,
      l: [null],
      d: ["z"],
      u: null
    })
  })

  it("default: null is none", () => {
    assert.deepStrictEqual(apply(object({ a: { type: "string", nullable: true, default: null } }), {}), {})
  })

  it("is idempotent", () =>
    forAll(300, (random) => {
      const laws = object({
        a: object({ b: { type: "string", default: "x" }, c: { type: "string" } }, { default: {} }),
        b: { type: "array", items: object({ a: { type: "integer", default: 1 } }, { nullable: true }) },
        c: { type: "object", additionalProperties: { type: "string", nullable: random.chance(0.5) } }
      })
      const once = apply(laws, random.object(4))
      assert.strictEqual(apply(laws, once), once)
    }))
})
