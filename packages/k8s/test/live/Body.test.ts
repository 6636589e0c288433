import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Body from "../../src/live/Body.ts"

/** A body of these pieces, whose memory is something else after each, and how it ended. */
const of = (pieces: ReadonlyArray<Buffer>, how: Body.Ending = {}): Body.Body => ({
  read: (sink) => {
    for (const piece of pieces) {
      const memory = Buffer.from(piece)
      assert.isTrue(sink.bytes(memory))
      memory.fill("?")
    }
    sink.end(how)
  },
  resume: () => {}
})

const whole = (pieces: ReadonlyArray<Buffer>, length?: number): Buffer => {
  let found: Buffer | undefined
  Body.whole(of(pieces), length, (how, bytes) => {
    assert.deepStrictEqual(how, {})
    found = bytes
  })
  return found!
}

describe("Body", () => {
  it.prop(
    "is whole whatever came in pieces of any size, and whatever length was told",
    {
      pieces: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))),
      told: Schema.Literals(["nothing", "right", "less", "more", "absurd"])
    },
    ({ pieces, told }) => {
      const all = pieces.map((size, index) => Buffer.alloc(size, `${index},`))
      const right = Buffer.concat(all)
      const length = { nothing: undefined, right: right.length, less: 1, more: right.length * 3, absurd: 2 ** 50 }[told]
      const bytes = whole(all, length)
      assert.isTrue(bytes.equals(right))
      Body.recycle(bytes)
    },
    { arbitrary: { runs: 200, seed: 7 } }
  )

  it("uses memory again that was given back, once, and no other", () => {
    const big = Body.defaults.reused * 2
    const first = whole([Buffer.alloc(big, "a")])
    const second = whole([Buffer.alloc(big, "b")])
    assert.notStrictEqual(second.buffer, first.buffer)
    Body.recycle(first)
    Body.recycle(first)
    const third = whole([Buffer.alloc(big, "c")])
    assert.strictEqual(third.buffer, first.buffer)
    const fourth = whole([Buffer.alloc(big, "d")])
    assert.notStrictEqual(fourth.buffer, third.buffer)
    assert.isTrue([second, third, fourth].every((bytes, index) => bytes.toString() === "bcd"[index]!.repeat(big)))
    // Of what is smaller others hold parts.
    const small = whole([Buffer.from("x")])
    Body.recycle(small)
    assert.notStrictEqual(whole([Buffer.alloc(big)]).buffer, small.buffer)
  })

  it.effect("is text, or fails with what ended it", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Body.text(of([Buffer.from("Zo"), Buffer.from("ë")])), "Zoë")
      assert.strictEqual(yield* Effect.flip(Body.text(of([Buffer.from("Zo")], { error: "reset" }))), "reset")
    }))
})
