import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as JsonValue from "../../../src/schema/JsonValue.ts"
import * as MergePatch from "../../../src/api/patch/MergePatch.ts"
import * as StrategicMergePatch from "../../../src/api/patch/StrategicMergePatch.ts"
import { forAll, frozen } from "../../testing/support/RandomJson.ts"

describe("apply", () => {
  // RFC 7386, appendix A, except for the two cases in which a patch that is no object meets a null.
  const cases: ReadonlyArray<readonly [unknown, unknown, unknown]> = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }]
  ]
  for (const [target, patch, result] of cases) {
    it(`${JSON.stringify(target)} + ${JSON.stringify(patch)}`, () =>
      assert.deepStrictEqual(MergePatch.apply(frozen(target), frozen(patch)), result))
  }

  it("drops nulls from new objects in arrays, but keeps nulls that are items", () => {
    assert.deepStrictEqual(MergePatch.apply({}, { l: [{ a: null, b: 1 }, null] }), { l: [{ b: 1 }, null] })
  })

  it("keeps an array that replaces an object as it is", () => {
    assert.deepStrictEqual(MergePatch.apply({ l: {} }, { l: [{ a: null }] }), { l: [{ a: null }] })
  })

  it("gives the same object back where nothing changes", () => {
    const target = { a: { b: 1 } }
    assert.strictEqual(MergePatch.apply(target, { a: { b: 1 }, c: null }), target)
  })
})

describe("diff", () => {
  it("is the smallest patch", () => {
    assert.deepStrictEqual(
      MergePatch.diff({ a: 1, b: { c: 1, d: 2 }, e: [1], f: 1 }, { a: 1, b: { c: 1, d: 3 }, e: [2] }),
      { f: null, b: { d: 3 }, e: [2] }
    )
  })

  it("leads from one document to the other", () =>
    forAll(500, (random) => {
      const from = frozen(random.object(4))
      const to = frozen(random.object(4, false))
      const patch = frozen(MergePatch.diff(from, to))
      assert.isTrue(JsonValue.equals(MergePatch.apply(from, patch), to), JSON.stringify({ from, to, patch }))
    }))

  it("of equal documents is empty", () =>
    forAll(100, (random) => {
      const document = random.object(4)
      assert.deepStrictEqual(MergePatch.diff(document, JSON.parse(JSON.stringify(document))), {})
    }))
})

it("very many keys are merged into very many, by a strategic merge, too", () => {
  // Each copied for each of the others, they would take longer than any test may.
  const labels = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`${prefix}${at}`, `${at}`]))
  const [old, more] = [labels("old-"), labels("new-")]
  assert.deepStrictEqual(MergePatch.apply({ labels: old }, { labels: more }), { labels: { ...old, ...more } })
  const merged = StrategicMergePatch.apply(
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    { labels: old },
    { labels: more }
  )
  assert.deepStrictEqual(Result.getOrUndefined(merged), { labels: { ...old, ...more } })
})
