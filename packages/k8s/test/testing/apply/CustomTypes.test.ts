import { assert, describe, it } from "@effect/vitest"
import * as CustomTypes from "../../../src/testing/apply/CustomTypes.ts"
import * as Types from "../../../src/testing/apply/Types.ts"

const of = (spec: object) =>
  CustomTypes.ofSchema({ type: "object", properties: { spec } }).map!.fields.get("spec")!.type

describe("CustomTypes", () => {
  it("are objects with the metadata of Kubernetes", () => {
    const { map } = CustomTypes.ofSchema({ type: "object" })
    assert.deepStrictEqual(map!.fields.get("metadata")!.type.map!.fields.get("ownerReferences")!.type.list!.keys, [
      "uid"
    ])
    assert.strictEqual(map!.fields.get("kind")!.type, Types.scalars.string)
    assert.isUndefined(map!.element)
  })

  it("lists are atomic unless they say otherwise; keys may have defaults", () => {
    const items = { type: "object", properties: { name: { type: "string", default: "x" } } }
    assert.isFalse(of({ type: "array", items }).list!.associative)
    assert.isTrue(of({ type: "array", items, "x-kubernetes-list-type": "set" }).list!.associative)
    const map = of({ type: "array", items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
    assert.deepStrictEqual(map.list!.keys, ["name"])
    assert.strictEqual(map.list!.element.map!.fields.get("name")!.default, "x")
  })

  it("objects take undeclared fields only where the schema lets them, and below", () => {
    const closed = { type: "object", properties: { a: { type: "object", properties: { b: { type: "string" } } } } }
    assert.isUndefined(of(closed).map!.element)
    const open = of({ ...closed, "x-kubernetes-preserve-unknown-fields": true })
    assert.strictEqual(open.map!.element, Types.deduced)
    assert.strictEqual(open.map!.fields.get("a")!.type.map!.element, Types.deduced)
    assert.strictEqual(of({ type: "object" }).map!.element, Types.deduced)
    assert.strictEqual(
      of({ type: "object", additionalProperties: { type: "integer" } }).map!.element,
      Types.scalars.numeric
    )
  })

  it("any scalar fits an int-or-string, and everything a field without type", () => {
    assert.strictEqual(of({ "x-kubernetes-int-or-string": true }).scalar, "untyped")
    const free = of({ "x-kubernetes-preserve-unknown-fields": true })
    assert.isTrue(free.scalar === "untyped" && free.list?.associative === false && free.map?.atomic === false)
    assert.strictEqual(Types.deduce(free, "x"), free.only.scalar)
    assert.strictEqual(Types.deduce(free, null), free)
  })
})
