import { assert, describe, it } from "@effect/vitest"
import * as PathElement from "../../../src/testing/apply/PathElement.ts"

describe("PathElement", () => {
  it("is one text for one element, whatever the client wrote", () => {
    const same = [
      [`k:{"name":"a","port":80}`, `k:{"port":80.0,"name":"a"}`],
      [`v:"<a>"`, `v:"\\u003ca\\u003e"`],
      ["i:3", "i:03"]
    ] as const
    for (const [canonical, written] of same) {
      assert.deepStrictEqual(PathElement.read(written), {
        element: canonical === `v:"<a>"` ? `v:"\\u003ca\\u003e"` : canonical
      })
    }
    assert.strictEqual(PathElement.keyed({ port: 80, name: "a b" }), `k:{"name":"a b","port":80}`)
    assert.strictEqual(PathElement.keyed({ name: `a"<` }), `k:{"name":"a\\"\\u003c"}`)
    assert.strictEqual(PathElement.item(true), "v:true")
  })

  it("drops what it does not know and refuses what is none", () => {
    assert.deepStrictEqual(PathElement.read("x:1"), { element: undefined })
    for (const text of ["f", "name", "v:{", "k:[1]", "i:x"]) assert.property(PathElement.read(text), "error")
  })

  it("sorts fields, keyed items, values by type and number, positions", () => {
    const sorted = [
      "f:a",
      "f:b",
      `k:{"a":1}`,
      `k:{"a":2}`,
      `k:{"a":10}`,
      "v:2",
      "v:10",
      `v:"a"`,
      "v:false",
      "i:2",
      "i:10"
    ]
    assert.deepStrictEqual(sorted.toReversed().sort(PathElement.compare), sorted)
  })

  it("prints as messages do", () => {
    assert.strictEqual(
      PathElement.printPath(["f:spec", "f:ports", `k:{"port":80,"protocol":"TCP"}`, "f:x", `v:"a"`, "i:1"]),
      `.spec.ports[port=80,protocol="TCP"].x[="a"][1]`
    )
  })
})
