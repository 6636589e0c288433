import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Comparison from "../../../src/testing/apply/Comparison.ts"
import { fieldsOf } from "../../../src/testing/apply/Fields.ts"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as Merging from "../../../src/testing/apply/Merging.ts"
import * as PathElement from "../../../src/testing/apply/PathElement.ts"
import { object, type } from "../support/ApplyTypes.ts"
import { forAll, frozen } from "../support/RandomJson.ts"

const spec = (value: object) => ({ apiVersion: "g/v1", kind: "K", spec: value })
const merged = (a: unknown, b: unknown) => Result.getOrThrow(Merging.merge(type, a, b))

describe("Merging", () => {
  it("keeps the order of what is applied, and puts what was there where it stood", () => {
    const list = (...set: ReadonlyArray<string>) => spec({ set })
    const order = (a: ReadonlyArray<string>, b: ReadonlyArray<string>) =>
      (merged(list(...a), list(...b)) as any).spec.set
    assert.deepStrictEqual(order(["a", "b", "c"], ["c", "a"]), ["b", "c", "a"])
    assert.deepStrictEqual(order(["a", "b"], ["c"]), ["a", "b", "c"])
    assert.deepStrictEqual(order(["a", "b", "c", "d"], ["x", "b", "y"]), ["a", "x", "b", "c", "d", "y"])
    assert.deepStrictEqual(order([], ["b", "a"]), ["b", "a"])
  })

  it("has all fields of both, and the values of the second", () =>
    forAll(1500, (random) => {
      const [a, b] = [frozen(object(random)), frozen(object(random))]
      const both = merged(a, b)
      assert.deepStrictEqual(merged(both, b), both)
      const kept = Comparison.compare(type, both, b, "plain")
      assert.isTrue(FieldSet.isEmpty(kept.added) && FieldSet.isEmpty(kept.modified), JSON.stringify(both))
      const fields = fieldsOf(type, both)
      // Only what was a leaf because it was empty is one no more.
      const lost = FieldSet.difference(FieldSet.union(fieldsOf(type, a), fieldsOf(type, b)), fields)
      for (const path of FieldSet.paths(lost)) {
        assert.match(PathElement.printPath(path), /^\.spec(\.(open|deep|map|items|set)|$)/)
      }
    }))

  it("removes exactly the fields of a set", () =>
    forAll(1500, (random) => {
      const a = frozen(object(random))
      const fields = fieldsOf(type, a)
      const gone = FieldSet.of(...FieldSet.paths(fields).filter(() => random.chance(0.3)))
      const left = fieldsOf(type, Merging.remove(type, a, gone))
      assert.isTrue(FieldSet.isEmpty(FieldSet.intersection(left, gone)))
      assert.deepStrictEqual(Merging.remove(type, a, FieldSet.empty), a)
    }))
})
