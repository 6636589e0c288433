import { assert, describe, it } from "@effect/vitest"
import { fieldsOf } from "../../../src/testing/apply/Fields.ts"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as PathElement from "../../../src/testing/apply/PathElement.ts"
import { type } from "../support/ApplyTypes.ts"

const spec = (value: object) => ({ apiVersion: "g/v1", kind: "K", spec: value })
const texts = (set: FieldSet.FieldSet) => FieldSet.paths(set).map(PathElement.printPath)

describe("Fields", () => {
  it("are leaves, items, keys and what is empty", () => {
    const fields = fieldsOf(
      type,
      spec({ list: ["a"], set: ["b"], map: { k: "v" }, open: {}, deep: { b: { c: "v" } }, items: [{ name: "a" }] })
    )
    assert.sameMembers(texts(fields).slice(), [
      ".apiVersion",
      ".kind",
      ".spec.list",
      ".spec.open",
      ".spec.deep.b.c",
      `.spec.items[name="a",port=1]`,
      `.spec.items[name="a",port=1].name`,
      ".spec.map.k",
      `.spec.set[="b"]`
    ])
  })

  it("of an item that occurs twice are one", () => {
    assert.sameMembers(texts(fieldsOf(type, spec({ items: [{ name: "a", value: "1" }, { name: "a" }] }))).slice(), [
      ".apiVersion",
      ".kind",
      `.spec.items[name="a",port=1]`
    ])
  })
})
