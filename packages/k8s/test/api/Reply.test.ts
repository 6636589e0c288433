import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as Reply from "../../src/api/Reply.ts"

const request = { method: "GET", path: "/", query: [], headers: {} } as const

describe("Reply", () => {
  it.effect("texts in headers are UTF-8 on the wire, whatever is in them", () =>
    Effect.gen(function*() {
      const closing = yield* Deferred.make<void>()
      const warning = "299 - \"unknown field \\\"é漢😀\\\"\""
      const { headers } = yield* Reply.make({ status: 200, headers: { warning }, body: {} }, request, closing)
      const sent = headers["warning"] ?? ""
      assert.match(sent, /^[\0-\xff]*$/, "every character is a byte")
      assert.strictEqual(Buffer.from(sent, "latin1").toString("utf8"), warning)
      const plain = yield* Reply.make({ status: 200, headers: { warning: "299 - \"w\"" } }, request, closing)
      assert.strictEqual(plain.headers["warning"], "299 - \"w\"")
    }))
})
