import { Transport } from "@effect-operator/core/KubeError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Buffer } from "node:buffer"
import * as Zlib from "node:zlib"
import type { Body } from "../../src/live/Body.ts"
import { aborted, type Connections, type Listener } from "../../src/live/Connections.ts"
import * as Exchange from "../../src/live/Exchange.ts"
import { eventually } from "../support/eventually.ts"

/** Connections whose one request answers what the test says; giving it up fails it, as with real ones. */
const one = () => {
  let listener: Listener | undefined
  const connections: Connections = {
    request: (_, given) => {
      listener = given
      return () => given.failed(aborted)
    },
    close: () => Promise.resolve(),
    destroy: () => Promise.resolve()
  }
  return { connections, listener: () => listener! }
}

const bodyOf = (bytes: Buffer): Body => ({
  read: (sink) => {
    sink.bytes(bytes)
    sink.end({})
  },
  resume: () => {}
})

const options: Exchange.Options = {
  timeout: 0,
  unpack: true,
  describe: (cause) => new Transport({ message: (cause as Error).message, cause })
}

/** Begins a request, with what is told of it. */
const begin = (more: Partial<Exchange.Options> = {}) => {
  const { connections, listener } = one()
  const told: Array<Exchange.Outcome> = []
  const giveUp = Exchange.begin(
    connections,
    { method: "POST", path: "/", headers: {} },
    { ...options, ...more },
    (it) => {
      told.push(it)
    }
  )
  return { told, giveUp, listener: listener() }
}

const failureOf = (outcome: Exchange.Outcome) =>
  Effect.map(Effect.flip(outcome), ({ code, error, sent }) => [code, sent, error.message] as const)

describe("Exchange", () => {
  it.live("is told of once: a time-out, and not that the request was given up then", () =>
    Effect.gen(function*() {
      for (const isSent of [false, true]) {
        const { listener, told } = begin({ timeout: 20 })
        if (isSent) listener.sent?.()
        yield* eventually(() => told.length > 0)
        yield* Effect.sleep("20 millis")
        assert.strictEqual(told.length, 1)
        assert.deepStrictEqual(yield* failureOf(told[0]!), ["TIMEOUT", isSent, "no complete answer within 20ms"])
      }
    }))

  it.effect("is not told of when somebody gives it up", () =>
    Effect.sync(() => {
      const { giveUp, told } = begin({ timeout: 1_000 })
      giveUp()
      assert.deepStrictEqual(told, [])
    }))

  it.live("has no deadline where none is given, and leaves no timer that would keep a process alive", () =>
    Effect.gen(function*() {
      const timers = () => process.getActiveResourcesInfo().filter((what) => what === "Timeout").length
      /** How many timers more there are after something, which is not waited for: others may have some of their own. */
      const after = (act: () => void): number => {
        const before = timers()
        act()
        return timers() - before
      }
      for (const timeout of [0, Infinity]) {
        assert.strictEqual(after(() => begin({ timeout })), 0)
        const { listener, told } = begin({ timeout })
        yield* Effect.sleep("20 millis")
        assert.deepStrictEqual(told, [])
        listener.answered({ status: 204, headers: {} }, bodyOf(Buffer.alloc(0)))
        assert.lengthOf(told, 1)
      }
      const begun = () => begin({ timeout: 60_000 })
      const { giveUp } = begun()
      assert.strictEqual(after(giveUp), -1)
      assert.strictEqual(after(() => begun().giveUp()), 0)
      assert.strictEqual(after(() => begun().listener.failed(new Error("no"))), 0)
      const answer = bodyOf(Buffer.alloc(0))
      assert.strictEqual(after(() => begun().listener.answered({ status: 204, headers: {} }, answer)), 0)
    }))

  it.effect("is over already when its answer is there, unless that has to be unpacked", () =>
    Effect.gen(function*() {
      const text = `{"kind":"Status"}`
      const answered = (headers: Record<string, string>, bytes: Buffer) => {
        const { listener, told } = begin()
        listener.answered({ status: 200, headers }, bodyOf(bytes))
        return told[0]!
      }
      const plain = answered({ "content-type": "application/json" }, Buffer.from(text))
      assert.isTrue(Exit.isExit(plain))
      assert.deepInclude(yield* plain, { status: 200, body: { kind: "Status" }, bytes: text.length })
      const packed = Zlib.gzipSync(text)
      const headers = { "content-type": "application/json", "content-encoding": "gzip", "content-length": "1" }
      assert.deepStrictEqual(yield* answered(headers, packed), {
        status: 200,
        headers: { "content-type": "application/json" },
        body: { kind: "Status" },
        bytes: packed.length
      })
      const broken = [
        [
          answered(headers, Buffer.from(text)),
          "the answer's Content-Encoding is gzip, but its body is not (incorrect header check)"
        ],
        [
          answered({ ...headers, "content-encoding": "br" }, packed),
          "the answer has the unsupported Content-Encoding br"
        ],
        [
          answered({ "content-type": "application/json" }, Buffer.from("{s3cret")),
          "the answer's Content-Type is JSON, but its body is not (7 characters)"
        ]
      ] as const
      for (const [outcome, message] of broken) {
        assert.deepStrictEqual(yield* failureOf(outcome), [undefined, true, message])
      }
    }))
})
