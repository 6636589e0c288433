import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as RequestQueue from "../../src/live/RequestQueue.ts"

const ask = (lane: string, more: Partial<RequestQueue.Ask> = {}): RequestQueue.Ask => ({
  lane,
  class: "others",
  isLasting: false,
  ...more
})

/** Runs an effect when its turn has come, told of how long that took. */
const within = <A>(
  queue: RequestQueue.RequestQueue,
  one: RequestQueue.Ask,
  run: (waited: number) => Effect.Effect<A>
): Effect.Effect<A> =>
  Effect.callback((resume) => {
    let fiber: Fiber.Fiber<A> | undefined
    const leave = queue.enter(one, (waited, leave) => {
      fiber = Effect.runFork(run(waited))
      fiber.addObserver((exit) => {
        leave()
        resume(exit)
      })
    })
    return Effect.suspend(() => {
      leave()
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })
  })

/** Requests that note when they go out, and last until they are told to end. */
const office = (options: RequestQueue.Options) =>
  Effect.gen(function*() {
    const queue = yield* RequestQueue.make(options)
    const out: Array<string> = []
    const ends = new Map<string, Deferred.Deferred<void>>()
    const send = (name: string, one: RequestQueue.Ask) => {
      const end = Deferred.makeUnsafe<void>()
      ends.set(name, end)
      return Effect.forkChild(
        within(queue, one, () => {
          out.push(name)
          return Deferred.await(end)
        }),
        { startImmediately: true }
      )
    }
    const end = (name: string) =>
      Effect.andThen(Deferred.succeed(ends.get(name)!, undefined), Effect.repeat(Effect.yieldNow, { times: 20 }))
    return { queue, out, send, end }
  })

describe("RequestQueue", () => {
  it.effect("lets lanes take turns, and keeps the order within each", () =>
    Effect.gen(function*() {
      const { end, out, send } = yield* office({ concurrency: 1 })
      yield* send("first", ask("a"))
      for (const name of ["a1", "a2", "a3"]) yield* send(name, ask("a"))
      for (const name of ["b1", "b2"]) yield* send(name, ask("b"))
      yield* send("c1", ask("c"))
      assert.deepStrictEqual(out, ["first"])
      for (const name of ["first", "a1", "b1", "c1", "a2", "b2", "a3"]) yield* end(name)
      assert.deepStrictEqual(out, ["first", "a1", "b1", "c1", "a2", "b2", "a3"])
    }))

  it.effect("does not count watches as under way", () =>
    Effect.gen(function*() {
      const { out, queue, send } = yield* office({ concurrency: 1 })
      for (const name of ["w1", "w2", "w3"]) yield* send(name, ask("a", { isLasting: true }))
      yield* send("r1", ask("a"))
      assert.deepStrictEqual(out, ["w1", "w2", "w3", "r1"])
      yield* send("r2", ask("a"))
      yield* send("w4", ask("a", { isLasting: true }))
      assert.deepStrictEqual(out, ["w1", "w2", "w3", "r1", "w4"])
      assert.deepStrictEqual(queue.stats(), { running: 1, waiting: 1 })
    }))

  it.effect("lets leases go while all places are taken, and gives none away for them", () =>
    Effect.gen(function*() {
      const { end, out, queue, send } = yield* office({ concurrency: 1 })
      yield* send("hangs", ask("a"))
      yield* send("waits", ask("b"))
      yield* send("lease", ask("b", { class: "leases" }))
      assert.deepStrictEqual(out, ["hangs", "lease"])
      yield* end("lease")
      assert.deepStrictEqual(queue.stats(), { running: 1, waiting: 1 })
      yield* end("hangs")
      assert.deepStrictEqual(out, ["hangs", "lease", "waits"])
    }))

  it.effect("lets leases go whatever the rate, and takes nothing from it for them", () =>
    Effect.gen(function*() {
      const { out, send } = yield* office({ concurrency: 10, qps: 1, burst: 1 })
      for (const name of ["a", "b", "c"]) yield* send(name, ask(name))
      for (const name of ["lease1", "lease2"]) yield* send(name, ask("b", { class: "leases" }))
      assert.deepStrictEqual(out, ["a", "lease1", "lease2"])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(out, ["a", "lease1", "lease2", "b"])
    }))

  it.effect("keeps to the rate, after a burst", () =>
    Effect.gen(function*() {
      const { out, send } = yield* office({ concurrency: 100, qps: 10, burst: 5 })
      for (let at = 0; at < 20; at++) yield* send(`r${at}`, ask(at % 2 === 0 ? "a" : "b"))
      assert.strictEqual(out.length, 5)
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(out.length, 10)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(out.length, 20)
    }))

  it.effect("pauses everybody but leader election, and tells how long somebody waited", () =>
    Effect.gen(function*() {
      const { out, queue, send } = yield* office({ concurrency: 10 })
      queue.pause("others", 5000)
      const waited = yield* Effect.forkChild(within(queue, ask("b"), Effect.succeed), { startImmediately: true })
      yield* send("r", ask("a"))
      yield* send("lease", ask("a", { class: "leases" }))
      assert.deepStrictEqual(out, ["lease"])
      yield* TestClock.adjust("4 seconds")
      queue.pause("others", 500)
      assert.deepStrictEqual(out, ["lease"])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(out, ["lease", "r"])
      assert.strictEqual(yield* Fiber.join(waited), 5000)
    }))

  it.effect("lets all go at once whom nothing but a pause has held up, and says how long that was", () =>
    Effect.gen(function*() {
      const { out, queue, send } = yield* office({ concurrency: 10 })
      queue.pause("others", 1_000)
      yield* TestClock.adjust("400 millis")
      const waited = yield* Effect.forkChild(within(queue, ask("a"), Effect.succeed), { startImmediately: true })
      for (const name of ["a1", "a2", "a3"]) yield* send(name, ask("a"))
      yield* TestClock.adjust("600 millis")
      assert.strictEqual(yield* Fiber.join(waited), 600)
      assert.deepStrictEqual(out, ["a1", "a2", "a3"])
    }))

  it.effect("who withdraws from among others of a lane takes no place, and nobody else's", () =>
    Effect.gen(function*() {
      const { end, out, queue, send } = yield* office({ concurrency: 1 })
      yield* send("first", ask("a"))
      const [, second] = [yield* send("a1", ask("a")), yield* send("a2", ask("a")), yield* send("a3", ask("a"))]
      yield* Fiber.interrupt(second!)
      assert.deepStrictEqual(queue.stats(), { running: 1, waiting: 2 })
      for (const name of ["first", "a1", "a3"]) yield* end(name)
      assert.deepStrictEqual(out, ["first", "a1", "a3"])
      assert.deepStrictEqual(queue.stats(), { running: 0, waiting: 0 })
    }))

  it.effect("sets no timer while all places are taken", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let sleeps = 0
      const counting: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
        sleep: (duration: Parameters<Clock.Clock["sleep"]>[0]) => {
          sleeps += 1
          return clock.sleep(duration)
        }
      })
      const { end, out, send } = yield* Effect.provideService(
        office({ concurrency: 1, qps: 100 }),
        Clock.Clock,
        counting
      )
      yield* send("first", ask("a"))
      yield* send("a1", ask("a"))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(sleeps, 0)
      yield* end("first")
      assert.deepStrictEqual(out, ["first", "a1"])
    }))

  it.effect("bounds what a server may ask for", () =>
    Effect.gen(function*() {
      const { out, queue, send } = yield* office({ concurrency: 10 })
      queue.pause("others", 86_400_000)
      yield* send("r", ask("a"))
      yield* TestClock.adjust(RequestQueue.defaults.maxPause)
      assert.deepStrictEqual(out, ["r"])
    }))

  it.effect("takes a place back from somebody who is interrupted at the moment they are let in", () =>
    Effect.gen(function*() {
      const { queue } = yield* office({ concurrency: 2 })
      queue.pause("others", 1000)
      const others: Array<Fiber.Fiber<never>> = []
      const first = yield* Effect.forkChild(
        within(queue, ask("a"), () => Effect.sync(() => others.forEach((fiber) => fiber.interruptUnsafe()))),
        { startImmediately: true }
      )
      others.push(yield* Effect.forkChild(within(queue, ask("b"), () => Effect.never), { startImmediately: true }))
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(first)
      yield* Effect.forEach(others, Fiber.await)
      assert.deepStrictEqual(queue.stats(), { running: 0, waiting: 0 })
    }))

  it.effect("who has left is not run any more, also one of those let in at the same moment, and leaves once", () =>
    Effect.gen(function*() {
      const queue = yield* RequestQueue.make({ concurrency: 3 })
      const ran: Array<string> = []
      queue.pause("others", 1000)
      const leaves = ["a", "b", "c"].map((name) =>
        queue.enter(ask(name), () => {
          ran.push(name)
          // The next of those let in leaves before it is its turn to be told.
          leaves[1]!()
        })
      )
      leaves[2]!()
      assert.deepStrictEqual(queue.stats(), { running: 0, waiting: 2 })
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(ran, ["a"])
      assert.deepStrictEqual(queue.stats(), { running: 1, waiting: 0 })
      for (const leave of [...leaves, ...leaves]) leave()
      assert.deepStrictEqual(queue.stats(), { running: 0, waiting: 0 })
    }))

  const Step = Schema.Union([
    Schema.TaggedStruct("Send", { lane: Schema.Literals(["a", "b", "c"]), isLasting: Schema.Boolean }),
    Schema.TaggedStruct("End", { which: Schema.Natural }),
    Schema.TaggedStruct("Interrupt", { which: Schema.Natural }),
    Schema.TaggedStruct("Pause", {}),
    Schema.TaggedStruct("Wait", {})
  ])

  it.effect.prop(
    "loses no place and forgets nobody, whoever is interrupted when",
    { steps: Schema.Array(Step) },
    ({ steps }) =>
      Effect.scoped(Effect.gen(function*() {
        const queue = yield* RequestQueue.make({ concurrency: 2, qps: 5, burst: 3 })
        const all: Array<{ readonly end: Deferred.Deferred<void>; readonly fiber: Fiber.Fiber<void> }> = []
        let most = 0
        for (const step of steps) {
          if (step._tag === "Send") {
            const end = Deferred.makeUnsafe<void>()
            const fiber = yield* Effect.forkChild(
              within(queue, ask(step.lane, step), () => Deferred.await(end))
            )
            all.push({ end, fiber })
          }
          if (step._tag === "End" && all.length > 0) {
            yield* Deferred.succeed(all[step.which % all.length]!.end, undefined)
          }
          if (step._tag === "Interrupt" && all.length > 0) yield* Fiber.interrupt(all[step.which % all.length]!.fiber)
          if (step._tag === "Pause") queue.pause("others", 300)
          if (step._tag === "Wait") yield* TestClock.adjust("150 millis")
          most = Math.max(most, queue.stats().running)
        }
        for (const { end } of all) yield* Deferred.succeed(end, undefined)
        yield* TestClock.adjust("1 hour")
        for (const { fiber } of all) yield* Fiber.await(fiber)
        assert.isAtMost(most, 2)
        assert.deepStrictEqual(queue.stats(), { running: 0, waiting: 0 })
      })),
    { arbitrary: { runs: 200 } }
  )
})
