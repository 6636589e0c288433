import { assert, describe, it } from "@effect/vitest"
import { lex } from "../../src/cel/Lexer.ts"
import * as Parser from "../../src/cel/Parser.ts"
import * as Source from "../../src/cel/Source.ts"
import { forAll } from "../testing/support/RandomJson.ts"

const kinds = (text: string) => lex(Source.make(text)).tokens.map(({ kind }) => kind)
const texts = (text: string) => lex(Source.make(text)).tokens.map((token) => token.text).slice(0, -1)

describe("tokens", () => {
  it("numbers take as much as they can", () => {
    assert.deepStrictEqual(kinds("1 1u 1.5 0x1F 0x1fu 1e3 .5 1.e"), [
      "NUM_INT",
      "NUM_UINT",
      "NUM_FLOAT",
      "NUM_INT",
      "NUM_UINT",
      "NUM_FLOAT",
      "NUM_FLOAT",
      "NUM_INT",
      "'.'",
      "IDENTIFIER",
      "EOF"
    ])
  })

  it("strings of every quote, raw and of bytes", () => {
    assert.deepStrictEqual(
      texts(`'a' "b" r'\\' b'c' '''d'e''' """f"g""" rb'h' br"i"`),
      [
        "'a'",
        "\"b\"",
        "r'\\'",
        "b'c'",
        "'''d'e'''",
        "\"\"\"f\"g\"\"\"",
        "rb'h'",
        "br\"i\""
      ].flatMap((text) => text === "rb'h'" ? ["rb", "'h'"] : [text])
    )
  })

  it("comments and blanks are between tokens", () => {
    assert.deepStrictEqual(texts("a // b\n\t+ c"), ["a", "+", "c"])
  })

  it("names may be quoted", () => {
    assert.deepStrictEqual(kinds("a.`b-c`"), ["IDENTIFIER", "'.'", "ESC_IDENTIFIER", "EOF"])
  })
})

describe("any text", () => {
  const parts = [
    "a",
    "1",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "?",
    ":",
    ",",
    "+",
    "-",
    "!",
    "'x'",
    "\"",
    "'",
    "in",
    "true",
    "has",
    "all",
    "&&",
    "||",
    "==",
    "`",
    "\\",
    "\n",
    "é",
    "\u0000",
    "1.5",
    "0x",
    "u",
    "r'",
    "b"
  ]

  it("is read or refused with at least one issue", () => {
    forAll(5000, (random) => {
      const length = Math.floor(random.next() * 14)
      const text = Array.from({ length }, () => random.pick(parts)).join(random.pick(["", " "]))
      const parsed = Parser.parse(text)
      if (parsed._tag === "Refused") assert.isAbove(parsed.issues.length, 0)
    })
  })

  it("deep nesting ends before the stack does", () => {
    assert.strictEqual(Parser.parse(`${"(".repeat(5000)}1${")".repeat(5000)}`)._tag, "Refused")
    assert.strictEqual(Parser.parse(Array.from({ length: 5000 }, () => "a").join(" && "))._tag, "Expression")
  })
})
