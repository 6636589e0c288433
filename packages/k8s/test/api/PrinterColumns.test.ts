import { assert, describe, it } from "@effect/vitest"
import * as PrinterColumns from "../../src/api/PrinterColumns.ts"

const object: any = {
  metadata: { name: "x" },
  spec: { s: "text", n: null, i: 7, f: 1.5, tiny: 0.00001, b: true, l: ["<a>", 1], t: "2020-01-01T00:00:00.5+01:00" }
}
const now = Date.parse("2020-01-01T01:00:00Z")

/** What a column of each type shows of a path, as a real server does. */
const shown = (jsonPath: string) =>
  ["string", "integer", "number", "boolean", "date"].map((type) =>
    PrinterColumns.custom([{ name: "C", type, jsonPath }])[1]!.value(object, now)
  )

describe("a column", () => {
  it.each<[string, ReadonlyArray<unknown>]>([
    [".spec.s", ["text", null, null, null, "<invalid>"]],
    [".spec.n", ["<no value>", null, null, null, null]],
    [".spec.none", [null, null, null, null, null]],
    [".spec.i", ["7", 7, 7, null, null]],
    [".spec.f", ["1.5", 1, 1.5, null, null]],
    [".spec.tiny", ["1e-05", 0, 0.00001, null, null]],
    [".spec.b", ["true", null, null, true, null]],
    [".spec.l", ["[\"\\u003ca\\u003e\",1]", null, null, null, null]],
    [".spec.t", ["2020-01-01T00:00:00.5+01:00", null, null, null, "119m"]]
  ])("of %s", (path, expected) => assert.deepStrictEqual(shown(path), expected))
})

describe("ages", () => {
  it.each<[number, string]>([
    [5, "5s"],
    [119, "119s"],
    [120, "2m"],
    [200, "3m20s"],
    [660, "11m"],
    [3 * 3600, "3h"],
    [3 * 3600 + 60, "3h1m"],
    [9 * 3600, "9h"],
    [50 * 3600, "2d2h"],
    [10 * 86400, "10d"],
    [800 * 86400, "2y70d"]
  ])(
    "%d seconds are %s",
    (seconds, expected) => assert.strictEqual(PrinterColumns.age("1970-01-01T00:00:00Z", seconds * 1000), expected)
  )
})
