import { assert, describe, it } from "@effect/vitest"
import * as ListOrder from "../../src/schema/ListOrder.ts"
import { forAll } from "../testing/support/RandomJson.ts"

const arrange = (merged: string, patch: string, server: string) =>
  ListOrder.arrange([...merged], [...patch], [...server], "").join("")

describe("arrange", () => {
  it("new items go to the front", () => assert.strictEqual(arrange("abcx", "x", "abc"), "xabc"))
  it("items of the patch are in its order", () => assert.strictEqual(arrange("abc", "ca", "abc"), "bca"))
  it("others stay before what they preceded", () => assert.strictEqual(arrange("abc", "c", "abc"), "abc"))

  it("objects are told apart by their key", () => {
    const item = (name: string) => ({ name, value: Math.PI })
    assert.deepStrictEqual(
      ListOrder.arrange([item("a"), item("b")], [{ name: "b" }, { name: "a" }], [item("a"), item("b")], "name"),
      [item("b"), item("a")]
    )
  })

  it("loses nothing, and keeps both orders", () =>
    forAll(300, (random) => {
      const letters = "abcdefgh"
      const server = [...letters].filter(() => random.chance(0.5)).sort(() => random.next() - 0.5)
      const patch = [...letters].filter(() => random.chance(0.5)).sort(() => random.next() - 0.5)
      const merged = [...new Set([...server, ...patch])]
      const result = ListOrder.arrange(merged, patch, server, "")
      assert.deepStrictEqual([...result].sort(), [...merged].sort())
      assert.deepStrictEqual(result.filter((item) => patch.includes(String(item))), patch)
      const serverOnly = server.filter((item) => !patch.includes(item))
      assert.deepStrictEqual(result.filter((item) => serverOnly.includes(String(item))), serverOnly)
    }))
})
