import { assert, describe, it } from "@effect/vitest"
import * as WrittenNumbers from "../../src/api/WrittenNumbers.ts"

const found = (json: string) => WrittenNumbers.find(json).map(({ path, text }) => [path.join("/"), text])

describe("WrittenNumbers", () => {
  it("finds whole numbers with a point or an exponent, and where they stand", () =>
    assert.deepStrictEqual(
      found(`{"a": 1.0, "b":[1, -2.00,{"c":1e3, "d":{}},[],12e+1], "e\\"":{"f" : 0.0}, "g":[[1.0]]}`),
      [["a", "1.0"], ["b/1", "-2.00"], ["b/2/c", "1e3"], ["b/4", "12e+1"], ["e\"/f", "0.0"], ["g/0/0", "1.0"]]
    ))

  it("passes over integers, fractions, and what is in strings", () =>
    assert.deepStrictEqual(found(`{"a":1,"b":1.5,"c":"x: 1.0, [1e3]","d: 1.0":[2],"e":1e-1}`), []))

  it("remembers them beside the value", () => {
    const value = { a: 1 }
    WrittenNumbers.note(value, `{"a":1.0}`)
    assert.deepStrictEqual(WrittenNumbers.of(value), [{ path: ["a"], text: "1.0" }])
    assert.deepStrictEqual(WrittenNumbers.of({ a: 1 }), [])
    assert.deepStrictEqual(WrittenNumbers.of(1), [])
  })
})
