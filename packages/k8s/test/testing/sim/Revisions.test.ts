import { assert, describe, it } from "@effect/vitest"
import * as Revisions from "../../../src/testing/sim/Revisions.ts"

describe("Revisions", () => {
  it("a revision is the bytes that Go would write, whatever the order of the template's keys", () => {
    const template = {
      spec: {
        containers: [{ name: "c", image: "x", args: ["b", "a"] }],
        nodeSelector: null
      },
      metadata: { labels: { b: "2", a: "1" } }
    }
    assert.strictEqual(
      JSON.stringify(Revisions.dataOf(template as never)),
      `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1","b":"2"}},` +
        `"spec":{"containers":[{"args":["b","a"],"image":"x","name":"c"}]}}}}`
    )
  })
})
