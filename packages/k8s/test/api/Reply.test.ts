import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
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

  it.effect("every warning has a line of its own", () =>
    Effect.gen(function*() {
      const closing = yield* Deferred.make<void>()
      const lines = [
        "299 - \"a, 299 - \\\"b\\\" \\\\\"",
        "299 - \"é\"",
        "299 kube \"old\" \"Wed, 21 Oct 2015 07:28:00 GMT\""
      ]
      const answer = { status: 200, headers: { warning: lines.join(", ") }, body: {} }
      const whole = yield* Reply.make(answer, request, closing)
      const sent = whole.headers["warning"] as unknown as ReadonlyArray<string>
      assert.deepStrictEqual(sent.map((line) => Buffer.from(line, "latin1").toString("utf8")), lines)
      const watch = yield* Reply.make({ ...answer, events: Stream.empty }, request, closing)
      assert.deepStrictEqual(watch.headers["warning"], whole.headers["warning"])
    }))
})
