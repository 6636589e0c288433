import { assert, describe, it } from "@effect/vitest"
import { unquote } from "../../src/cel/Literals.ts"
import { forAll } from "../testing/support/RandomJson.ts"

const valueOf = (text: string) => {
  const made = unquote(text)
  return "value" in made ? made.value : "fault"
}

describe("literals", () => {
  it("escapes", () => {
    assert.strictEqual(valueOf(String.raw`'\a\b\f\n\r\t\v\\\'\"\?'`), "\x07\b\f\n\r\t\v\\'\"?")
    assert.strictEqual(valueOf(String.raw`"\x41\u00e9\U0001F600\101"`), "Aé😀A")
    assert.strictEqual(valueOf(String.raw`r'\n'`), "\\n")
    assert.strictEqual(valueOf("'''a'b\nc'''"), "a'b\nc")
  })

  it("bytes are the bytes of the text, or those that are written", () => {
    assert.deepStrictEqual(valueOf("b'é'"), Uint8Array.of(0xc3, 0xa9))
    assert.deepStrictEqual(valueOf(String.raw`b'\xff\377'`), Uint8Array.of(0xff, 0xff))
  })

  it("no surrogates, nothing beyond Unicode", () => {
    assert.strictEqual(valueOf(String.raw`'\ud800'`), "fault")
    assert.strictEqual(valueOf(String.raw`'\U00110000'`), "fault")
  })

  it("JSON strings are literals of themselves", () => {
    forAll(1000, (random) => {
      const length = Math.floor(random.next() * 6)
      const text = Array.from({ length }, () => random.pick(["a", "\"", "\\", "\n", "é", "😀", "\u0007", "'"])).join("")
      assert.strictEqual(valueOf(JSON.stringify(text)), text)
    })
  })
})
