import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Result, Scheduler, Schema, Stream } from "effect"
import { Buffer } from "node:buffer"
import type { Body, Ending, Sink } from "../src/live/Body.ts"
import * as Pieces from "../src/live/Pieces.ts"
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

  it("it is the line that may be too long, and not what came with it", () => {
    const line = "1".repeat(10)
    const { fault, values } = readAll([bytes(`${line}\n`.repeat(50) + line)], { maxLineBytes: 10 })
    assert.deepStrictEqual([values.length, fault], [50, "Truncated@51"])
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
  /** A body whose bytes the test sends; what it answers is whether more are wanted. */
  const open = () => {
    let sink: Sink | undefined
    const told: Array<string> = []
    const body: Body = {
      read: (given) => {
        sink = given
      },
      resume: () => void told.push("resume")
    }
    return {
      body,
      told,
      isRead: () => sink !== undefined,
      send: (text: string) => {
        const memory = Buffer.from(text)
        const more = sink!.bytes(memory)
        // It is the body's again.
        memory.fill("?")
        return more
      },
      end: (how: Ending = {}) => sink!.end(how)
    }
  }
  const lost = (cause: unknown) => new Error(`lost: ${String((cause as Error).message)}`)
  const turns = Effect.repeat(Effect.yieldNow, { times: 10 })

  it.effect("gives the values of what came in one array, and ends with the body", () =>
    Effect.gen(function*() {
      const { body, end, isRead, send } = open()
      const stream = WatchBody.stream(body, lost)
      assert.isFalse(isRead())
      const chunks = yield* Effect.forkChild(Stream.runCollect(Stream.chunks(stream)), { startImmediately: true })
      send("1\n2\n3")
      yield* turns
      send("3\n")
      end()
      assert.deepStrictEqual(yield* Fiber.join(chunks), [[1, 2], [33]])
    }))

  /** What comes of readings of a body to which something happens after each number of a reader's steps, and while it waits. */
  const readings = Effect.fnUntraced(function*(happens: (body: ReturnType<typeof open>) => void) {
    const exits: Array<Exit.Exit<ReadonlyArray<unknown>, unknown> | undefined> = []
    for (let steps = 1, isOver = false; !isOver; steps++) {
      const opened = open()
      const scheduler = new Scheduler.MixedScheduler()
      let taken = 0
      scheduler.shouldYield = () => {
        if (opened.isRead() && ++taken === steps) happens(opened)
        return false
      }
      const reading = Effect.provideService(
        Stream.runCollect(WatchBody.stream(opened.body, lost)),
        Scheduler.Scheduler,
        scheduler
      )
      const fiber = yield* Effect.forkChild(reading, { startImmediately: true })
      // It waits, and takes no step of its own.
      isOver = taken < steps
      scheduler.shouldYield = () => false
      if (isOver) happens(opened)
      yield* turns
      exits.push(fiber.pollUnsafe())
    }
    return exits
  })

  it.effect("reads to its end a body that comes between any two steps of the reader, or while it waits", () =>
    Effect.gen(function*() {
      const exits = yield* readings(({ end, send }) => {
        send("1\n")
        end()
      })
      assert.isAbove(exits.length, 2)
      for (const [steps, exit] of exits.entries()) {
        assert.deepStrictEqual(exit, Exit.succeed([1]), `after ${steps} steps`)
      }
    }))

  it.effect("hears of the end, and of what cannot be read, between any two steps of the reader and while it waits", () =>
    Effect.gen(function*() {
      for (const [tag, last] of [["Success", undefined], ["Failure", "x\n"]] as const) {
        const exits = yield* readings(({ end, send }) => last === undefined ? end() : void send(last))
        for (const [steps, exit] of exits.entries()) assert.strictEqual(exit?._tag, tag, `after ${steps} steps`)
      }
    }))

  it.effect("fails after the values before a fault, and wants nothing more", () =>
    Effect.gen(function*() {
      const { body, send, told } = open()
      const seen: Array<unknown> = []
      const run = WatchBody.stream(body, lost).pipe(Stream.runForEach((value) => Effect.sync(() => seen.push(value))))
      const fiber = yield* Effect.forkChild(Effect.exit(run), { startImmediately: true })
      assert.isFalse(send(`"${"x".repeat(Pieces.defaults.ahead)}"\n1\n2\nx\n`))
      assert.isFalse(send("3\n"))
      const exit = yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen.slice(1), [1, 2])
      assert.include(String(Exit.isFailure(exit) && exit.cause), "line 4 of the watch is not JSON")
      assert.deepStrictEqual(told, [])
    }))

  it.effect("reads together what came off the socket together, also where the reader waits", () =>
    Effect.gen(function*() {
      const { body, send } = open()
      const taken = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(Stream.chunks(WatchBody.stream(body, lost)), 2)),
        { startImmediately: true }
      )
      for (const values of [[1, 2, 3], [4, 5]]) {
        for (const value of values) send(`${value}\n`)
        yield* turns
      }
      assert.deepStrictEqual(yield* Fiber.join(taken), [[1, 2, 3], [4, 5]])
    }))

  it.effect("fails when the connection does, and inside a line that it cuts off", () =>
    Effect.gen(function*() {
      for (
        const [how, message] of [
          [{ error: new Error("reset") }, "lost: reset"],
          [{}, "the connection ended inside line 2 of the watch, after 3 of its bytes"]
        ] as const
      ) {
        const { body, end, send } = open()
        const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(WatchBody.stream(body, lost))), {
          startImmediately: true
        })
        send("1\n234")
        end(how)
        assert.strictEqual((yield* Fiber.join(fiber)).message, message)
      }
    }))

  it.effect("wants no more than a bound while nobody asks, and goes on when somebody does; any line to its end", () =>
    Effect.gen(function*() {
      const { body, end, send, told } = open()
      const gate = yield* Latch.make(false)
      let count = 0
      const fiber = yield* Effect.forkChild(
        Stream.runForEachArray(WatchBody.stream(body, lost), (values) => {
          count += values.length
          return Latch.await(gate)
        }),
        { startImmediately: true }
      )
      const line = `"${"x".repeat(1021)}"\n`
      send(line)
      yield* turns
      let sent = 1
      while (send(line)) sent += 1
      assert.strictEqual(count, 1)
      assert.strictEqual(sent, Pieces.defaults.ahead / 1024)
      assert.deepStrictEqual(told, [])
      yield* Latch.open(gate)
      yield* turns
      assert.deepStrictEqual(told, ["resume"])
      for (let n = 0; n < Pieces.defaults.ahead / 512; n++) assert.isTrue(send("12345678".repeat(64)))
      send("\n")
      yield* turns
      assert.deepStrictEqual(told, ["resume", "resume"])
      end()
      yield* Fiber.join(fiber)
      assert.strictEqual(count, sent + 2)
    }))
})
