import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, Schema, Stream } from "effect"
import { Readable } from "node:stream"
import * as WatchBody from "../src/WatchBody.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

/** Everything a sequence of chunks gives: values, then the fault, if any, at the end of the body at the latest. */
const readAll = (chunks: ReadonlyArray<Uint8Array>, options?: WatchBody.Options) => {
  let state = WatchBody.initial
  const values: Array<unknown> = []
  for (const chunk of chunks) {
    const [next, found] = WatchBody.step(state, chunk, options)
    state = next
    values.push(...found)
  }
  const ended = WatchBody.end(state)
  return { values, fault: Result.isFailure(ended) ? `${ended.failure.problem}@${ended.failure.line}` : undefined }
}

const cut = (all: Uint8Array, at: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const places = [...new Set(at.map((place) => place % (all.length + 1)))].sort((a, b) => a - b)
  return [...places, all.length].map((place, index) => all.slice(index === 0 ? 0 : places[index - 1], place))
}

describe("WatchBody.step", () => {
  it("reads one value per line, blank lines and CRLF included", () => {
    const { fault, values } = readAll([bytes(`{"a":1}\n\r\n\n  \n{"a":2}\r\n[3]\n"four"\nnull\n`)])
    assert.deepStrictEqual(values, [{ a: 1 }, { a: 2 }, [3], "four", null])
    assert.isUndefined(fault)
  })

  it("joins lines and characters that chunks split", () => {
    const body = bytes(`{"name":"Zoë 🚀 日本"}\r\n{"name":"b"}\n`)
    for (let size = 1; size <= body.length; size++) {
      const chunks: Array<Uint8Array> = []
      for (let from = 0; from < body.length; from += size) chunks.push(body.slice(from, from + size))
      assert.deepStrictEqual(readAll(chunks), { values: [{ name: "Zoë 🚀 日本" }, { name: "b" }], fault: undefined })
    }
  })

  it("gives a value as soon as its line ends, and not before", () => {
    const [open, none] = WatchBody.step(WatchBody.initial, bytes(`{"a":1}`))
    assert.deepStrictEqual(none, [])
    const [, one] = WatchBody.step(open, bytes("\n"))
    assert.deepStrictEqual(one, [{ a: 1 }])
  })

  it("drops a last line that was cut off, even if it parses, and says so", () => {
    assert.deepStrictEqual(readAll([bytes(`{"a":1}\n{"a":2}`)]), { values: [{ a: 1 }], fault: "Truncated@2" })
    assert.deepStrictEqual(readAll([bytes(`{"a":1}\n{"a":`)]), { values: [{ a: 1 }], fault: "Truncated@2" })
    assert.deepStrictEqual(readAll([bytes(`{"a":1}\n \r`)]), { values: [{ a: 1 }], fault: undefined })
    assert.deepStrictEqual(readAll([]), { values: [], fault: undefined })
  })

  it("stops for ever at a line that is no JSON, after the values before it", () => {
    const chunks = [bytes(`{"a":1}\n\n<html>secret\n{"a":2}\n`), bytes(`{"a":3}\n`)]
    assert.deepStrictEqual(readAll(chunks), { values: [{ a: 1 }], fault: "Malformed@3" })
  })

  it("does not quote what it could not read", () => {
    const [state] = WatchBody.step(WatchBody.initial, bytes(`{"password":"hunter2\n`))
    assert.strictEqual(state._tag, "Failed")
    assert.notInclude(JSON.stringify(state), "hunter2")
  })

  it("refuses a line beyond the limit without keeping it, one at the limit is fine", () => {
    const line = JSON.stringify("x".repeat(98))
    assert.strictEqual(line.length, 100)
    const options = { maxLineBytes: 100 }
    assert.deepStrictEqual(readAll([bytes(line + "\n")], options).values.length, 1)
    assert.strictEqual(readAll([bytes(`1\n${line}2\n3\n`)], options).fault, "TooLong@2")
    assert.strictEqual(readAll([bytes("1\n"), bytes(line), bytes("2")], options).fault, "TooLong@2")
    assert.deepStrictEqual(readAll([bytes("1\n"), bytes(line), bytes("2")], options).values, [1])
    assert.strictEqual(readAll([bytes("1\n"), bytes(line), bytes("2\n")], options).fault, "TooLong@2")
  })

  const Body = {
    values: Schema.Array(Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Int, Schema.Null]))),
    ends: Schema.Array(Schema.Literals(["\n", "\r\n", "\n\n", "\r\n \n"])),
    tail: Schema.Literals(["", "", "{\"cut", "{}", "nonsense\n{}\n", `"${"x".repeat(3000)}"\n`]),
    cuts: Schema.Array(Schema.Natural)
  }
  it.prop(
    "gives the same values and the same fault however the bytes are cut",
    Body,
    ({ cuts, ends, tail, values }) => {
      const text = values.map((value, index) => JSON.stringify(value) + (ends[index % ends.length] ?? "\n")).join("")
      const all = bytes(text + tail)
      const options = { maxLineBytes: 2048 }
      const whole = readAll([all], options)
      assert.deepStrictEqual(readAll(cut(all, cuts), options), whole)
      assert.deepStrictEqual(readAll(Array.from(all, (byte) => Uint8Array.of(byte)), options), whole)
      const ownFault = values.some((value) => bytes(JSON.stringify(value)).length > 2048)
      const sent: unknown = JSON.parse(JSON.stringify(values))
      if (!ownFault) assert.deepStrictEqual(whole.values.slice(0, values.length), sent)
    },
    { arbitrary: { runs: 300, seed: 20 } }
  )
})

describe("WatchBody.stream", () => {
  const open = () => new Readable({ read: () => {} })
  const lost = (cause: unknown) => new Error(`lost: ${String((cause as Error).message)}`)

  it.effect("gives the values of a chunk in one array, and ends with the body", () =>
    Effect.gen(function*() {
      const body = open()
      body.push(bytes("1\n2\n3"))
      const chunks = yield* Effect.forkChild(Stream.runCollect(Stream.chunks(WatchBody.stream(body, lost))))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      body.push(bytes("3\n"))
      body.push(null)
      assert.deepStrictEqual(yield* Fiber.join(chunks), [[1, 2], [33]])
    }))

  it.effect("fails after the values before a fault", () =>
    Effect.gen(function*() {
      const body = open()
      body.push(bytes("1\n2\nx\n"))
      const seen: Array<unknown> = []
      const exit = yield* WatchBody.stream(body, lost).pipe(
        Stream.runForEach((value) => Effect.sync(() => seen.push(value))),
        Effect.exit
      )
      assert.deepStrictEqual(seen, [1, 2])
      assert.include(String(Exit.isFailure(exit) && exit.cause), "line 3 of the watch is not JSON")
    }))

  it.effect("reads together what came off the socket together, also where the reader waits", () =>
    Effect.gen(function*() {
      const chunks: Array<Uint8Array> = []
      const listeners = new Map<string, () => void>()
      const body: WatchBody.Body = {
        read: () => chunks.shift() ?? null,
        more: () => chunks.length > 0,
        on: (event, listener) => listeners.set(event, listener)
      }
      const taken = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(Stream.chunks(WatchBody.stream(body, lost)), 2)),
        { startImmediately: true }
      )
      for (const values of [[1, 2, 3], [4, 5]]) {
        for (const value of values) {
          chunks.push(bytes(`${value}\n`))
          listeners.get("readable")!()
        }
        yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      }
      assert.deepStrictEqual(yield* Fiber.join(taken), [[1, 2, 3], [4, 5]])
    }))

  it.effect("fails when the connection does", () =>
    Effect.gen(function*() {
      const body = open()
      body.push(bytes("1\n"))
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(WatchBody.stream(body, lost))))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      body.destroy(new Error("reset"))
      assert.strictEqual((yield* Fiber.join(fiber)).message, "lost: reset")
    }))

  it.effect("reads no further ahead than the body's buffer while nobody asks", () =>
    Effect.gen(function*() {
      let pushed = 0
      const line = bytes(`"${"x".repeat(1021)}"\n`)
      const body = new Readable({
        highWaterMark: 8 * 1024,
        read() {
          pushed += 1
          this.push(line)
        }
      })
      const taken = yield* Stream.runCollect(Stream.take(WatchBody.stream(body, lost), 3))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.strictEqual(taken.length, 3)
      assert.isAtMost(pushed, 40)
    }))
})
