import {
  Action,
  Cache,
  Controller,
  EventRecorder,
  KubeClient,
  type KubeObject,
  Leadership,
  Metrics,
  Resource,
  Trigger,
  WorkQueue
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../src/internal/Deadlines.ts"
import { OwnWrites } from "../src/internal/OwnWrites.ts"
import * as Worker from "../src/internal/worker.ts"

const why: Trigger.Reason = { _tag: "Resync" }

const Widget = Resource.make<KubeObject.KubeObject>()({
  group: "test.io",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const object: KubeObject.KubeObject = {
  apiVersion: "test.io/v1",
  kind: "Widget",
  metadata: { name: "a", namespace: "b", uid: "c", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" }
}

/** The same with a status that somebody has written. */
const shown = { ...object, status: {}, metadata: { ...object.metadata, resourceVersion: "2" } }

const unused = (): Effect.Effect<never> => Effect.die(new Error("nothing is sent"))

/** A queue and one worker of a controller that reconciles so, with a time-out of a minute. */
const working = Effect.fnUntraced(function*(
  reconcile: (key: string) => Effect.Effect<Action.Action>,
  find: Effect.Effect<KubeObject.KubeObject, Cache.NotObserved> = Effect.succeed(object),
  owns: () => boolean = () => true
) {
  const controller = Controller.make("widgets", {
    for: Widget,
    timeout: "1 minute",
    reconcile: (_, { key }) => reconcile(key)
  })
  const metrics = yield* Metrics.forController(controller)
  const queue = yield* WorkQueue.make({ monitor: metrics.queue })
  const ownWrites = new OwnWrites()
  const underWay = new Map<string, Fiber.Fiber<unknown, unknown>>()
  let id = 0
  const silent: EventRecorder.EventRecorder = {
    normal: () => Effect.void,
    warning: () => Effect.void,
    about: () => silent
  }
  const worker = Worker.make({
    controller,
    queue,
    find: () => find,
    events: EventRecorder.EventSink.of({
      recorder: () => silent,
      flush: Effect.void
    }),
    metrics,
    leadership: { ...Leadership.always, owns },
    unwritten: Effect.logDebug,
    ownWrites,
    deadlines: yield* Deadlines.make(controller.timeout),
    underWay,
    tracing: undefined,
    nextId: () => String(id++)
  })
  const fiber = yield* Effect.forkChild(
    Effect.provideService(worker, KubeClient.KubeClient, KubeClient.make({ request: unused, stream: unused }))
  )
  /** Whether an event of the object's status waits for an answer that would say whose it is. */
  const waits = () => ownWrites.echoes({ _tag: "Updated", old: object, object: shown }, () => {})
  return { queue, fiber, underWay, waits }
})

const activeWorkers = Effect.map(
  Metric.snapshot,
  (found) => found.find(({ id }) => id === "controller_runtime_active_workers")!.state
)

const alone = Effect.provideService(Metric.MetricRegistry, new Map())

describe("worker", () => {
  it.effect("an object that goes elsewhere while its cache is waited for is not reconciled here", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      let owns = true
      const { fiber, queue } = yield* working(
        (key) => Effect.sync(() => (journal.push(key), Action.done)),
        Effect.delay(Effect.succeed(object), "10 seconds"),
        () => owns
      )
      queue.add("b/a", why)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(queue.stats().processing, 1)
      owns = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([journal, queue.keys()], [[], []])
      owns = true
      queue.add("b/a", why)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(journal, ["b/a"])
      yield* Fiber.interrupt(fiber)
    }))

  it.effect("reconciles that never wait set no timer, and let other fibers run", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let sleeps = 0
      let left = 10_000
      /** Keys in a row without a turn for others. */
      let row = 0
      let longest = 0
      const counting: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
        sleep: (duration: Parameters<Clock.Clock["sleep"]>[0]) => {
          sleeps += 1
          return clock.sleep(duration)
        }
      })
      const { fiber, queue } = yield* Effect.provideService(
        working(() =>
          Effect.sync(() => {
            left -= 1
            longest = Math.max(longest, ++row)
            return Action.done
          })
        ),
        Clock.Clock,
        counting
      )
      yield* Effect.forkChild(Effect.forever(Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => {
          row = 0
        })
      )))
      for (let n = 0; n < 10_000; n++) queue.add(`b/${n}`, why)
      for (let turn = 0; turn < 2_000; turn++) yield* Effect.yieldNow
      assert.strictEqual(left, 0)
      assert.strictEqual(sleeps, 0)
      assert.isAtMost(longest, 100)
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
      yield* Fiber.interrupt(fiber)
    }).pipe(alone))

  it.effect("interrupted midway, it leaves the key as unprocessed as before, and nothing running", () =>
    Effect.gen(function*() {
      let cleaned = 0
      const { fiber, queue, underWay, waits } = yield* working(() =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            cleaned += 1
          }))
      )
      queue.add("b/a", why)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 1 })
      assert.deepInclude(yield* activeWorkers, { value: 1 })
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(cleaned, 1)
      assert.deepInclude(yield* activeWorkers, { value: 0 })
      assert.deepStrictEqual(queue.stats(), { ready: 1, waiting: 0, processing: 0 })
      assert.strictEqual(underWay.size, 0)
      assert.isFalse(waits())
      yield* TestClock.adjust(1)
      assert.strictEqual(queue.takeUnsafe()?.key, "b/a")
    }).pipe(alone))

  it.effect("interrupted at rest, after a reconcile that took a while, it has nothing to undo", () =>
    Effect.gen(function*() {
      const { fiber, queue, underWay, waits } = yield* working(() => Effect.as(Effect.sleep("1 second"), Action.done))
      queue.add("b/a", why)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(underWay.size, 1)
      assert.isTrue(waits())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
      assert.strictEqual(underWay.size, 0)
      assert.isFalse(waits(), "an event of somebody else's")
      assert.deepInclude(yield* activeWorkers, { value: 0 })
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepInclude(yield* activeWorkers, { value: 0 })
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
    }).pipe(alone))

  it.effect("an object that is taken away during its reconcile is not a failure, and its events wait for nothing", () =>
    Effect.gen(function*() {
      let isOurs = true
      const { fiber, queue, underWay, waits } = yield* working(() => Effect.never, undefined, () => isOurs)
      queue.add("b/a", why)
      yield* TestClock.adjust("1 millis")
      isOurs = false
      underWay.get("b/a")!.interruptUnsafe()
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(queue.keys(), [], "nor is it tried again")
      assert.deepStrictEqual([underWay.size, waits()], [0, false])
      assert.deepInclude(yield* activeWorkers, { value: 0 })
      yield* Fiber.interrupt(fiber)
    }).pipe(alone))

  it.effect("what the cache does not show in time is retried", () =>
    Effect.gen(function*() {
      let looks = 0
      const find = Effect.suspend(() =>
        ++looks < 3
          ? Effect.delay(Effect.fail(new Cache.NotObserved({ message: "late" })), "30 seconds")
          : Effect.succeed(object)
      )
      const at: Array<number> = []
      const { fiber, queue } = yield* working(
        () => Effect.map(Clock.currentTimeMillis, (now) => (at.push(now), Action.done)),
        find
      )
      queue.add("b/a", why)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([looks, at], [3, [60_000]])
      assert.deepStrictEqual(queue.stats(), { ready: 0, waiting: 0, processing: 0 })
      yield* Fiber.interrupt(fiber)
    }).pipe(alone))

  it.effect("fibers that a reconcile forks end with it", () =>
    Effect.gen(function*() {
      let ended = 0
      const { fiber, queue } = yield* working(() =>
        Effect.as(
          Effect.forkChild(
            Effect.onInterrupt(Effect.never, () =>
              Effect.sync(() => {
                ended += 1
              })),
            { startImmediately: true }
          ),
          Action.done
        )
      )
      queue.add("b/a", why)
      yield* TestClock.adjust(1)
      assert.strictEqual(ended, 1)
      yield* Fiber.interrupt(fiber)
    }).pipe(alone))
})
