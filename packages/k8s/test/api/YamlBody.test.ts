import { assert, describe, it } from "@effect/vitest"
import * as YamlBody from "../../src/api/YamlBody.ts"

describe("YamlBody", () => {
  it("reads YAML and JSON, and says which keys occur twice and where", () => {
    assert.deepStrictEqual(YamlBody.parse("a: 1\nb: {c: x}\n"), { value: { a: 1, b: { c: "x" } }, repeated: [] })
    assert.deepStrictEqual(YamlBody.parse(`{"a":1,"a":2}`), {
      value: { a: 2 },
      repeated: [`line 1: key "a" already set in map`]
    })
    assert.deepStrictEqual(YamlBody.parse("m:\n  k: v\n  k: w\nday: 2020-01-01\n"), {
      value: { m: { k: "w" }, day: "2020-01-01" },
      repeated: [`line 3: key "k" already set in map`]
    })
    assert.deepStrictEqual(YamlBody.parse(""), { value: undefined, repeated: [] })
  })

  it("reads the first document", () => {
    for (const text of ["a: 1\n---\nb: 2\n", "---\na: 1\n---\n", "a: 1\n---\n[1\n"]) {
      assert.deepStrictEqual(YamlBody.parse(text), { value: { a: 1 }, repeated: [] })
    }
    assert.property(YamlBody.parse("a: [1"), "error")
  })

  it("says where the repeated values are, inner ones first", () => {
    const text = "a: 1\nm:\n  k: v\nm:\n  k: {x: 1, x: 2}\n  k: w\na:\n  2\n"
    assert.deepStrictEqual(YamlBody.parse(text), {
      value: { a: 2, m: { k: "w" } },
      repeated: [
        `line 5: key "x" already set in map`,
        `line 6: key "k" already set in map`,
        `line 5: key "m" already set in map`,
        `line 8: key "a" already set in map`
      ]
    })
  })
  it("says what is wrong in the words of Go's reader", () => {
    const said = (text: string) => YamlBody.parse(text)
    const error = (words: string) => ({ error: `error converting YAML to JSON: yaml: ${words}` })
    assert.deepStrictEqual(said("x: 1\na: [b\n"), error("line 2: did not find expected ',' or ']'"))
    assert.deepStrictEqual(said("a: *b\n"), error("unknown anchor 'b' referenced"))
    assert.deepStrictEqual(said("x: 1\na: b: c\n"), error("line 2: mapping values are not allowed in this context"))
    for (const char of ["\u0001", "\u007f", "\u0080", "\u009f", "\ufffe", "\uffff"]) {
      assert.deepStrictEqual(said(`{"a":"${char}"}`), error("control characters are not allowed"))
    }
  })
  it("takes a Next Line for the line break that it is in YAML 1.1, and what is escaped for what it is", () => {
    assert.deepStrictEqual(YamlBody.parse(`{"a":"b\u0085c"}`), { value: { a: "b c" }, repeated: [] })
    assert.deepStrictEqual(YamlBody.parse(`{"a":"b\\u0085\\u007f\\ufeffc"}`), {
      value: { a: "b\u0085\u007f\ufeffc" },
      repeated: []
    })
  })
  it("has the keys in order, as what is read goes through a map", () => {
    const { value } = YamlBody.parse("z: 1\na:\n- d: 1\n  c: 2\n") as { readonly value: unknown }
    assert.strictEqual(JSON.stringify(value), `{"a":[{"c":2,"d":1}],"z":1}`)
  })
  it("comes to the end of a large body on one line, and of one after many blank lines", () => {
    // In a time that grows with the square of the length it would take longer than any test may.
    const large = Object.fromEntries(Array.from({ length: 24_000 }, (_, at) => [`key-${100_000 + at}`, "\ud83d\ude00"]))
    const line = JSON.stringify(large)
    const escaped = line.replaceAll("\ud83d\ude00", "\\ud83d\\ude00")
    assert.deepStrictEqual(YamlBody.parse(`${line}\n`), { value: large, repeated: [] })
    assert.deepStrictEqual(YamlBody.parse(`${"\n".repeat(100)}a: 1\n`), { value: { a: 1 }, repeated: [] })
    assert.property(YamlBody.parse(`${escaped}\n`), "error")
  })
})
