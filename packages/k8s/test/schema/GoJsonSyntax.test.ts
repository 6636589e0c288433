import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as GoJsonSyntax from "../../src/schema/GoJsonSyntax.ts"

const fault = (text: string) => GoJsonSyntax.fault(Buffer.from(text))

/** Each as said by a kube-apiserver 1.20.2. */
const cases: ReadonlyArray<readonly [text: string, said: string]> = [
  ["nonsense", "invalid character 'o' in literal null (expecting 'u')"],
  ["{\"a\":nope}", "invalid character 'o' in literal null (expecting 'u')"],
  ["{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')"],
  ["tru\n", "invalid character '\\n' in literal true (expecting 'e')"],
  ["tru", "invalid character ' ' in literal true (expecting 'e')"],
  ["fals", "invalid character ' ' in literal false (expecting 'e')"],
  ["{\"a\":01}", "invalid character '1' after object key:value pair"],
  ["[01]", "invalid character '1' after array element"],
  ["{\"a\":1.}", "invalid character '}' after decimal point in numeric literal"],
  ["{\"a\":1e}", "invalid character '}' in exponent of numeric literal"],
  ["{\"a\":1e+}", "invalid character '}' in exponent of numeric literal"],
  ["{\"a\":-}", "invalid character '}' in numeric literal"],
  ["{\"a\":+1}", "invalid character '+' looking for beginning of value"],
  ["{\"a\":\"\\u12\"}", "invalid character '\"' in \\u hexadecimal character escape"],
  ["{\"a\":\"\\x\"}", "invalid character 'x' in string escape code"],
  ["{\"a\":\"\n\"}", "invalid character '\\n' in string literal"],
  ["{\"a\":\"\u0001\"}", "invalid character '\\x01' in string literal"],
  ["é", "invalid character 'Ã' looking for beginning of value"],
  ["\ufeff{}", "invalid character 'ï' looking for beginning of value"],
  ["'", "invalid character '\\'' looking for beginning of value"],
  ["\\", "invalid character '\\\\' looking for beginning of value"],
  ["{\"a\":1,}", "invalid character '}' looking for beginning of object key string"],
  ["{\"a\"}", "invalid character '}' after object key"],
  ["{a: 1}", "invalid character 'a' looking for beginning of object key string"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["[1}", "invalid character '}' after array element"],
  ["{} x", "invalid character 'x' after top-level value"],
  ["", "unexpected end of JSON input"],
  ["  ", "unexpected end of JSON input"],
  ["{\"a\":", "unexpected end of JSON input"],
  ["{\"a\": \"b", "unexpected end of JSON input"],
  ["[1", "unexpected end of JSON input"],
  ["-", "invalid character ' ' in numeric literal"]
]

/** Whether the platform takes the text, which it does at any depth. */
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("GoJsonSyntax", () => {
  it.each(cases)("%j: %s", (text, said) => assert.strictEqual(fault(text), said))

  it("goes down 10,000 levels and no further", () => {
    for (const [open, shut] of [["[", "]"], ["{\"a\":", "}"]] as const) {
      const nested = (depth: number) => `${open.repeat(depth)}0${shut.repeat(depth)}`
      assert.isUndefined(fault(nested(10_000)))
      assert.strictEqual(fault(nested(10_001)), `invalid character '${open[0]!}' exceeded max depth`)
    }
  })

  it("what stands side by side is on one level", () => assert.isUndefined(fault(`[${"[],{},".repeat(20_000)}0]`)))

  const parts = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"a\"",
    "\\",
    "\\u00e9",
    "\\ud800",
    "true",
    "false",
    "null",
    "0",
    "-",
    "1",
    "12",
    ".5",
    "e",
    "E+3",
    " ",
    "\n",
    "\t",
    "\f",
    "é",
    "\u2028",
    "\u0000",
    "\u007f",
    "\ufeff",
    "t",
    "nul",
    "/",
    "x"
  ] as const

  it.prop(
    "accepts what JSON.parse accepts, and nothing else",
    { pieces: Schema.Array(Schema.Literals(parts)) },
    ({ pieces }) => {
      const text = pieces.join("")
      assert.strictEqual(fault(text) === undefined, isJson(text), JSON.stringify(text))
    },
    { arbitrary: { runs: 3_000 } }
  )

  it.prop(
    "accepts every JSON text, and of its beginnings those that JSON.parse accepts",
    { value: Schema.Unknown, cut: Schema.Number, indent: Schema.Literals([0, 2]) },
    ({ cut, indent, value }) => {
      const text = JSON.stringify(value, null, indent) ?? "null"
      assert.isUndefined(fault(text))
      const start = text.slice(0, Math.abs(Math.trunc(cut || 0)) % (text.length + 1))
      assert.strictEqual(fault(start) === undefined, isJson(start), JSON.stringify(start))
    }
  )
})
