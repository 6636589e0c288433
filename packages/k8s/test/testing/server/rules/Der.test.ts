import { assert, describe, it } from "@effect/vitest"
import * as Der from "../../../../src/testing/server/rules/Der.ts"

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"))

const shown = (values: ReadonlyArray<Der.Value> | undefined) =>
  values?.map(({ content, tag }) => `${tag.toString(16)}:${Buffer.from(content).toString("hex")}`)

describe("Der", () => {
  it("values follow each other, whatever their length takes", () => {
    assert.deepStrictEqual(shown(Der.values(bytes(""))), [])
    assert.deepStrictEqual(shown(Der.values(bytes("0201053000"))), ["2:05", "30:"])
    assert.deepStrictEqual(shown(Der.values(bytes(`048180${"00".repeat(128)}`))), [`4:${"00".repeat(128)}`])
    assert.deepStrictEqual(shown(Der.values(bytes("0482000101"))), ["4:01"])
  })

  it("bytes that end too early are no values", () => {
    for (const hex of ["30", "300500", "0482ffff01"]) assert.isUndefined(Der.values(bytes(hex)))
  })

  it("only what is made of others has values in it", () => {
    const [sequence, number] = Der.values(bytes("3003020105020105"))!
    assert.deepStrictEqual(shown(Der.children(sequence!)), ["2:05"])
    assert.deepStrictEqual(shown(Der.children(number!)), [])
  })
})
