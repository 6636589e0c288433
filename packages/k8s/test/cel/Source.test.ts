import { assert, describe, it } from "@effect/vitest"
import * as Source from "../../src/cel/Source.ts"

const format = (text: string, ...issues: ReadonlyArray<Source.Issue>) => Source.format(Source.make(text), issues)

describe("complaints", () => {
  it("show the line, with tabs as blanks, and mark the place", () => {
    assert.strictEqual(
      format("self.a &&\n\tself.b", { at: 15, message: "undefined field 'b'" }),
      "ERROR: <input>:2:6: undefined field 'b'\n |  self.b\n | .....^"
    )
  })

  it("mark wide characters by wide signs, and count code points", () => {
    assert.strictEqual(
      format("'😀é' + x", { at: 7, message: "m" }),
      "ERROR: <input>:1:8: m\n | '😀é' + x\n | .．．....^"
    )
    assert.strictEqual(format("é", { at: 0, message: "m" }), "ERROR: <input>:1:1: m\n | é\n | ＾")
  })

  it("come in the order of their places", () => {
    assert.deepStrictEqual(
      format("ab", { at: 1, message: "second" }, { at: 0, message: "first" }).match(/first|second/g),
      ["first", "second"]
    )
  })

  it("of no place show no line", () => {
    assert.strictEqual(format("a", { at: Source.nowhere, message: "m" }), "ERROR: <input>:-1:0: m")
  })

  it("are at most a hundred", () => {
    const many = Array.from({ length: 103 }, (_, at) => ({ at, message: "m" }))
    const text = format("x".repeat(200), ...many)
    assert.lengthOf(text.match(/ERROR/g)!, 100)
    assert.match(text, /\n3 more errors were truncated$/)
  })
})
