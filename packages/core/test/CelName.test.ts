import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CelName } from "../src/index.ts"

describe("field names", () => {
  for (
    const [plain, escaped] of [
      ["a", "a"],
      ["a.b", "a__dot__b"],
      ["a-b", "a__dash__b"],
      ["a/b", "a__slash__b"],
      ["a__b", "a__underscores__b"],
      ["a___b", "a__underscores___b"],
      ["namespace", "__namespace__"],
      ["in", "__in__"],
      ["while", "__while__"],
      ["_", "_"],
      ["int", "int"],
      ["9a", undefined],
      ["", undefined],
      ["a b", undefined],
      ["é", undefined],
      ["-a", undefined]
    ] as const
  ) {
    it(`${JSON.stringify(plain)} is ${escaped ?? "not seen"}`, () => {
      assert.strictEqual(CelName.escape(plain), escaped)
      if (escaped !== undefined) assert.strictEqual(CelName.unescape(escaped), plain)
    })
  }

  it.prop(
    "an escaped name can be unescaped",
    [
      Schema.Array(Schema.Literals(["a", "_", "__", ".", "-", "/", "dot", "in", "9"])).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(8)
      )
    ],
    ([parts]) => {
      const name = parts.join("")
      const escaped = CelName.escape(name)
      if (escaped === undefined) return assert.match(name, /^[^a-zA-Z_]/)
      assert.match(escaped, /^[a-zA-Z0-9_]+$/)
      assert.strictEqual(CelName.unescape(escaped), name)
    },
    { arbitrary: { runs: 2000 } }
  )

  it("an escape sequence that was not produced by escaping is left alone", () => {
    assert.isUndefined(CelName.unescape("a__in__"))
    assert.isUndefined(CelName.unescape("a__dots__b"))
  })
})
