import { assert, describe, it } from "@effect/vitest"
import * as GoYamlText from "../../src/api/GoYamlText.ts"
import * as Negotiation from "../../src/api/Negotiation.ts"
import * as Result from "effect/Result"

const text = (value: string): string => GoYamlText.encode({ a: value }).slice(3, -1)

describe("GoYamlText", () => {
  it("writes texts plain, quoted twice where they would be something else, or once where they have signs of YAML", () => {
    const cases: ReadonlyArray<readonly [value: string, written: string]> = [
      ["x y", "x y"],
      [".", "."],
      ["e3", "e3"],
      ["1.5.2", "1.5.2"],
      ["<<", "<<"],
      ["--", "--"],
      [":a", ":a"],
      ["", `""`],
      ["true", `"true"`],
      ["y", `"y"`],
      ["0o17", `"0o17"`],
      ["1:30", `"1:30"`],
      ["2020-01-01", `"2020-01-01"`],
      ["a: b", "'a: b'"],
      ["a:", "'a:'"],
      ["- a", "'- a'"],
      ["it's #1 ", "'it''s #1 '"],
      ["'", "''''"],
      [",", "','"],
      ["---", "'---'"],
      ["a\tb", `"a\\tb"`],
      ["🙂", `"\\U0001F642"`]
    ]
    for (const [value, written] of cases) assert.strictEqual(text(value), written)
  })

  it("writes several lines as a block, unless spaces would be lost", () => {
    assert.strictEqual(text("a\nb"), "|-\n  a\n  b")
    assert.strictEqual(text("a\n\nb\n"), "|\n  a\n\n  b")
    assert.strictEqual(text("a\n\n"), "|+\n  a\n")
    assert.strictEqual(text("\na"), "|2-\n\n  a")
    assert.strictEqual(text("a \nb"), `"a \\nb"`)
  })

  it("breaks long texts at single spaces", () => {
    const long = "x ".repeat(50)
    assert.strictEqual(text(`${long}y`), `${"x ".repeat(39)}x\n  ${"x ".repeat(10)}y`)
    assert.strictEqual(text(long), `'${"x ".repeat(38)}x\n  ${"x ".repeat(11)}'`)
    assert.strictEqual(text("x".repeat(200)), "x".repeat(200))
  })

  it("writes lists no deeper than their key, keys in natural order, and long ones as questions", () => {
    const value = { b: { c: [{ d: 1, e: [] }, [1.5, null]] }, a10: {}, a2: [], A: true }
    assert.strictEqual(
      GoYamlText.encode(value),
      "A: true\na2: []\na10: {}\nb:\n  c:\n  - d: 1\n    e: []\n  - - 1.5\n    - null\n"
    )
    const key = "k".repeat(129)
    assert.strictEqual(GoYamlText.encode({ a: { [key]: "v" } }), `a:\n  ? ${key}\n  : v\n`)
    assert.strictEqual(
      GoYamlText.encode({ l: [1e21, 1234567.5, 0.00001, -3] }),
      "l:\n- 1e+21\n- 1.2345675e+06\n- 1e-05\n- -3\n"
    )
  })

  it("is read as what was written", () => {
    const parts = [" ", "a", "1", "0", ".", "-", ":", "#", "\n", "'", "\"", "\\", "{", "é", "\t", "?", "~", "🙂", "\r"]
    const texts = Array.from(
      { length: 400 },
      (_, seed) =>
        Array.from({ length: seed % 23 }, (_, at) => parts[(seed * 7919 + at * at * 31 + seed * at) % parts.length]!)
          .join("")
    )
    const value = { texts, keys: Object.fromEntries(texts.map((key) => [key, 1])) }
    assert.deepStrictEqual(Result.getOrThrow(Negotiation.decode("yaml", GoYamlText.encode(value))), value)
  })
})
