import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import * as ListTypes from "../../src/schema/ListTypes.ts"
import type { Schema } from "../../src/schema/Schema.ts"

const list = (items: Schema, type: string, keys: ReadonlyArray<string> = []): Schema => ({
  type: "object",
  properties: { l: { type: "array", items, "x-kubernetes-list-type": type, "x-kubernetes-list-map-keys": keys } }
})
const errors = (schema: Schema, l: unknown) => ListTypes.validate(schema, { l }).map(FieldError.format)

describe("sets", () => {
  const set = list({ type: "string" }, "set")
  it("have no value twice; each repeat is told once", () => {
    assert.deepStrictEqual(errors(set, ["a", "b", "a", "a"]), ["l[2]: Duplicate value: \"a\""])
    assert.deepStrictEqual(errors(set, ["1", 1]), [])
  })
  it("of objects compare contents", () => {
    assert.deepStrictEqual(errors(set, [{ a: 1, b: 2 }, { b: 2, a: 1 }]), ["l[1]: Duplicate value: {\"a\":1,\"b\":2}"])
  })
})

describe("maps", () => {
  const map = list({ type: "object" }, "map", ["a", "b"])
  it("have no keys twice; only the keys are told", () => {
    assert.deepStrictEqual(errors(map, [{ a: 1, b: 2, c: 3 }, { a: 1, b: 2 }, { a: 1 }]), [
      "l[1]: Duplicate value: {\"a\":1,\"b\":2}"
    ])
  })
  it("hold objects", () => {
    assert.deepStrictEqual(errors(map, ["x"]), [
      "l[0]: Invalid value: \"x\": must be an object for an array of list-type map"
    ])
  })
})

it("lists inside maps and lists are found", () => {
  const set: Schema = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" }
  const schema: Schema = { type: "object", additionalProperties: { type: "array", items: set } }
  assert.deepStrictEqual(
    ListTypes.validate({ type: "object", properties: { spec: schema } }, { spec: { m: [["a", "a"]] } }).map(
      FieldError.format
    ),
    ["spec[m][0][1]: Duplicate value: \"a\""]
  )
})
