import { assert, describe, it } from "@effect/vitest"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as Types from "../../../src/testing/apply/Types.ts"
import { forAll, type RandomJson } from "../support/RandomJson.ts"

const randomSet = (random: RandomJson): FieldSet.FieldSet =>
  FieldSet.of(
    ...Array.from(
      { length: Math.floor(random.next() * 8) },
      () => Array.from({ length: 1 + Math.floor(random.next() * 3) }, () => random.pick(["f:a", "f:b", "f:c"]))
    )
  )

const texts = (set: FieldSet.FieldSet): ReadonlyArray<string> =>
  FieldSet.paths(set).map((path) => path.join("/")).sort()

/** The laws of sets, on sets of paths. */
const model = (set: FieldSet.FieldSet) => new Set(texts(set))

describe("FieldSet", () => {
  it("does what sets of paths do", () =>
    forAll(2000, (random) => {
      const [a, b] = [randomSet(random), randomSet(random)]
      const [left, right] = [model(a), model(b)]
      assert.deepStrictEqual(model(FieldSet.union(a, b)), new Set([...left, ...right].sort()))
      assert.deepStrictEqual(texts(FieldSet.intersection(a, b)), [...left].filter((path) => right.has(path)))
      assert.deepStrictEqual(texts(FieldSet.difference(a, b)), [...left].filter((path) => !right.has(path)))
      assert.deepStrictEqual(
        texts(FieldSet.differenceBelow(a, b)),
        [...left].filter((path) => ![...right].some((above) => path === above || path.startsWith(`${above}/`)))
      )
      for (const path of ["f:a", "f:a/f:b", "f:c/f:c/f:c"]) {
        assert.strictEqual(FieldSet.has(a, path.split("/")), left.has(path))
      }
      assert.strictEqual(FieldSet.equals(a, b), [...left].join() === [...right].join())
      assert.isTrue(FieldSet.equals(FieldSet.union(a, b), FieldSet.union(b, a)))
      assert.strictEqual(FieldSet.isEmpty(FieldSet.difference(a, a)), true)
    }))

  it("a builder leaves what was grafted as it is", () => {
    const under = FieldSet.of(["f:b", "f:c"])
    const builder = new FieldSet.Builder()
    builder.graft(["f:a"], under)
    builder.add(["f:a", "f:b", "f:d"])
    builder.add(["f:a", "f:e"])
    assert.deepStrictEqual(texts(under), ["f:b/f:c"])
    assert.deepStrictEqual(texts(builder.set), ["f:a", "f:a/f:b/f:c", "f:a/f:b/f:d", "f:a/f:e"])
  })

  it("shares what does not change", () => {
    const set = FieldSet.of(["f:a", "f:b"], ["f:c"])
    assert.strictEqual(FieldSet.difference(set, FieldSet.of(["f:x"])), set)
    assert.strictEqual(FieldSet.union(set, FieldSet.empty), set)
  })

  it("knows the declared fields on the way, and no others", () => {
    const leaf: Types.Field = { type: Types.scalars.string }
    const inner = Types.make({ map: { atomic: false, fields: new Map([["x", leaf]]), element: Types.deduced } })
    const type = Types.make({
      map: { atomic: false, fields: new Map([["spec", { type: inner }]]), element: undefined }
    })
    const named = FieldSet.withNamedFields(FieldSet.of(["f:spec", "f:free", "f:y"]), type)
    assert.deepStrictEqual(texts(named), ["f:spec", "f:spec/f:free/f:y"])
  })
})
