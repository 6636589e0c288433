import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import * as StructuralSchema from "../../src/schema/StructuralSchema.ts"

const schema: StructuralSchema.Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer" },
        set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" }
      }
    },
    status: { type: "object", properties: { ready: { type: "boolean" } } }
  }
}

const format = (errors: ReadonlyArray<FieldError.FieldError>) => errors.map(FieldError.format)

describe("validate", () => {
  it("finds faults of the schema and repeats in lists", () => {
    assert.deepStrictEqual(format(StructuralSchema.validate(schema, { spec: { set: ["a", "a"] } })), [
      "spec.size: Required value",
      "spec.set[1]: Duplicate value: \"a\""
    ])
  })

  it("repeats are forgiven while there were any before", () => {
    const bad = { spec: { size: 1, set: ["a", "a"] } }
    assert.deepStrictEqual(StructuralSchema.validate(schema, { spec: { size: 2, set: ["b", "b"] } }, bad), [])
    assert.lengthOf(StructuralSchema.validate(schema, bad, { spec: { size: 1 } }), 1)
  })
})

describe("validateStatus", () => {
  it("judges only the status, at its place", () => {
    assert.deepStrictEqual(format(StructuralSchema.validateStatus(schema, { spec: {}, status: { ready: "no" } })), [
      "status.ready: Invalid value: \"string\": ready in body must be of type boolean: \"string\""
    ])
    assert.deepStrictEqual(StructuralSchema.validateStatus(schema, { spec: {} }), [])
  })
})

describe("blocksRules", () => {
  it("rules do not run on an object whose shape is wrong", () => {
    assert.isTrue(StructuralSchema.blocksRules([FieldError.required("a", "")]))
    assert.isFalse(StructuralSchema.blocksRules([FieldError.invalid("a", 1, "odd"), FieldError.duplicate("b", 1)]))
    assert.match(
      FieldError.format(StructuralSchema.rulesNotChecked),
      /^<nil>: Invalid value: null: some validation rules/
    )
  })
})

it("a write drops, fills in, and keeps", () => {
  const withDefault = { ...schema, properties: { ...schema.properties, mode: { type: "string", default: "auto" } } }
  const object = { kind: "K", metadata: { name: "a" }, spec: { size: 1, extra: 1 }, other: 1 }
  assert.deepStrictEqual(StructuralSchema.applyDefaults(withDefault, StructuralSchema.prune(withDefault, object)), {
    kind: "K",
    metadata: { name: "a" },
    spec: { size: 1 },
    mode: "auto"
  })
})
