import { assert, describe, it } from "@effect/vitest"
import * as Comparison from "../../../src/testing/apply/Comparison.ts"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as FieldsV1 from "../../../src/testing/apply/FieldsV1.ts"
import * as PathElement from "../../../src/testing/apply/PathElement.ts"
import * as Types from "../../../src/testing/apply/Types.ts"
import * as JsonValue from "../../../src/schema/JsonValue.ts"
import { object, type } from "../support/ApplyTypes.ts"
import { forAll, frozen } from "../support/RandomJson.ts"

const texts = (set: FieldSet.FieldSet) => FieldSet.paths(set).map(PathElement.printPath)

/** Order of associative lists says nothing; an object without fields is as good as none only where nothing is declared. */
const normal = (value: any): unknown => {
  const spec = value.spec
  if (spec === undefined) return value
  const sorted = { ...spec }
  if (spec.set !== undefined) sorted.set = [...spec.set].sort()
  if (spec.items !== undefined) {
    sorted.items = spec.items.map((item: any) =>
      item.tags === undefined ? item : { ...item, tags: [...item.tags].sort() }
    )
      .toSorted((a: any, b: any) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
  }
  return { ...value, spec: sorted }
}

describe("Comparison", () => {
  it("with nothing is every field; with itself nothing; and it turns around", () =>
    forAll(1500, (random) => {
      const [a, b] = [frozen(object(random)), frozen(object(random))]
      const same = Comparison.compare(type, a, structuredClone(a), "plain")
      assert.isTrue([same.added, same.modified, same.removed].every(FieldSet.isEmpty))
      const there = Comparison.compare(type, a, b, "plain")
      const back = Comparison.compare(type, b, a, "plain")
      assert.isTrue(FieldSet.equals(there.added, back.removed))
      assert.isTrue(FieldSet.equals(there.removed, back.added))
      assert.isTrue(FieldSet.equals(there.modified, back.modified))
      // Whatever leaf an object has and the other has not, or has otherwise, is told.
      const told = [there.added, there.modified, there.removed].reduce(FieldSet.union)
      assert.strictEqual(
        FieldSet.isEmpty(told),
        JsonValue.equals(normal(a), normal(b)),
        JSON.stringify(FieldsV1.encode(told))
      )
    }))

  it("counts what a struct writes anyway as there", () => {
    const struct = Types.make({ map: { ...type.map!, zeros: new Map([["spec", {}]]) } })
    const structs = Comparison.compare(struct, { kind: "K" }, { kind: "K", spec: { x: 1 } }, "structs")
    assert.deepStrictEqual(texts(structs.added), [".spec.x"])
    const plain = Comparison.compare(struct, { kind: "K" }, { kind: "K", spec: { x: 1 } }, "plain")
    assert.deepStrictEqual(texts(plain.added), [".spec", ".spec.x"])
  })
})
