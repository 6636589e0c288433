import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as GoBase64 from "../../src/schema/GoBase64.ts"

const written = (text: string) => Result.merge(GoBase64.canonical(text))

describe("GoBase64", () => {
  it("writes bytes in one way", () => {
    for (const text of ["", "YWJj", "YWI=", "YQ=="]) assert.strictEqual(written(text), text)
    assert.strictEqual(written("YWJj\nZGVm\n"), "YWJjZGVm")
    assert.strictEqual(written("Y\r\nW\nI\n="), "YWI=")
    assert.strictEqual(written("YW==\n"), "YQ==")
    assert.strictEqual(written("\n"), "")
  })

  it("says where a text is none", () => {
    const cases: ReadonlyArray<readonly [text: string, at: number]> = [
      ["!!", 0],
      ["YWJj====", 4],
      ["YWJjZA", 4],
      ["YW Jj", 2],
      ["YWJjZA=", 7],
      ["YWJjZ===", 5],
      ["=", 0],
      ["YQ=", 3],
      ["YQ==YQ==", 4],
      ["YQ=x", 2]
    ]
    for (const [text, at] of cases) assert.strictEqual(written(text), `illegal base64 data at input byte ${at}`, text)
  })
})
