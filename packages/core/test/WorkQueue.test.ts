import { type Trigger, WorkQueue } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Logger, Option, Schedule } from "effect"
import { TestClock } from "effect/testing"

const why: Trigger.Reason = { _tag: "Resync" }
const failed = (error: unknown = "boom", atLeast?: number): WorkQueue.Outcome => ({ _tag: "Failed", error, atLeast })
const done: WorkQueue.Outcome = { _tag: "Done" }

/** Takes the next key, which must be there within the given time, and says when it came. */
const next = (queue: WorkQueue.WorkQueue) =>
  Effect.gen(function*() {
    const item = yield* queue.take
    return { ...Option.getOrThrow(item), at: yield* Clock.currentTimeMillis }
  })

/** A key that is taken and fails again and again: the delay after each failure. */
const delays = (queue: WorkQueue.WorkQueue, errors: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    const found: Array<number | undefined> = []
    for (const error of errors) {
      const fiber = yield* Effect.forkChild(next(queue), { startImmediately: true })
      yield* TestClock.adjust("16 minutes")
      const { key } = yield* Fiber.join(fiber)
      found.push(yield* queue.done(key, failed(error)))
    }
    return found
  })

/** Counts the sleeps begun, so that a test sees polling. */
const counting = <A, E, R>(effect: (sleeps: Array<number>) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const sleeps: Array<number> = []
    return Effect.provideService(effect(sleeps), Clock.Clock, {
      ...clock,
      currentTimeMillis: clock.currentTimeMillis,
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      sleep: (duration) => {
        sleeps.push(Duration.toMillis(duration))
        return clock.sleep(duration)
      }
    })
  })

describe("WorkQueue", () => {
  it.effect("waits 5, 10, 20, … ms after failures, up to 16 min, forever", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      const found = yield* delays(queue, Array.from({ length: 1_100 }))
      const expected = Array.from({ length: 1_100 }, (_, i) => Math.min(5 * 2 ** i, 16 * 60_000))
      assert.deepStrictEqual(found, expected)
    }))

  it.effect("takes a key at once, unless others wait, the rate forbids it, or the queue drains", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({ rate: { limit: 1, interval: "1 second" } })
      assert.isUndefined(queue.takeUnsafe())
      queue.add("a", why)
      queue.add("b", why)
      assert.strictEqual(queue.takeUnsafe()?.key, "a")
      assert.isUndefined(queue.takeUnsafe(), "one a second")
      const waiting = yield* Effect.forkChild(next(queue), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting)).key, "b")
      assert.strictEqual(queue.doneUnsafe("a", { _tag: "Again", delay: 5 }), 5)
      assert.isUndefined(queue.doneUnsafe("b", done))
      yield* queue.drain
      yield* TestClock.adjust("1 second")
      assert.isUndefined(queue.takeUnsafe())
    }))

  it.effect("hands out a failed key exactly when its delay is over", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      const times: Array<number> = []
      const failures: Array<number> = []
      yield* Effect.forkChild(Effect.forever(Effect.gen(function*() {
        const item = yield* next(queue)
        times.push(item.at)
        failures.push(item.failures)
        yield* queue.done(item.key, failed())
      })))
      yield* TestClock.adjust(154)
      assert.deepStrictEqual(times, [0, 5, 15, 35, 75])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(times, [0, 5, 15, 35, 75, 155])
      assert.deepStrictEqual(failures, [0, 1, 2, 3, 4, 5])
    }))

  it.effect("resets the delay after a success", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, [1, 2, 3]), [5, 10, 20])
      yield* TestClock.adjust("1 second")
      const item = yield* next(queue)
      assert.strictEqual(item.failures, 3)
      assert.isUndefined(yield* queue.done("a", done))
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, [1, 2]), [5, 10])
      yield* TestClock.adjust("1 second")
      yield* next(queue)
      assert.strictEqual(yield* queue.done("a", { _tag: "Again", delay: 70 }), 70)
      assert.deepStrictEqual(yield* delays(queue, [1]), [5])
    }))

  it.effect("keeps the delays of different keys apart", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, [1, 2, 3]), [5, 10, 20])
      queue.add("b", why)
      yield* next(queue)
      assert.strictEqual(yield* queue.done("b", failed()), 5)
    }))

  it.effect("does not lengthen delays for unrelated triggers", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, [1, 2, 3, 4, 5, 6, 7, 8]), [5, 10, 20, 40, 80, 160, 320, 640])
      // Due in 640 ms. A hundred triggers before that, each of which fails, change nothing about it.
      for (let i = 1; i <= 100; i++) {
        yield* TestClock.adjust(1)
        queue.add("a", why)
        yield* next(queue)
        assert.strictEqual(yield* queue.done("a", failed()), 640 - i)
      }
      yield* TestClock.adjust(539)
      assert.strictEqual(queue.stats().waiting, 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(queue.stats(), { ready: 1, waiting: 0, processing: 0 })
      yield* next(queue)
      assert.strictEqual(yield* queue.done("a", failed()), 1280)
    }))

  it.effect("hands an added key to a waiting worker at once, without time passing or a timer", () =>
    counting((sleeps) =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make()
        const got: Array<string> = []
        const worker = Effect.forever(Effect.gen(function*() {
          const item = yield* next(queue)
          got.push(item.key)
          yield* queue.done(item.key, done)
        }))
        yield* Effect.forkChild(worker, { startImmediately: true })
        yield* Effect.forkChild(worker, { startImmediately: true })
        yield* Effect.yieldNow
        for (const key of ["a", "b", "a", "c"]) queue.add(key, why)
        yield* Effect.yieldNow
        assert.deepStrictEqual(got.toSorted().filter((key, i, all) => key !== all[i - 1]), ["a", "b", "c"])
        assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
        assert.deepStrictEqual(sleeps, [])
      })
    ))

  it.effect("never hands a key to two workers, and hands it out again if it was added meanwhile", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      yield* next(queue)
      const other = yield* Effect.forkChild(next(queue), { startImmediately: true })
      queue.add("a", { _tag: "Added", kind: "Pod", object: "d/p" })
      queue.add("a", why)
      queue.addAfter("a", 0, { _tag: "Requeue" })
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(other.pollUnsafe())
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 1 })
      yield* queue.done("a", done)
      const item = yield* Fiber.join(other)
      assert.deepStrictEqual(item.reasons.map(({ _tag }) => _tag), ["Added", "Resync", "Requeue"])
    }))

  it.effect("sleeps once per delay, never polls, and not at all with nothing to wait for", () =>
    counting((sleeps) =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make()
        const fiber = yield* Effect.forkChild(next(queue), { startImmediately: true })
        yield* TestClock.adjust("10 hours")
        assert.deepStrictEqual(sleeps, [])
        queue.addAfter("a", 3_600_000, why)
        queue.addAfter("a", 7_200_000, why)
        queue.addAfter("b", 5_400_000, why)
        yield* TestClock.adjust("59 minutes")
        assert.deepStrictEqual(sleeps, [3_600_000])
        yield* TestClock.adjust("1 hour")
        assert.strictEqual((yield* Fiber.join(fiber)).key, "a")
        assert.strictEqual((yield* next(queue)).key, "b")
        assert.deepStrictEqual(sleeps, [3_600_000, 1_800_000])
        yield* queue.done("a", done)
        yield* queue.done("b", done)
        yield* TestClock.adjust("100 hours")
        assert.deepStrictEqual(sleeps, [3_600_000, 1_800_000])
      })
    ))

  it.effect("sets the timer forward for an earlier delay", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      const order: Array<string> = []
      yield* Effect.forkChild(Effect.forever(Effect.gen(function*() {
        const item = yield* next(queue)
        order.push(`${item.key}@${item.at}`)
        yield* queue.done(item.key, done)
      })))
      queue.addAfter("late", 1_000, why)
      queue.addAfter("early", 10, why)
      queue.addAfter("middle", 500, why)
      // The earlier of two times for one key wins, whichever comes first.
      queue.addAfter("twice", 700, why)
      queue.addAfter("twice", 300, why)
      queue.addAfter("twice", 900, why)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(order, ["early@10", "twice@300", "middle@500", "late@1000"])
    }))

  it.effect("re-arms the timer from within a worker it woke", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      const times: Array<string> = []
      const worker = Effect.forever(Effect.gen(function*() {
        const item = yield* next(queue)
        times.push(`${item.key}@${item.at}`)
        yield* queue.done(item.key, times.length > 12 ? done : { _tag: "Again", delay: item.key === "a" ? 30 : 20 })
      }))
      yield* Effect.forkChild(worker)
      yield* Effect.forkChild(worker)
      queue.addAfter("a", 10, why)
      queue.addAfter("b", 10, why)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(times, [
        "a@10",
        "b@10",
        "b@30",
        "a@40",
        "b@50",
        "a@70",
        "b@70",
        "b@90",
        "a@100",
        "b@110",
        "a@130",
        "b@130",
        "b@150",
        "a@160"
      ])
    }))

  it.effect("runs a key that requeues itself at once, behind the others", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      queue.add("b", why)
      yield* next(queue)
      yield* queue.done("a", { _tag: "Again", delay: 0 })
      const items = [yield* next(queue), yield* next(queue)]
      assert.deepStrictEqual(items.map(({ key, reasons }) => [key, reasons[0]?._tag]), [["b", "Resync"], [
        "a",
        "Requeue"
      ]])
    }))

  it.effect("lets a change overtake a requested delay", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      yield* next(queue)
      yield* queue.done("a", { _tag: "Again", delay: 3_600_000 })
      yield* TestClock.adjust(5)
      queue.add("a", why)
      assert.deepStrictEqual((yield* next(queue)).reasons, [{ _tag: "Requeue" }, why])
      yield* queue.done("a", done)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
    }))

  it.effect("retries by a schedule chosen by error, and rests when it ends", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({
        retry: Schedule.spaced("3 seconds").pipe(
          Schedule.upTo({ times: 3 }),
          Schedule.while(({ input }) => input !== "hopeless")
        )
      })
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, ["x", "x", "x", "x"]), [3_000, 3_000, 3_000, undefined])
      yield* TestClock.adjust("100 hours")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
      // Its object changed: the key has the whole schedule again.
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, ["x", "x", "hopeless"]), [3_000, 3_000, undefined])
      queue.add("a", why)
      assert.deepStrictEqual(yield* delays(queue, ["x"]), [3_000])
    }))

  it.effect("if the schedule throws on an error, the default delay is used and the log says so", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const byInput = Schedule.spaced("3 seconds").pipe(
        Schedule.setInputType<unknown>(),
        Schedule.while(({ input }) => (input as string).length > 0)
      )
      const queue = yield* WorkQueue.make({ retry: byInput })
      queue.add("a", why)
      assert.deepStrictEqual(
        yield* delays(queue, ["oh", null, null, null, "oh"]).pipe(
          Effect.provide(logger)
        ),
        [3_000, 5, 10, 20, 3_000]
      )
      assert.lengthOf(lines, 3)
      assert.match(lines[0]!, /^retry: the schedule threw TypeError: .*; the default delay is used: .*undefined/)
      const broken = yield* WorkQueue.make({
        retry: Schedule.fromStep(Effect.die(new Error("a bug"))) as Schedule.Schedule<unknown, unknown>
      })
      broken.add("a", why)
      assert.deepStrictEqual(yield* delays(broken, ["oh", "oh"]), [5, 10])
    }))

  it.effect("rests when told to, until something adds the key", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      yield* next(queue)
      assert.isUndefined(yield* queue.done("a", { _tag: "Rest" }))
      yield* TestClock.adjust("100 hours")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
      queue.add("a", why)
      assert.deepStrictEqual((yield* next(queue)).failures, 1)
    }))

  it.effect("runs a key at once that was added while it failed or was told to rest", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      for (const outcome of [failed(), { _tag: "Rest" } as const]) {
        queue.add("a", why)
        yield* next(queue)
        queue.add("a", why)
        yield* queue.done("a", outcome)
        assert.deepStrictEqual(queue.stats(), { ready: 1, waiting: 0, processing: 0 })
        yield* next(queue)
        yield* queue.done("a", done)
      }
    }))

  it.effect("waits at least as long as the server's Retry-After and as the backoff", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      yield* next(queue)
      assert.strictEqual(yield* queue.done("a", failed("429", 30_000)), 30_000)
      yield* TestClock.adjust("29999 millis")
      assert.strictEqual(queue.stats().waiting, 1)
      yield* TestClock.adjust(1)
      yield* next(queue)
      assert.strictEqual(yield* queue.done("a", failed("429", 3)), 10)
      queue.add("a", why)
      yield* next(queue)
      assert.strictEqual(yield* queue.done("a", failed("429", 1_000)), 1_000)
    }))

  it.effect("drains: nothing is accepted or handed out, waiting workers leave, and it ends with the last busy one", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      for (const key of ["a", "b", "c"]) queue.add(key, why)
      yield* next(queue)
      yield* next(queue)
      yield* next(queue)
      const waiting = yield* Effect.forkChild(queue.take, { startImmediately: true })
      queue.add("a", why)
      queue.addAfter("d", 10, why)
      const drained = yield* Effect.forkChild(queue.drain, { startImmediately: true })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Fiber.join(waiting), Option.none())
      queue.add("e", why)
      queue.addAfter("f", 0, why)
      yield* queue.done("a", done)
      yield* queue.done("b", failed())
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(drained.pollUnsafe())
      yield* queue.done("c", { _tag: "Again", delay: 0 })
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(drained)
      assert.deepStrictEqual(yield* queue.take, Option.none())
      assert.strictEqual(queue.stats().processing, 0)
    }))

  it.effect("reports when certain keys are idle, and continues meanwhile", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      for (const key of ["a", "b"]) queue.add(key, why)
      yield* next(queue)
      yield* next(queue)
      const idle = yield* Effect.forkChild(queue.idle((key) => key === "a"), { startImmediately: true })
      yield* queue.idle((key) => key === "c")
      yield* queue.done("b", done)
      assert.isUndefined(idle.pollUnsafe())
      queue.add("d", why)
      assert.strictEqual((yield* next(queue)).key, "d")
      yield* queue.done("a", done)
      yield* Fiber.join(idle)
    }))

  it.effect("drains at once when nothing is being processed", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.add("a", why)
      yield* queue.drain
      yield* queue.drain
      queue.add("b", why)
      queue.addAfter("c", 0, why)
      assert.deepStrictEqual(queue.stats(), { ready: 1, waiting: 0, processing: 0 })
      assert.deepStrictEqual(yield* queue.take, Option.none())
    }))

  it.effect("loses no key to a worker that was interrupted while it waited", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      const gone = yield* Effect.forkChild(queue.take, { startImmediately: true })
      const stays = yield* Effect.forkChild(queue.take, { startImmediately: true })
      yield* Fiber.interrupt(gone)
      queue.add("a", why)
      assert.strictEqual(Option.getOrThrow(yield* Fiber.join(stays)).key, "a")
    }))

  it.effect("treats an infinite delay as never", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      queue.addAfter("never", Infinity, why)
      queue.addAfter("soon", 10, why)
      yield* TestClock.adjust("100 days")
      assert.deepStrictEqual(queue.stats(), { ready: 1, waiting: 1, processing: 0 })
      queue.add("never", why)
      assert.deepStrictEqual(queue.stats(), { ready: 2, waiting: 0, processing: 0 })
    }))

  it.effect("delays keep their length, even if the clock is set back meanwhile", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let behind = 0
      const millis = () => clock.currentTimeMillisUnsafe() - behind
      const putBack = { ...clock, currentTimeMillisUnsafe: millis, currentTimeMillis: Effect.sync(millis) }
      const queue = yield* Effect.provideService(WorkQueue.make(), Clock.Clock, putBack)
      yield* TestClock.adjust("1 day")
      queue.addAfter("a", 5_000, why)
      behind = 3_600_000
      const fiber = yield* Effect.forkChild(next(queue), { startImmediately: true })
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 1, processing: 0 })
      // People are told by the clock as it is.
      assert.deepStrictEqual(queue.keys().map(({ due }) => due), [millis() + 1])
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).readySince, millis())
      assert.deepStrictEqual([...queue.processing()], [["a", millis()]])
      yield* queue.done("a", { _tag: "Again", delay: 1_000 })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(queue.stats().ready, 1)
    }))

  it.effect("merges what is added within the debounce time, and runs it once when that is over", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({ debounce: "100 millis" })
      const fiber = yield* Effect.forkChild(next(queue), { startImmediately: true })
      queue.add("a", why)
      yield* TestClock.adjust("60 millis")
      queue.add("a", { _tag: "Requeue" })
      yield* TestClock.adjust("60 millis")
      const item = yield* Fiber.join(fiber)
      assert.deepInclude(item, { key: "a", at: 100, readySince: 100 })
      assert.strictEqual(item.reasons.length, 2)
      yield* queue.done("a", done)
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
    }))

  it.effect("hands out as many keys as the rate allows, and no more", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({ rate: { limit: 10, interval: "1 second" } })
      const times: Array<number> = []
      const worker = Effect.forever(Effect.gen(function*() {
        const item = yield* next(queue)
        times.push(item.at)
        yield* queue.done(item.key, done)
      }))
      yield* Effect.forkChild(worker)
      yield* Effect.forkChild(worker)
      for (let i = 0; i < 45; i++) queue.add(`n/${i}`, why)
      yield* Effect.repeat(Effect.yieldNow, { times: 200 })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(times.length, 45)
      assert.strictEqual(times.filter((at) => at === 0).length, 10, "a burst of one interval's worth")
      for (const [index, at] of times.entries()) {
        const within = times.filter((other) => other >= at && other < at + 1_000).length
        assert.isAtMost(within, 19, `from the ${index}th: at most a burst and what accrues after it`)
      }
      assert.strictEqual(times.at(-1), 3_500)
    }))

  it.effect("keys that do not count do not use up the rate", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({
        rate: { limit: 1, interval: "1 second" },
        counts: (key) => key.endsWith("0")
      })
      const times: Array<number> = []
      yield* Effect.forkChild(Effect.forever(Effect.gen(function*() {
        const item = yield* next(queue)
        if (item.key.endsWith("0")) times.push(item.at)
        yield* queue.done(item.key, done)
      })))
      for (let i = 0; i < 40; i++) queue.add(`n/${i}`, why)
      yield* Effect.repeat(Effect.yieldNow, { times: 200 })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(times, [0, 1_000, 2_000, 3_000])
    }))

  it.effect("a rate sets no timer while there is nothing to hand out", () =>
    counting((sleeps) =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make({ rate: { limit: 1, interval: "1 second" } })
        for (let round = 0; round < 2; round++) {
          const fiber = yield* Effect.forkChild(next(queue), { startImmediately: true })
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(sleeps, [], "no key, and a worker that waits")
          queue.add("a", why)
          const { key } = yield* Fiber.join(fiber)
          yield* queue.done(key, { _tag: "Done" })
        }
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(sleeps, [], "no key, and no worker")
      })
    ))

  it.effect("a worker that waits when the rate is used up gets a new key as soon as the rate allows it", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make({ rate: { limit: 1, interval: "1 second" } })
      queue.add("a", why)
      yield* next(queue)
      const waiting = yield* Effect.forkChild(next(queue), { startImmediately: true })
      queue.add("b", why)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(waiting), { key: "b", at: 1_000 })
    }))

  it.effect("a rate sets no timer while no worker is free", () =>
    counting((sleeps) =>
      Effect.gen(function*() {
        const queue = yield* WorkQueue.make({ rate: { limit: 1, interval: "1 second" } })
        for (const key of ["a", "b"]) queue.add(key, why)
        yield* next(queue)
        queue.doneUnsafe("a", { _tag: "Again", delay: 0 })
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(sleeps, [])
        assert.deepStrictEqual(queue.stats(), { ready: 2, waiting: 0, processing: 0 })
      })
    ))

  it("refuses a rate of zero, or per zero time", () => {
    const made = (rate: WorkQueue.Rate) => () => Effect.runSync(Effect.scoped(WorkQueue.make({ rate })))
    assert.throws(made({ limit: 0, interval: 1 }), "rate: 0")
    assert.throws(made({ limit: 1, interval: 0 }), "rate: 1 in 0 ms")
  })

  it.effect("a waiting worker leaves at once when the queue drains, with nothing else due", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue.make()
      const waiting = yield* Effect.forkChild(queue.take, { startImmediately: true })
      yield* queue.drain
      assert.deepStrictEqual(waiting.pollUnsafe(), Exit.succeed(Option.none()))
    }))

  it.effect("tells its monitor the waiting times and the retries", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const queue = yield* WorkQueue.make({
        monitor: {
          added: () => told.push("added"),
          taken: (waited) => told.push(`taken after ${waited}`),
          retried: () => told.push("retried")
        }
      })
      queue.add("a", why)
      yield* TestClock.adjust("30 millis")
      yield* next(queue)
      assert.deepStrictEqual([...queue.processing()], [["a", 30]])
      yield* queue.done("a", failed())
      yield* TestClock.adjust("15 millis")
      yield* next(queue)
      assert.deepStrictEqual(told, ["added", "taken after 30", "retried", "taken after 10"], "ready since 5 ms later")
      queue.addAfter("b", 10, why)
      assert.strictEqual(told.at(-1), "added")
    }))
})
