import { assert, describe, it } from "@effect/vitest"
import * as CustomTypes from "../../../src/testing/apply/CustomTypes.ts"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as SchemaChanges from "../../../src/testing/apply/SchemaChanges.ts"

const typeWith = (spec: object) => CustomTypes.ofSchema({ type: "object", properties: { spec } })
const map = { type: "object", additionalProperties: { type: "string" } }

describe("SchemaChanges", () => {
  const parts = FieldSet.of(["f:spec", "f:a"], ["f:spec", "f:b"])

  it("parts of what became atomic are the whole", () => {
    const whole = SchemaChanges.reconcile(typeWith({ ...map, "x-kubernetes-map-type": "atomic" }), parts)
    assert.deepStrictEqual(FieldSet.paths(whole), [["f:spec"]])
    const items = FieldSet.of(["f:spec"], ["f:spec", `v:"a"`])
    const list = SchemaChanges.reconcile(typeWith({ type: "array", items: { type: "string" } }), items)
    assert.deepStrictEqual(FieldSet.paths(list), [["f:spec"]])
  })

  it("what fits stays the same set; the whole of what became granular stays the whole", () => {
    assert.strictEqual(SchemaChanges.reconcile(typeWith(map), parts), parts)
    const whole = FieldSet.of(["f:spec"])
    assert.strictEqual(SchemaChanges.reconcile(typeWith(map), whole), whole)
    const free = typeWith({ type: "object", "x-kubernetes-preserve-unknown-fields": true })
    assert.strictEqual(SchemaChanges.reconcile(free, parts), parts)
  })
})
