/** The defects of skuber-operator (the seed of this project) in its queue and its loop: none of them is here. */
import { Action, Cache, CacheIndex, Controller, KubeClient, Watch } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { client, cluster, configMap, createWidget, Journal, line, operate, resize, Widget } from "./support.ts"

describe("skuber-operator's defects: queue and loop", () => {
  it.effect("defect 1: an event during a successful reconcile is not lost", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      let running = 0
      const controller = Controller.make("widgets", {
        for: Widget,
        concurrency: 4,
        reconcile: Effect.fnUntraced(function*({ spec }) {
          running += 1
          assert.strictEqual(running, 1, "one at a time")
          yield* Effect.sleep("1 second")
          yield* journal.note(String(spec.size))
          running -= 1
          return Action.done
        })
      })
      yield* operate(yield* line, [controller])
      yield* createWidget("a", 1)
      yield* TestClock.adjust("500 millis")
      yield* resize("a", 2)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(journal.words, ["1", "2"])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 4: throughput has no cap of a key per tick, and no latency of one", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      yield* operate(yield* line, [controller])
      yield* TestClock.adjust("1 second")
      const before = yield* Clock.currentTimeMillis
      for (let i = 0; i < 500; i++) yield* createWidget(`w-${i}`)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(new Set(journal.words).size, 500, "500 keys by one worker, and no time has passed")
      assert.isAtMost(journal.times.at(-1)! - before, 1)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 5: one slow reconcile holds up the completion of none", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        concurrency: 2,
        reconcile: Effect.fnUntraced(function*({ metadata }) {
          yield* journal.note(metadata.name)
          if (metadata.name === "slow") yield* Effect.sleep("1 hour")
          return Action.requeueAfter("1 second")
        })
      })
      yield* createWidget("slow")
      yield* createWidget("fast")
      yield* operate(yield* line, [controller])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(journal.timesOf("slow").length, 1)
      assert.isAtLeast(journal.timesOf("fast").length, 60)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 6: a synchronous throw in a reconcile stops nothing, and is tried again", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      let mended = false
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) => {
          if (metadata.name === "bad" && !mended) throw new Error("not an Effect at all")
          return Effect.as(journal.note(metadata.name), Action.done)
        }
      })
      const { manager } = yield* operate(yield* line, [controller])
      yield* createWidget("bad")
      yield* createWidget("good")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(journal.words, ["good"])
      yield* createWidget("later")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(journal.words, ["good", "later"])
      mended = true
      yield* TestClock.adjust("16 minutes")
      assert.deepStrictEqual(journal.words, ["good", "later", "bad"])
      assert.isUndefined((yield* manager.report).failed)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 8: a burst of thousands loses no object, however busy the workers are", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) =>
          Effect.as(Effect.andThen(Effect.sleep("1 second"), journal.note(metadata.name)), Action.done)
      })
      yield* operate(yield* line, [controller])
      yield* createWidget("first")
      yield* TestClock.adjust("100 millis")
      for (let i = 0; i < 2_000; i++) yield* createWidget(`w-${i}`)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(journal.words.length, 2_001)
      assert.strictEqual(new Set(journal.words).size, 2_001)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 14a: a stop waits for the reconciles under way", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: Effect.fnUntraced(function*({ metadata }) {
          yield* journal.note(`begins ${metadata.name}`)
          yield* Effect.sleep("10 seconds")
          yield* journal.note(`ends ${metadata.name}`)
          return Action.done
        })
      })
      // Tests end without a drain, unless they ask for one.
      const { stop } = yield* operate(yield* line, [controller], { drain: "25 seconds" })
      yield* createWidget("a")
      yield* TestClock.adjust("1 second")
      const stopping = yield* Effect.forkChild(stop)
      yield* TestClock.adjust("1 second")
      yield* createWidget("b")
      assert.isUndefined(stopping.pollUnsafe())
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(journal.words, ["begins a", "ends a"])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 14b: events of one millisecond have names of their own", () =>
    Effect.gen(function*() {
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: (_, { events }) =>
          Effect.as(
            Effect.forEach(
              Array.from({ length: 20 }, (_, i) => i),
              (i) => events.normal({ reason: "Counted", note: String(i) })
            ),
            Action.done
          )
      })
      yield* operate(yield* line, [controller])
      yield* createWidget("a")
      yield* TestClock.adjust("1 second")
      const events = yield* client.use((client) => Stream.runCollect(client.list(Event, { namespace: "default" })))
      const own = events.filter(({ reportingController }) => reportingController === "widgets")
      assert.deepStrictEqual(
        own.map(({ note }) => Number(note)).toSorted((a, b) => a - b),
        Array.from({ length: 20 }, (_, i) => i)
      )
      assert.strictEqual(new Set(own.map(({ eventTime }) => eventTime)).size, 1, "all in one millisecond")
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 14c: requeueAfter forgets the failures before it", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const failures: Array<number> = []
      let runs = 0
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: Effect.fnUntraced(function*(_, context) {
          runs += 1
          failures.push(context.failures)
          yield* journal.note(String(runs))
          if (runs === 9) return Action.requeueAfter("1 minute")
          if (runs === 12) return Action.done
          return yield* Effect.fail("not yet")
        })
      })
      yield* operate(yield* line, [controller])
      yield* createWidget("a")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(failures, [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2])
      const gaps = journal.times.slice(1).map((at, i) => at - journal.times[i]!)
      assert.deepStrictEqual(gaps, [5, 10, 20, 40, 80, 160, 320, 640, 60_000, 5, 10])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 14d: an index keeps nothing of what an object was", () =>
    Effect.gen(function*() {
      const byTier = CacheIndex.make(ConfigMap, "tier", ({ metadata }) => [metadata.labels?.["tier"] ?? "none"])
      const found: Array<ReadonlyArray<number>> = []
      const controller = Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(ConfigMap, {
          labels: [{ operator: "exists", key: "tier" }],
          map: () => [{ namespace: "default", name: "a" }]
        })],
        reconcile: Effect.fnUntraced(function*() {
          const counts = yield* Effect.forEach(
            ["one", "two"],
            (tier) => Effect.map(Cache.byIndex(byTier, tier), ({ length }) => length)
          )
          found.push(counts)
          return Action.done
        })
      })
      yield* operate(yield* line, [controller])
      yield* createWidget("a")
      const map = yield* client.use((client) => client.create(ConfigMap, configMap("m", { tier: "one" })))
      yield* TestClock.adjust("1 second")
      yield* client.use((client) =>
        client.patch(ConfigMap, map, KubeClient.Patch.merge({ metadata: { labels: { tier: "two" } } }))
      )
      yield* TestClock.adjust("1 second")
      yield* client.use((client) => client.delete(ConfigMap, map))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(found.slice(-3), [[1, 0], [0, 1], [0, 0]])
    }).pipe(Effect.provide(cluster)))
})
