import { Action, Controller } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, Server } from "./support/Server.ts"
import { pass } from "./support/Time.ts"

describe("an object that leaves its controller's selection", () => {
  const start = Effect.fnUntraced(function*(options: { readonly finalizes: boolean }) {
    const server = new Server(Widget)
    server.put(Widget, "a", { spec: { size: 1 } }, { labels: { mine: "yes" } })
    const journal = new Journal()
    const done = () => Effect.succeed(Action.done)
    yield* operate(server, [Controller.make("widgets", {
      for: Widget,
      labels: { mine: "yes" },
      reconcile: ({ metadata: { name } }) => Effect.as(journal.note(name), Action.done),
      ...(options.finalizes ? { finalize: done } : {})
    })])
    yield* pass("10 seconds")
    return { server, journal, notes: () => server.objects(Event).map(({ reason, note }) => `${reason}: ${note}`) }
  })
  const off = { metadata: { labels: { mine: null } } } as never

  it.effect("with the finalizer is reported, each time", () =>
    Effect.gen(function*() {
      const { journal, notes, server } = yield* start({ finalizes: true })
      assert.deepStrictEqual(notes(), [])
      server.patch(Widget, "a", off)
      yield* pass("10 seconds")
      assert.deepStrictEqual(notes(), [
        "LeftSelection: Widget default/a is no longer selected by labels or fields but still has the finalizer test.io/widgets: " +
        "it is not cleaned up, and its deletion does not complete, until it is selected again or the finalizer is " +
        "removed by hand"
      ])
      server.patch(Widget, "a", { metadata: { labels: { mine: "yes" } } } as never)
      yield* pass("10 seconds")
      server.patch(Widget, "a", off)
      yield* pass("20 minutes")
      assert.containSubset(server.objects(Event), [{ series: { count: 2 } }])
      assert.deepStrictEqual(journal.words, ["a", "a"])
    }))

  it.effect("without a finalizer, or terminating, is not reported", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => {
        if (logLevel === "Error") lines.push(String(message))
      })])
      yield* Effect.gen(function*() {
        const without = yield* start({ finalizes: false })
        without.server.patch(Widget, "a", off)
        yield* pass("10 seconds")
        assert.deepStrictEqual(without.notes(), [])
        const goes = yield* start({ finalizes: true })
        // The watch sees nothing of it, and the list that follows only that it is not there.
        goes.server.hold()
        goes.server.patch(Widget, "a", { metadata: { finalizers: [] } } as never)
        goes.server.delete(Widget, "a")
        goes.server.compact()
        for (const watch of goes.server.watchesOf(Widget)) watch.break()
        goes.server.release()
        yield* pass("1 minute")
        assert.strictEqual(
          goes.server.requestsFor("GET", "widgets").filter(({ path }) => path.endsWith("/a")).length,
          1
        )
        assert.deepStrictEqual(goes.notes(), [])
      }).pipe(Effect.provide(logger))
      assert.deepStrictEqual(lines, [])
    }))
})
