import { assert, describe, it } from "@effect/vitest"
import * as FieldPaths from "../../src/cel/FieldPaths.ts"
import type { Schema } from "../../src/schema/Schema.ts"

const root: Schema = {
  type: "object",
  properties: {
    a: { type: "object", properties: { b: { type: "string" }, "c.d": { type: "string" }, "it's": { type: "string" } } },
    m: { type: "object", additionalProperties: { type: "object", properties: { x: { type: "integer" } } } },
    l: { type: "array", items: { type: "string" } }
  }
}

describe("field paths", () => {
  for (
    const [written, path] of [
      [".a", "a"],
      [".a.b", "a.b"],
      ["['a'].b", "a.b"],
      [".a['b']", "a.b"],
      [".a['c.d']", "a.c.d"],
      [".a['it\\'s']", "a.it's"],
      [".m['k'].x", "m[k].x"],
      [".m.k.x", "m[k].x"],
      [".m['k']['x']", "m[k].x"],
      [".z", undefined],
      [".a.z", undefined],
      [".a.b.c", undefined],
      [".l[0]", undefined],
      [".l.x", undefined],
      ["a", undefined],
      [".a[b]", undefined],
      [".a['b'", undefined],
      [".a.", undefined],
      [".a['\\q']", undefined]
    ] as const
  ) {
    it(`${written} ${path === undefined ? "leads nowhere" : `is ${path}`}`, () => {
      assert.strictEqual(FieldPaths.normalize(written, root), path)
    })
  }
})
