import { assert, describe, it } from "@effect/vitest"
import * as DeclaredTypes from "../../src/cel/DeclaredTypes.ts"
import * as Types from "../../src/cel/Types.ts"
import type { Schema } from "../../src/schema/Schema.ts"

describe("types of schemas", () => {
  const typeOf = (schema: Schema, isRoot = false) => {
    const declared = DeclaredTypes.fromSchema(schema, isRoot, "T")
    return declared === undefined ? undefined : Types.format(declared.type)
  }

  for (
    const [schema, type] of [
      [{ type: "string" }, "string"],
      [{ type: "string", format: "date-time" }, "timestamp"],
      [{ type: "string", format: "date" }, "timestamp"],
      [{ type: "string", format: "duration" }, "duration"],
      [{ type: "string", format: "byte" }, "bytes"],
      [{ type: "string", format: "ipv4" }, "string"],
      [{ type: "integer" }, "int"],
      [{ type: "number" }, "double"],
      [{ type: "boolean" }, "bool"],
      [{ "x-kubernetes-int-or-string": true }, "dyn"],
      [{ type: "array", items: { type: "integer" } }, "list(int)"],
      [{ type: "object", additionalProperties: { type: "number" } }, "map(string, double)"],
      [{ type: "object", properties: { a: { type: "string" } } }, "T"],
      [{ "x-kubernetes-preserve-unknown-fields": true }, undefined],
      [{ type: "object", additionalProperties: { "x-kubernetes-preserve-unknown-fields": true } }, undefined]
    ] as ReadonlyArray<readonly [Schema, string | undefined]>
  ) {
    it(`${JSON.stringify(schema)} is ${type ?? "not seen"}`, () => {
      assert.strictEqual(typeOf(schema), type)
    })
  }

  it("the root has a name, other objects only what they declare", () => {
    const schema: Schema = { type: "object", properties: { spec: { type: "object", properties: {} } } }
    const root = DeclaredTypes.fromSchema(schema, true, "T")!
    assert.deepStrictEqual([...root.fields!.keys()].sort(), ["apiVersion", "kind", "metadata", "spec"])
    assert.deepStrictEqual([...root.fields!.get("metadata")!.fields!.keys()].sort(), ["generateName", "name"])
    assert.deepStrictEqual([...DeclaredTypes.fromSchema(schema, false, "T")!.fields!.keys()], ["spec"])
  })

  it("sizes are what is declared, or what a request can hold", () => {
    const sizeOf = (schema: Schema) => DeclaredTypes.fromSchema(schema, false, "T")!.maxElements
    assert.strictEqual(sizeOf({ type: "string", maxLength: 10 }), 40)
    assert.strictEqual(sizeOf({ type: "string", enum: ["abc", "é"] }), 3)
    assert.strictEqual(sizeOf({ type: "string" }), 3 * 1024 * 1024 - 2)
    assert.strictEqual(sizeOf({ type: "string", format: "date-time" }), 32)
    assert.strictEqual(sizeOf({ type: "array", maxItems: 7, items: { type: "integer" } }), 7)
  })
})
