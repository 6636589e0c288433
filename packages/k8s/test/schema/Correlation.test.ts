import { assert, describe, it } from "@effect/vitest"
import * as Correlation from "../../src/schema/Correlation.ts"
import type { Schema } from "../../src/schema/Schema.ts"

const number: Schema = { type: "integer" }
const entry: Schema = { type: "object", properties: { k: { type: "string" }, v: number } }
const byKey: Schema = {
  type: "array",
  items: entry,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["k"]
}
const set: Schema = { type: "array", items: number, "x-kubernetes-list-type": "set" }
const schema: Schema = {
  type: "object",
  properties: {
    byKey,
    set,
    plain: { type: "array", items: number },
    m: { type: "object", additionalProperties: number }
  }
}

const between = (value: object, old: object): Correlation.Correlation => ({ value, old, schema })

describe("correlation", () => {
  it("finds properties and entries by key", () => {
    const root = between({ m: { a: 1, b: 2 }, set: [1] }, { m: { a: 3 } })
    const map = Correlation.child(root, "m")
    assert.deepInclude(Correlation.child(map, "a"), { value: 1, old: 3 })
    assert.isUndefined(Correlation.child(map, "b"))
    assert.isUndefined(Correlation.child(root, "set"))
    assert.isUndefined(Correlation.child(undefined, "m"))
  })

  it("finds items of lists of type map by their keys, others not", () => {
    const root = between(
      { byKey: [{ k: "a", v: 1 }, { k: "b", v: 2 }], set: [1], plain: [1] },
      { byKey: [{ k: "b", v: 3 }], set: [1], plain: [1] }
    )
    const list = Correlation.child(root, "byKey")
    assert.isUndefined(Correlation.item(list, 0))
    assert.deepInclude(Correlation.item(list, 1), { old: { k: "b", v: 3 } })
    assert.isUndefined(Correlation.item(Correlation.child(root, "set"), 0))
    assert.isUndefined(Correlation.item(Correlation.child(root, "plain"), 0))
  })
})

describe("unchanged", () => {
  it("means equal, but for the order of lists of type map", () => {
    const a = { k: "a", v: 1 }
    const b = { k: "b", v: 2 }
    assert.isTrue(Correlation.unchanged(between({ byKey: [a, b] }, { byKey: [b, a] })))
    assert.isFalse(Correlation.unchanged(between({ byKey: [a, b] }, { byKey: [a] })))
    assert.isFalse(Correlation.unchanged(between({ byKey: [{ ...a, k: null }] }, { byKey: [{ ...a, k: null }] })))
    assert.isFalse(Correlation.unchanged(between({ byKey: [a, { ...b, v: 3 }] }, { byKey: [b, a] })))
    assert.isFalse(Correlation.unchanged(between({ set: [1, 2] }, { set: [2, 1] })))
    assert.isTrue(Correlation.unchanged(between({ m: { a: 1, b: 2 } }, { m: { b: 2, a: 1 } })))
    assert.isFalse(Correlation.unchanged(between({ m: { a: 1 } }, { m: { b: 1 } })))
    assert.isFalse(Correlation.unchanged(between({ m: { a: 1 } }, {})))
  })
})
