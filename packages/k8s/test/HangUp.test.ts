import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber } from "effect"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Certificates from "../src/Certificates.ts"
import * as HangUp from "../src/HangUp.ts"

const text = "x".repeat(16 * 1024 * 1024)

/** A server that begins to answer at once, and whose answers are longer than what is on its way at a time. */
const serve = Effect.fnUntraced(function*(answer: (response: Http.ServerResponse) => void) {
  const node = Http.createServer((_, response) => answer(response))
  const { closeIdle, hangUp } = HangUp.make(node)
  yield* Effect.callback<void>((resume) => void node.listen(0, "127.0.0.1", () => resume(Effect.void)))
  return { node, closeIdle, hangUp, port: (node.address() as Net.AddressInfo).port }
})

/** Asks, and waits for the answer to begin; `read` gives how many bytes it had, or why it broke off. */
const ask = Effect.fnUntraced(function*(port: number) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Http.Agent({ keepAlive: true })),
    (agent) => Effect.sync(() => agent.destroy())
  )
  const response = yield* Effect.callback<Http.IncomingMessage>((resume) => {
    Http.get({ host: "127.0.0.1", port, agent }, (response) => resume(Effect.succeed(response)))
  })
  const read = Effect.callback<number | string>((resume) => {
    let length = 0
    response.on("data", (chunk: Buffer) => {
      length += chunk.length
    })
    response.on("end", () => resume(Effect.succeed(length)))
    response.on("error", (error) => resume(Effect.succeed(error.message)))
  })
  return { read }
})

describe("HangUp", () => {
  it.effect("an answer that is written and still on its way arrives as a whole, whatever the clock", () =>
    Effect.gen(function*() {
      const { closeIdle, hangUp, port } = yield* serve((response) => void response.end(text))
      const { read } = yield* ask(port)
      const closing = yield* Effect.forkChild(closeIdle, { startImmediately: true })
      const hanging = yield* Effect.forkChild(hangUp("1 minute"), { startImmediately: true })
      assert.strictEqual(yield* read, text.length)
      yield* Fiber.join(closing)
      yield* Fiber.join(hanging)
    }))

  it.effect("who waits for a request is cut off at once, and nobody new is let in", () =>
    Effect.gen(function*() {
      const { hangUp, node, port } = yield* serve((response) => void response.end("ok"))
      yield* (yield* ask(port)).read
      yield* hangUp("1 minute")
      assert.isFalse(node.listening)
      const refused = yield* Effect.callback<string | undefined>((resume) => {
        Http.get({ host: "127.0.0.1", port }).on("error", ({ code }: NodeJS.ErrnoException) =>
          resume(Effect.succeed(code)))
      })
      assert.strictEqual(refused, "ECONNREFUSED")
    }))

  it.effect("a connection whose answer was under way is closed with it, however long it might be kept", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<Http.ServerResponse>()
      const { hangUp, node, port } = yield* serve((response) => {
        response.write("x")
        Deferred.doneUnsafe(begun, Effect.succeed(response))
      })
      node.keepAliveTimeout = 0
      const { read } = yield* ask(port)
      const response = yield* Deferred.await(begun)
      const hanging = yield* Effect.forkChild(hangUp("1 hour"), { startImmediately: true })
      response.end("y")
      assert.strictEqual(yield* read, 2)
      yield* Fiber.join(hanging)
    }))

  it.effect("what does not end is cut off when its time is over, in real time", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const { hangUp, port } = yield* serve((response) => {
        response.write("x")
        Deferred.doneUnsafe(begun, Effect.void)
      })
      const { read } = yield* ask(port)
      const reading = yield* Effect.forkChild(read, { startImmediately: true })
      yield* Deferred.await(begun)
      yield* hangUp("50 millis")
      assert.strictEqual(yield* Fiber.join(reading), "aborted")
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }))

  it.effect("who connects to a TLS port and says nothing is cut off when its time is over", () =>
    Effect.gen(function*() {
      const { certPem: cert, keyPem: key } = yield* Certificates.authority({ now: Date.now() })
      const node = Https.createServer({ cert, key })
      const { hangUp } = HangUp.make(node)
      yield* Effect.callback<void>((resume) => void node.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const accepted = yield* Effect.forkChild(
        Effect.callback<void>((resume) => void node.once("connection", () => resume(Effect.void))),
        { startImmediately: true }
      )
      const silent = yield* Effect.acquireRelease(
        Effect.sync(() => Net.connect((node.address() as Net.AddressInfo).port, "127.0.0.1")),
        (socket) => Effect.sync(() => socket.destroy())
      )
      const closed = yield* Effect.forkChild(
        Effect.callback<void>((resume) => void silent.on("error", () => {}).once("close", () => resume(Effect.void))),
        { startImmediately: true }
      )
      yield* Fiber.join(accepted)
      yield* hangUp("50 millis")
      yield* Fiber.join(closed)
    }))
})
