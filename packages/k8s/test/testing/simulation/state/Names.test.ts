import { assert, describe, it } from "@effect/vitest"
import { common, differing } from "../../../../src/testing/simulation/state/Names.ts"

const uuids = [
  "1bba7b14-6e2f-4c3d-8a01-0123456789ab",
  "c7eaa092-a8c4-4f00-9b77-ba9876543210",
  "0e0e0e0e-1111-4222-8333-444444444444"
]

/** The mask of two runs in which an operator gave these names. */
const mask = (a: string, b: string) => new Set(differing([`Pod default/${a}`], [`Pod default/${b}`]))

describe("Names", () => {
  it("a hash, a UUID and the beginning of a UUID are random parts of names", () => {
    for (
      const [before, [one, other, third], after, any] of [
        ["web-", ["7d9f8", "c2b41", "0aa1f"], "-x", "…"],
        ["web-", uuids, "", "…-…"],
        ["web-", uuids, "-end", "…-…"],
        ["web-", uuids.map((text) => text.slice(0, 10)), "", "…-…"],
        ["web-", uuids.map((text) => text.slice(0, 16)), "", "…-…"],
        // A number at the end of a name is written so.
        ["web-", ["1bba7b14-#", "c7eaa092-a", "0e0e0e0e-#"], "", "…-…"]
      ] as const
    ) {
      const name = `Pod default/${before}${any}${after}`
      const found = mask(`${before}${one!}${after}`, `${before}${other!}${after}`)
      assert.deepStrictEqual([...found], [`name ${name}`])
      assert.strictEqual(common(found)!(`Pod default/${before}${third!}${after}`), name)
    }
  })

  it("where a UUID is cut at a number in some names and at a letter in others, all of them have one name", () => {
    const found = new Set([...mask("web-1bba7b14-#", "web-0e0e0e0e-#"), ...mask("web-1bba7b14-#", "web-c7eaa092-a")])
    for (const name of ["web-aaaaaaaa-#", "web-bbbbbbbb-b"]) {
      assert.strictEqual(common(found)!(`Pod default/${name}`), "Pod default/web-…-…")
    }
    assert.isUndefined(common(found)!("Pod default/web-blue"))
  })

  it("other names that differ are different", () => {
    for (
      const [one, other] of [
        ["web-blue-1", "web-green-2"],
        ["web-a", "web-b"],
        ["web-1bba7b14-blue", "web-c7eaa092-green"],
        // Neither is as long as the parts of a UUID.
        ["web-1bba7b1-6", "web-c7eaa09-a"]
      ] as const
    ) assert.deepStrictEqual([...mask(one, other)], [], one)
  })
})
