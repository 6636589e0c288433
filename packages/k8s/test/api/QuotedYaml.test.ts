import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Negotiation from "../../src/api/Negotiation.ts"
import * as QuotedYaml from "../../src/api/QuotedYaml.ts"

const read = (text: string) => Result.getOrThrow(Negotiation.decode("yaml", text))

const said = (text: string) => Result.merge(Negotiation.decode("yaml", text))

describe("QuotedYaml", () => {
  it("later lines of what is quoted need not be deeper than their key", () => {
    assert.deepStrictEqual(read("m:\n  a: \"x\n  y\"\n  b: 'x\ny\n\n  z'\n  c: d\n"), {
      m: { a: "x y", b: "x y\nz", c: "d" }
    })
    assert.deepStrictEqual(read("m:\n  a: \"x\n\ty\"\n  b: \"x\\\n  y\"\n"), { m: { a: "x y", b: "xy" } })
    assert.deepStrictEqual(read("- \"x\ny\" # \"\n- {a: \"x\ny\", b: 'c\nd'}\n- it's\n"), ["x y", {
      a: "x y",
      b: "c d"
    }, "it's"])
    assert.deepStrictEqual(read("a: |\n  \"x\nb: q \"x\nc: 'e\nf'\nd: |\n  g"), {
      a: "\"x\n",
      b: "q \"x",
      c: "e f",
      d: "g"
    })
    assert.deepStrictEqual(read("m:\r\n  a: \"x\r\n  y\"\r\n  b: \"q\"\r\n"), { m: { a: "x y", b: "q" } })
  })

  it("ends with its document", () => {
    assert.strictEqual(said("m:\n  a: \"x\n---\n  y\"\n"), "yaml: line 3: found unexpected document indicator")
    assert.strictEqual(said("m:\n  a: 'x\n... \n  y'\n"), "yaml: line 3: found unexpected document indicator")
    assert.strictEqual(said("m:\n  a: \"x\ny\n"), "yaml: line 4: found unexpected end of stream")
  })

  it("is no key of several lines", () => {
    assert.strictEqual(said("m:\n  \"a\n  b\": c\n"), "yaml: line 3: mapping values are not allowed in this context")
    assert.strictEqual(said("m:\n  a: \"x\n  y\": c\n"), "yaml: line 3: mapping values are not allowed in this context")
  })

  it("knows the escapes of YAML 1.1", () => {
    assert.deepStrictEqual(read("a: \"x\\'y\"\nb: \"\\\\/\"\nc: '\\/'\nd: \\/\n"), {
      a: "x'y",
      b: "\\/",
      c: "\\/",
      d: "\\/"
    })
    assert.strictEqual(said("a: 1\nb: \"x\\/y\"\n"), "yaml: line 2: found unknown escape character")
    assert.strictEqual(said("b: \"\\ud800\"\n"), "yaml: found invalid Unicode character escape code")
    assert.strictEqual(said("b: \"\\U00110000\"\n"), "yaml: found invalid Unicode character escape code")
    assert.strictEqual(said("b: \"\\u00zz\"\n"), "yaml: did not find expected hexdecimal number")
  })

  it("leaves what is read alike as it is", () => {
    const text = "# it's\na: &x \"b\" # c\nd: [*x, 'e', {f: g}]\nh: >-\n   \"i\n---\nj: 'k'\n"
    assert.strictEqual(QuotedYaml.readable(text), text)
  })
})
