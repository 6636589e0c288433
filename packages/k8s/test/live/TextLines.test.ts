import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { Buffer } from "node:buffer"
import type { Body, Ending } from "../../src/live/Body.ts"
import * as TextLines from "../../src/live/TextLines.ts"

/** A body that is there already, in these pieces. */
const bodyOf = (pieces: ReadonlyArray<Uint8Array>, how: Ending = {}): Body => ({
  read: (sink) => {
    for (const piece of pieces) {
      // Its memory is the body's again.
      const lent = Buffer.from(piece)
      sink.bytes(lent)
      lent.fill(0x58)
    }
    sink.end(how)
  },
  resume: () => {}
})

const linesOf = (body: Body) => Stream.runCollect(TextLines.stream(body, (cause) => String(cause)))

/** Cuts bytes at some places. */
const cut = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const all = [...places.map((place) => place % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b)
  return all.slice(1).map((end, index) => bytes.subarray(all[index], end))
}

describe("TextLines", () => {
  it.prop(
    "the lines do not depend on how the network cuts the bytes",
    [Schema.Array(Schema.Union([Schema.String, Schema.Literals(["\n", "ü", "🚀", "\r\n"])])), Schema.Array(Schema.Int)],
    ([parts, places]) => {
      // Half of a character cannot be sent.
      const text = parts.join("").toWellFormed()
      const expected = text.split("\n")
      if (expected.at(-1) === "") expected.pop()
      const found = Effect.runSync(linesOf(bodyOf(cut(Buffer.from(text), places.map(Math.abs)))))
      assert.deepStrictEqual(found, expected)
    }
  )

  it.effect("empty lines are lines, carriage returns are part of them, and a last one needs no end", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* linesOf(bodyOf([Buffer.from("a\n\n\r\nb")])), ["a", "", "\r", "b"])
      assert.deepStrictEqual(yield* linesOf(bodyOf([])), [])
    }))

  it.effect("a line that goes on and on comes in pieces", () =>
    Effect.gen(function*() {
      const piece = Buffer.alloc(TextLines.defaults.longest, "a")
      const found = yield* linesOf(bodyOf([piece, piece, Buffer.from("b\n")]))
      assert.strictEqual(found.join("").length, 2 * piece.length + 1)
      assert.isAtMost(Math.max(...found.map(({ length }) => length)), 2 * piece.length)
      assert.isAbove(found.length, 1)
    }))

  it.effect("what came before the connection broke is given first, but for half a line", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const exit = yield* Effect.exit(Stream.runForEach(
        TextLines.stream(bodyOf([Buffer.from("a\nhalf")], { error: "broken" }), String),
        (line) => Effect.sync(() => seen.push(line))
      ))
      assert.deepStrictEqual(exit, Exit.fail("broken"))
      assert.deepStrictEqual(seen, ["a"])
    }))
})
