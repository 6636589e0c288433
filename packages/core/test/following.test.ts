import { Action, Cache, Controller, Watch } from "@effect-operator/core"
import type * as Resource from "@effect-operator/core/Resource"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Queue, Stream } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

/** Wakes the Widget of the object's name. */
const sameName = (resource: Resource.Any, options: Watch.Scope = {}) =>
  Watch.make(resource, { ...options, map: ({ metadata: { name, namespace } }) => [{ namespace, name }] })

/** A controller whose watches are what is offered to a queue, and the Widgets it was woken for. */
const following = Effect.gen(function*() {
  const server = new Server(Widget, Part, Secret)
  for (const name of ["a", "b"]) server.put(Widget, name, { spec: { size: 1 } })
  const journal = new Journal()
  const wanted = yield* Queue.unbounded<ReadonlyArray<Watch.Watch<Resource.Any, never>>>()
  const controller = Controller.make("following", {
    for: Widget,
    dynamicWatches: Stream.fromQueue(wanted),
    reconcile: ({ metadata }, { reasons }) =>
      Effect.as(
        journal.note(`${metadata.name}: ${reasons.map((reason) => "kind" in reason ? reason.kind : reason._tag)}`),
        Action.done
      )
  })
  const manager = yield* operate(server, [controller])
  yield* settle
  journal.clear()
  const want = (...watches: ReadonlyArray<Watch.Watch<Resource.Any, never>>) =>
    Effect.andThen(Queue.offer(wanted, watches), settle)
  const followed = Effect.map(manager.report, ({ watches }) => watches.map(({ plural }) => plural).sort())
  return { server, journal, want, followed, manager }
})

describe("dynamic watches", () => {
  it.effect("wake the mapped objects for as long as they are wanted, beginning with what exists", () =>
    Effect.gen(function*() {
      const { followed, journal, server, want } = yield* following
      server.put(Part, "a")
      yield* want(sameName(Part))
      assert.deepStrictEqual(journal.words, ["a: Part"])
      assert.deepStrictEqual(yield* followed, ["parts", "widgets.test.io"], "seen in the report, and so in health")
      server.put(Part, "b")
      yield* settle
      server.delete(Part, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, ["a: Part", "b: Part", "a: Part"])
      yield* want()
      assert.deepStrictEqual(yield* followed, ["widgets.test.io"])
      assert.deepStrictEqual(server.watchesOf(Part), [])
      server.patch(Part, "b", { spec: { role: "lost" } })
      yield* settle
      assert.lengthOf(journal.words, 3)
    }))

  it.effect("a watch that stays wanted is not listed again, and uses its latest description", () =>
    Effect.gen(function*() {
      const { journal, server, want } = yield* following
      yield* want(sameName(Part))
      server.put(Part, "a")
      yield* settle
      yield* want(Watch.make(Part, { map: () => [{ namespace: "default", name: "b" }] }), sameName(Secret))
      assert.lengthOf(server.requestsFor("GET", "parts").filter(({ query }) => !query.some(([k]) => k === "watch")), 1)
      server.patch(Part, "a", { spec: { role: "changed" } })
      server.put(Secret, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, ["a: Part", "b: Part", "b: Part", "a: Secret"])
    }))

  it.effect("an object that a new description adds is woken by what exists, and no other is", () =>
    Effect.gen(function*() {
      const { journal, server, want } = yield* following
      const to = (...names: ReadonlyArray<string>) =>
        Watch.make(Part, { map: () => names.map((name) => ({ namespace: "default", name })) })
      server.put(Part, "p")
      yield* want(to("a"))
      journal.clear()
      yield* want(to("a"))
      assert.deepStrictEqual(journal.words, [])
      yield* want(to("b"))
      yield* want(to("a"))
      assert.deepStrictEqual(journal.words, ["b: Part", "a: Part"], "compared with the description before")
    }))

  it.effect("what the new predicate passes and the previous one did not wakes the mapped objects", () =>
    Effect.gen(function*() {
      const { journal, server, want } = yield* following
      const chosen = (...names: ReadonlyArray<string>) =>
        Watch.make(Part, {
          map: ({ metadata: { name, namespace } }) => [{ namespace, name }],
          predicate: (delta) => delta._tag === "Invalid" || names.includes(delta.object.metadata.name)
        })
      for (const name of ["a", "b"]) server.put(Part, name)
      yield* want(chosen("a"))
      assert.deepStrictEqual(journal.words, ["a: Part"])
      yield* want(chosen("a", "b"))
      assert.deepStrictEqual(journal.words, ["a: Part", "b: Part"])
    }))

  it.effect("several with one selection share one watch on the server; namespaces come and go one by one", () =>
    Effect.gen(function*() {
      const { followed, journal, server, want } = yield* following
      const both = Watch.make(Part, { map: () => [{ namespace: "default", name: "b" }] })
      yield* want(sameName(Part), both)
      assert.lengthOf(server.watchesOf(Part), 1)
      server.put(Part, "a")
      yield* settle
      assert.deepStrictEqual([...journal.words].sort(), ["a: Part", "b: Part"])
      const inDefault = (...namespaces: ReadonlyArray<string>) =>
        Watch.make(Part, { namespaces, map: ({ metadata: { name } }) => [{ namespace: "default", name }] })
      yield* want(inDefault("one", "two"))
      const [one] = server.watchesOf(Part)
      yield* want(inDefault("one", "three"))
      assert.lengthOf(server.watchesOf(Part), 2)
      assert.strictEqual(server.watchesOf(Part)[0], one, "of the namespace that stays")
      assert.deepStrictEqual(yield* followed, ["parts", "parts", "widgets.test.io"])
    }))

  it.effect("what happened while the server could not be watched is caught up on, including deletions", () =>
    Effect.gen(function*() {
      const { journal, server, want } = yield* following
      server.put(Part, "a")
      yield* want(sameName(Part))
      journal.clear()
      server.hold()
      server.delete(Part, "a")
      server.compact()
      for (const watch of server.watchesOf(Part)) watch.end()
      server.release()
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, ["a: Part"])
    }))

  it.effect("a kind that cannot be watched is in the report, and holds up nothing", () =>
    Effect.gen(function*() {
      const { journal, manager, server, want } = yield* following
      const Missing = { ...Part, id: "Missing.v1", kind: "Missing", plural: "missings" }
      yield* want(sameName(Missing))
      yield* pass("1 minute")
      const { watches } = yield* manager.report
      assert.strictEqual(watches.find(({ plural }) => plural === "missings")?.status._tag, "Degraded")
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["a: Widget"])
    }))

  it.effect("a stream that fails is restarted, and its last element counts until then", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", { spec: { size: 1 } })
      const journal = new Journal()
      const starts = new Journal()
      const controller = Controller.make("failing", {
        for: Widget,
        dynamicWatches: Stream.fromEffect(starts.note("start")).pipe(
          Stream.map(() => [sameName(Part)]),
          Stream.concat(Stream.die(new Error("no more")))
        ),
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      yield* operate(server, [controller])
      yield* settle
      journal.clear()
      const watches = server.watchesOf(Part)
      assert.lengthOf(watches, 1)
      server.put(Part, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, ["a"])
      yield* pass("2 seconds")
      assert.deepStrictEqual(starts.words, ["start", "start"])
      assert.deepStrictEqual(server.watchesOf(Part), watches)
    }))

  it.effect("the stream reads the cache, and starts when that is full", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", { spec: { size: 1 } })
      const controller = Controller.make("reading", {
        for: Widget,
        dynamicWatches: Cache.changes(Widget).pipe(
          Stream.mapEffect(() => Cache.list(Widget)),
          Stream.map((widgets) => widgets.length > 1 ? [sameName(Part)] : [])
        ),
        reconcile: () => Effect.succeed(Action.done)
      })
      yield* operate(server, [controller])
      yield* settle
      assert.deepStrictEqual(server.watchesOf(Part), [])
      server.put(Widget, "b", { spec: { size: 1 } })
      yield* settle
      assert.lengthOf(server.watchesOf(Part), 1)
      server.delete(Widget, "a")
      yield* settle
      assert.deepStrictEqual(server.watchesOf(Part), [])
    }))

  it.effect("a hundred that come and go leave no fiber and no metric series behind", () => {
    let fibers = 0
    const count = { recordFiberStart: () => void fibers++, recordFiberEnd: () => void fibers-- }
    return Effect.gen(function*() {
      const { manager, want } = yield* following
      const once = Effect.andThen(want(sameName(Part)), want())
      yield* once
      const [atStart, series] = [fibers, manager.metrics.size]
      for (let i = 0; i < 100; i++) yield* once
      assert.strictEqual(fibers, atStart)
      assert.strictEqual(manager.metrics.size, series)
    }).pipe(Effect.provideService(Metric.FiberRuntimeMetrics, count))
  })
})
