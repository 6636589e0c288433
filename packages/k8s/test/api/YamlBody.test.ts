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

  it("refuses what is no single document", () => {
    assert.property(YamlBody.parse("a: [1"), "error")
    assert.property(YamlBody.parse("a: 1\n---\nb: 2\n"), "error")
  })
})
