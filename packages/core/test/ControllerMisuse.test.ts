import { Action, Controller, CustomResource, KubeClient, Resource, Source } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Deferred, Effect, Logger, Schema, SchemaTransformation } from "effect"
import { TestClock } from "effect/testing"
import { Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

/** What types would have refused, or nobody thought of. */
describe("Controller: misuse", () => {
  it.effect("requeueing forever without a write is held back, with growing delays", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.requeueAfter(0))
      })])
      yield* pass("1 minute")
      assert.isAtLeast(journal.entries.length, 10)
      assert.isAtMost(journal.entries.length, 30)
    }))

  it.effect("a key that is woken often, or requeues with a delay, is not held back if it writes nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "woken", small)
      server.put(Widget, "asks", small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata: { name } }) =>
          Effect.as(journal.note(name), name === "asks" ? Action.requeueAfter("100 millis") : Action.done)
      })])
      yield* settle
      for (let size = 2; size <= 51; size++) {
        yield* TestClock.adjust("100 millis")
        server.patch(Widget, "woken", { spec: { size } })
        yield* settle
      }
      assert.lengthOf(journal.words.filter((name) => name === "woken"), 51)
      assert.lengthOf(journal.words.filter((name) => name === "asks"), 51)
    }))

  it.effect("a source that emits an impossible key of the kind fails and says so", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const lines: Array<string> = []
      const logger = Logger.layer([
        Logger.make(({ cause, logLevel }) => void (logLevel === "Warn" && lines.push(Cause.pretty(cause))))
      ])
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        sources: [Source.every("tick", "1 hour", { name: "a", namespace: undefined })],
        reconcile: () => Effect.succeed(Action.done)
      })]).pipe(Effect.provide(logger))
      yield* settle
      assert.match(lines.join(), /source tick: a: Widget is namespaced: give a namespace/)
    }))

  it.effect("a poll that never completes is logged, at growing intervals", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const lines: Array<string> = []
      const logger = Logger.layer([
        Logger.make(({ logLevel, message }) => void (logLevel === "Warn" && lines.push(String(message))))
      ])
      const answer = yield* Deferred.make<ReadonlyArray<never>>()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        sources: [
          Source.poll("bucket", "10 seconds", Deferred.await(answer)),
          Source.poll("slow", "1 second", Effect.as(Effect.sleep("110 seconds"), []))
        ],
        reconcile: () => Effect.succeed(Action.done)
      })]).pipe(Effect.provide(logger))
      yield* pass("1 hour")
      assert.deepStrictEqual(lines.map((line) => /^source bucket: (.*): give it an Effect.timeout$/.exec(line)?.[1]), [
        "polling is blocked: its effect has been running for 2m",
        "polling is blocked: its effect has been running for 4m",
        "polling is blocked: its effect has been running for 8m",
        "polling is blocked: its effect has been running for 16m",
        "polling is blocked: its effect has been running for 32m"
      ])
      yield* Deferred.succeed(answer, [])
      yield* pass("5 hours")
      assert.strictEqual(lines.length, 5)
    }))

  it.effect("a reconcile that never ends is logged, at growing intervals; others go on", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (const name of ["a", "b", "c"]) server.put(Widget, name, small)
      const end = yield* Deferred.make<void>()
      const lines: Array<string> = []
      const logger = Logger.layer([
        Logger.make(({ logLevel, message }) => void (logLevel === "Warn" && lines.push(String(message))))
      ])
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        concurrency: 2,
        reconcile: ({ metadata: { name } }) =>
          Effect.as(name === "a" ? Deferred.await(end) : Effect.sleep("110 seconds"), Action.done)
      })]).pipe(Effect.provide(logger))
      yield* pass("3 minutes")
      assert.deepStrictEqual(lines, [
        "default/a: its reconcile has been running for 2m and occupies one of 2 workers; the object is not reconciled " +
        "again until it ends. Give the controller a `timeout`, or look for an Effect that never completes"
      ])
      yield* pass("1 hour")
      assert.deepStrictEqual(lines.map((line) => /running for (.*) and/.exec(line)![1]), [
        "2m",
        "4m",
        "8m",
        "16m",
        "32m"
      ])
      yield* Deferred.succeed(end, undefined)
      yield* pass("3 minutes")
      assert.lengthOf(lines, 5)
    }))

  it.effect("a reconcile that never ends is logged no more often if the time of day drifts or is set", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const lines: Array<string> = []
      const logger = Logger.layer([
        Logger.make(({ logLevel, message }) => void (logLevel === "Warn" && lines.push(String(message))))
      ])
      const clock = yield* Clock.Clock
      /** Slow by a millisecond a minute, and put forward by an hour after ten. */
      const millis = () => {
        const now = clock.currentTimeMillisUnsafe()
        return now - Math.floor(now / 60_000) + (now < 600_000 ? 0 : 3_600_000)
      }
      const end = yield* Deferred.make<Action.Action>()
      yield* operate(server, [Controller.make("widgets", { for: Widget, reconcile: () => Deferred.await(end) })]).pipe(
        Effect.provideService(Clock.Clock, {
          ...clock,
          currentTimeMillisUnsafe: millis,
          currentTimeMillis: Effect.sync(millis)
        }),
        Effect.provide(logger)
      )
      yield* pass("1 hour")
      yield* Deferred.succeed(end, Action.done)
      assert.deepStrictEqual(lines.map((line) => /running for (.*) and/.exec(line)![1]), [
        "2m",
        "4m",
        "8m",
        "16m",
        "32m"
      ])
    }))

  it.effect("an invalid return value of a reconcile is its failure, in plain words, and stops no controller", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const wrong: Record<string, () => unknown> = {
        nothing: () => undefined,
        promise: () => Promise.resolve(Action.done),
        "no-action": () => Effect.void,
        word: () => Effect.succeed("done"),
        bigint: () => Effect.succeed({ size: 1n }),
        frozen: () => Effect.sync(() => void Object.assign(Object.freeze({ size: 1 }), { size: 2 }))
      }
      for (const name of [...Object.keys(wrong), "right"]) server.put(Widget, name, small)
      const journal = new Journal()
      const lines: Array<string> = []
      const logger = Logger.layer([
        Logger.make(({ cause, message }) => void lines.push(`${String(message)}: ${String(Cause.squash(cause))}`))
      ])
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (({ metadata: { name } }: typeof Widget.Type) =>
          wrong[name] === undefined
            ? Effect.as(journal.note(name), Action.done)
            : wrong[name]()) as () => Effect.Effect<Action.Action>
      })]).pipe(Effect.provide(logger))
      yield* settle
      assert.deepStrictEqual(journal.entries, [[0, "right"]])
      const text = lines.join("\n")
      assert.include(text, "reconcile of controller widgets returned undefined: it must return an Effect")
      assert.include(text, "reconcile of controller widgets returned a Promise")
      assert.include(text, "controller widgets ended with undefined: it must end with Action.done")
      assert.include(text, "controller widgets ended with \"done\"")
      assert.include(text, "controller widgets ended with [object Object]")
      assert.include(text, "objects from a cache are frozen: change a copy")
    }))

  it.effect("a Schema that throws on an object makes only that object invalid, even if it was just written", () =>
    Effect.gen(function*() {
      const Site = CustomResource.make({
        group: "test.io",
        version: "v1",
        kind: "Site",
        spec: Schema.Struct({
          url: Schema.String.pipe(Schema.decodeTo(
            Schema.String,
            SchemaTransformation.transform({
              decode: (text: string) => new URL(text).host,
              encode: (host) => `https://${host}`
            })
          ))
        })
      })
      const Raw = Resource.unstructured(Site)
      const server = new Server(Site)
      server.put(Site, "stored", { spec: { url: "no url" } })
      server.put(Site, "good", { spec: { url: "https://a.io" } })
      const journal = new Journal()
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const manager = yield* operate(server, [Controller.make("sites", {
        for: Site,
        reconcile: (site) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            const made = { metadata: { namespace: "default", name: "written" }, spec: { url: "no url" } }
            yield* client.create(Raw, made)
            yield* journal.note(`${site.metadata.name} of ${site.spec.url}`)
            return Action.done
          })
      })]).pipe(Effect.provide(logger))
      yield* settle
      assert.deepStrictEqual(journal.words, ["good of a.io"])
      assert.isUndefined((yield* manager.report).failed)
      for (const name of ["stored", "written"]) {
        assert.include(
          lines.join("\n"),
          `Site default/${name} is invalid and ignored: spec: the Schema threw TypeError`
        )
      }
    }))

  it("a delay or a reconcile that is not one is refused at once", () => {
    assert.throws(() => Action.requeueAfter(-5), /-5: must be a duration/)
    assert.throws(() => Action.requeueAfter(Number.NaN), /must be a duration/)
    assert.throws(() => Action.requeueAfter("5 sec" as never), /"5 sec": must be a duration, such as "30 seconds"/)
    const reconcile = Effect.succeed(Action.done) as never
    assert.throws(
      () => Controller.make("widgets", { for: Widget, reconcile }),
      /reconcile: must be a function.*an Effect/
    )
  })
})
