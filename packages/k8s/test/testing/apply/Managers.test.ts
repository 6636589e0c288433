import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as Managers from "../../../src/testing/apply/Managers.ts"

const entry = (manager: string, operation: string, fields: object, more: object = {}) => ({
  manager,
  operation,
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: fields,
  ...more
})

const read = (...entries: ReadonlyArray<object>) => Managers.decode(entries)
const managersOf = (...entries: ReadonlyArray<object>) => Result.getOrThrow(read(...entries))

describe("Managers", () => {
  it("reads what it wrote, in the order of the server", () => {
    const sorted = [
      entry("b", "Apply", { "f:a": {} }),
      entry("a", "Apply", { "f:a": {} }, { time: "2020-01-01T00:00:00Z" }),
      entry("b", "Update", { "f:a": {} }, { time: "2020-01-01T00:00:00Z" }),
      entry("b", "Update", { "f:b": {} }, { time: "2020-01-01T00:00:00Z", subresource: "status" }),
      entry("a", "Update", { "f:c": {} }, { time: "2020-01-02T00:00:00Z" })
    ]
    const written = Managers.encode(managersOf(...sorted.toReversed()))!
    assert.deepStrictEqual(written, sorted)
    assert.isTrue(Object.isFrozen(written))
    assert.deepStrictEqual(Object.keys(written[3]!), [
      "manager",
      "operation",
      "apiVersion",
      "time",
      "fieldsType",
      "fieldsV1",
      "subresource"
    ])
    assert.isUndefined(Managers.encode(Managers.none))
  })

  it("tells applies apart by manager and subresource, updates by version too", () => {
    const twice = managersOf(
      entry("a", "Apply", { "f:a": {} }),
      entry("a", "Apply", { "f:b": {} }, { apiVersion: "v2" }),
      entry("a", "Update", { "f:a": {} }),
      entry("a", "Update", { "f:b": {} }, { apiVersion: "v2" }),
      entry("a", "Apply", { "f:c": {} }, { subresource: "scale" })
    )
    assert.strictEqual(twice.size, 4)
  })

  it("refuses what is no entry", () => {
    const why = (more: object) => Result.getOrThrow(Result.flip(read(entry("a", "Apply", { "f:a": {} }, more))))
    assert.strictEqual(why({ operation: "Take" }), "operation must be `Apply` or `Update`")
    assert.strictEqual(why({ apiVersion: "" }), "apiVersion must not be empty")
    assert.strictEqual(why({ fieldsType: "" }), "missing fieldsType in managed fields entry 0")
    assert.strictEqual(why({ fieldsType: "V2" }), `invalid fieldsType "V2" in managed fields entry 0`)
    assert.include(why({ fieldsV1: { a: 1 } }), "error decoding set")
  })

  it("merges the oldest updates beyond ten, version by version", () => {
    const updates = Array.from({ length: 13 }, (_, index) =>
      entry(`m${index}`, "Update", { [`f:${index}`]: {} }, {
        apiVersion: index === 1 ? "v2" : "v1",
        time: `2020-01-01T00:00:${String(index).padStart(2, "0")}Z`
      }))
    const capped = Managers.encode(Managers.capped(managersOf(...updates, entry("x", "Apply", { "f:a": {} }))))!
    assert.strictEqual(capped.length, 11)
    const ancient = capped.find(({ manager }) => manager === "ancient-changes")!
    assert.deepStrictEqual(ancient.fieldsV1, { "f:0": {}, "f:2": {}, "f:3": {}, "f:4": {} })
    assert.deepStrictEqual([ancient.apiVersion, ancient.time], ["v1", "2020-01-01T00:00:04Z"])
    assert.isDefined(capped.find(({ manager }) => manager === "m1"))
    const ten = managersOf(...updates.slice(0, 10))
    assert.strictEqual(Managers.capped(ten), ten)
  })

  it("knows entries that need not be read field by field", () => {
    const sound = entry("a", "Update", { "f:a": {} }, { time: "2020-01-01T00:00:00Z" })
    assert.isTrue(Managers.isCanonical([sound]))
    for (
      const other of [
        [],
        [{}],
        [{ ...sound, x: 1 }],
        [{ ...sound, time: "2020-01-01T00:00:00+01:00" }],
        [{ ...sound, time: "2020-99-01T00:00:00Z" }],
        [{ ...sound, manager: "" }],
        [{ ...sound, fieldsV1: undefined }],
        "x"
      ]
    ) assert.isFalse(Managers.isCanonical(other))
  })

  it("owners are independent of the objects they were read from", () => {
    const fields = managersOf(entry("a", "Apply", { "f:a": { ".": {}, "f:b": {} } })).values().next().value!.fields
    assert.deepStrictEqual(FieldSet.paths(fields), [["f:a"], ["f:a", "f:b"]])
  })
})
