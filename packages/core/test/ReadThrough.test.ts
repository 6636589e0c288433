import { Cache, KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Scope } from "effect"
import { Part } from "./support/Kinds.ts"
import { Server } from "./support/Server.ts"
import { interruptedAfter, pass, settable, settle } from "./support/Time.ts"

const ref = (name: string) => ({ name, namespace: "default" })

/** Reads as a controller's reconciler does, over its own client. */
const reading = Effect.fnUntraced(function*(server: Server, capacity?: number) {
  const remembered = Cache.makeReadThrough(capacity)
  yield* Scope.provide(server.own.observe(remembered.wrote), yield* Effect.scope)
  const live = (name: string, timeToLive?: "1 second") =>
    Cache.live(Part, ref(name), timeToLive === undefined ? {} : { timeToLive }).pipe(
      Effect.provideService(Cache.Remembered, remembered),
      Effect.provideService(KubeClient.KubeClient, server.own)
    )
  const gets = () => server.requestsFor("GET", "parts").length
  return { gets, live, remembered }
})

describe("Cache.live", () => {
  it.effect("requests once per time to live, even for an absent object", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "1" } })
      const { gets, live } = yield* reading(server)
      for (let i = 0; i < 5; i++) assert.strictEqual((yield* live("a"))?.spec?.role, "1")
      for (let i = 0; i < 5; i++) assert.isUndefined(yield* live("none"))
      assert.strictEqual(gets(), 2)
      server.patch(Part, "a", { spec: { role: "2" } })
      yield* pass("59 seconds")
      assert.strictEqual((yield* live("a"))?.spec?.role, "1")
      // Another reader may want it fresher.
      assert.strictEqual((yield* live("a", "1 second"))?.spec?.role, "2")
      assert.strictEqual(gets(), 3)
      yield* pass("60 seconds")
      yield* live("a")
      assert.strictEqual(gets(), 4)
    }))

  it.effect("forgets everything on request, including what is being fetched", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { gets, live, remembered } = yield* reading(server)
      assert.isUndefined(yield* live("a"))
      server.latency = () => Effect.sleep("1 second")
      const asking = yield* Effect.forkChild(live("b"))
      yield* settle
      server.put(Part, "a")
      server.put(Part, "b")
      remembered.forget()
      yield* pass("1 second")
      assert.isUndefined(yield* Fiber.join(asking))
      server.latency = () => Effect.void
      for (const name of ["a", "b"]) assert.isDefined(yield* live(name))
      assert.strictEqual(gets(), 4)
    }))

  it.effect("does not remember for longer if the clock is set back or the machine sleeps", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { gets, live } = yield* reading(server)
      const { clock, putBack } = yield* settable
      const ask = Effect.provideService(live("a"), Clock.Clock, clock)
      yield* ask
      putBack(3_600_000)
      yield* pass("60 seconds")
      yield* ask
      assert.strictEqual(gets(), 2)
      // The time of day has gone on, and the other clock has not.
      putBack(-3_600_000)
      yield* ask
      assert.strictEqual(gets(), 3)
    }))

  it.effect("sees own writes at once: of present and absent objects, and during a request", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "1" } })
      const { live } = yield* reading(server)
      const role = Effect.map(live("a"), (part) => part?.spec?.role)
      assert.strictEqual(yield* role, "1")
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { role: "2" } } })
      assert.strictEqual(yield* role, "2")
      yield* server.own.delete(Part, ref("a"))
      assert.isUndefined(yield* role)
      yield* server.own.create(Part, { metadata: ref("a"), spec: { role: "3" } })
      server.latency = ({ method }) => method === "GET" ? Effect.sleep("10 seconds") : Effect.void
      const early = yield* Effect.forkChild(role)
      yield* settle
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { role: "4" } } })
      const late = yield* Effect.forkChild(role)
      yield* pass("10 seconds")
      assert.strictEqual(yield* Fiber.join(early), "3")
      assert.strictEqual(yield* Fiber.join(late), "4")
      server.latency = () => Effect.void
      assert.strictEqual(yield* role, "4")
    }))

  it.effect("a response that was overtaken by an own write is not remembered, however late it comes", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "1" } })
      const { live } = yield* reading(server)
      const role = Effect.map(live("a"), (part) => part?.spec?.role)
      // Answered at once, and long on its way.
      server.latency = () => Effect.sleep("10 seconds")
      const early = yield* Effect.forkChild(role)
      yield* settle
      server.latency = () => Effect.void
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { role: "2" } } })
      assert.strictEqual(yield* role, "2")
      yield* pass("10 seconds")
      assert.strictEqual(yield* Fiber.join(early), "1")
      assert.strictEqual(yield* role, "2")
    }))

  it.effect("concurrent readers share one request, which survives the reader that started it", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { gets, live } = yield* reading(server)
      server.latency = () => Effect.sleep("1 second")
      const fibers = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.forkChild(live("a")))
      yield* settle
      assert.strictEqual(gets(), 1)
      yield* Fiber.interrupt(fibers[0]!)
      yield* pass("2 seconds")
      for (const fiber of fibers.slice(1)) assert.strictEqual((yield* Fiber.join(fiber))?.metadata.name, "a")
      assert.strictEqual(gets(), 2)
    }))

  it.effect("a reader interrupted at any step holds up nobody", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { live } = yield* reading(server)
      for (let steps = 1; yield* interruptedAfter(steps, live("a")); steps++) {
        const next = yield* Effect.forkChild(live("a"))
        yield* settle
        assert.isDefined(next.pollUnsafe(), `after one that was interrupted after ${steps} steps`)
        yield* pass("1 minute")
      }
    }))

  it.effect("a failure reaches all who wait, and is not remembered", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { live, remembered } = yield* reading(server)
      server.fault = () => Effect.succeed({ status: 500, headers: {}, body: {} })
      const fibers = yield* Effect.forEach([1, 2], () => Effect.forkChild(Effect.flip(live("a"))))
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber))._tag, "KubeError")
      assert.strictEqual(remembered.size(), 0)
      server.fault = () => Effect.undefined
      assert.isDefined(yield* live("a"))
    }))

  it.effect("remembers a limited number of objects, the most recently used", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { gets, live, remembered } = yield* reading(server, 3)
      for (const name of ["a", "b", "c", "a", "d"]) yield* live(name)
      assert.deepStrictEqual([remembered.size(), gets()], [3, 4])
      yield* live("a")
      assert.strictEqual(gets(), 4)
      yield* live("b")
      assert.strictEqual(gets(), 5)
    }))

  it.effect("what is read as another user is neither remembered nor taken from memory", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { gets, live, remembered } = yield* reading(server)
      const asOther = Effect.provideService(live("a"), KubeClient.Impersonated, "somebody")
      yield* asOther
      assert.strictEqual(remembered.size(), 0)
      yield* live("a")
      yield* asOther
      assert.strictEqual(gets(), 3)
    }))

  it.effect("outside a controller every read is a request", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const live = Effect.provideService(Cache.live(Part, ref("a")), KubeClient.KubeClient, server.own)
      yield* live
      yield* live
      assert.strictEqual(server.requestsFor("GET", "parts").length, 2)
    }))
})
