import { Action, Controller, KubeClient, KubeError, ObjectStatus } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { defaults, saysSo, Vanished } from "../src/internal/Vanished.ts"
import { Part, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Server, statusOf } from "./support/Server.ts"
import { pass, settable, settle } from "./support/Time.ts"

const widget = (uid: string, resourceVersion: string) => ({
  apiVersion: Widget.apiVersion,
  kind: Widget.kind,
  metadata: { name: "a", namespace: "default", uid, resourceVersion, creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { size: 1 }
})

describe("Vanished", () => {
  it("hides an object that was not found until the cache shows something else, for at most a minute", () => {
    const shown = widget("1", "5")
    const cases: ReadonlyArray<readonly [ReturnType<typeof widget> | undefined, at: number, left: number]> = [
      [shown, 0, defaults.recheck],
      [shown, defaults.recheck - 1, 1],
      [shown, defaults.recheck, 0],
      [widget("2", "9"), 1, 0],
      [widget("1", "6"), 1, 0],
      [undefined, 1, 0]
    ]
    for (const [object, at, left] of cases) {
      const vanished = new Vanished()
      vanished.note("default/a", shown, 0)
      assert.strictEqual(vanished.hidden("default/b", shown, at), 0)
      assert.strictEqual(vanished.hidden("default/a", object, at), left, JSON.stringify([object?.metadata, at]))
      // What was once shown again is not hidden any more.
      assert.strictEqual(vanished.size, left > 0 ? 1 : 0)
    }
  })

  it("does not take a response about something else for proof", () => {
    const error = (resource: string, details: object | undefined, name = "a", namespace = "default") =>
      KubeError.make(
        { verb: "patch", resource, namespace, name },
        new KubeError.NotFound({ message: "", code: 404, status: statusOf(404, "NotFound", "", details) })
      )
    const about = { name: "a", group: "test.io", kind: "widgets" }
    const says = (error: unknown) => saysSo(error, Widget, widget("1", "5"))
    assert.isTrue(says(error("widgets.test.io", about)))
    assert.isTrue(says(error("widgets.test.io/status", about)))
    // The kind is not served; the namespace is gone; another object, kind or namespace; no answer of a server at all.
    assert.isFalse(says(error("widgets.test.io", {})))
    assert.isFalse(says(error("widgets.test.io", { name: "default", kind: "namespaces" })))
    assert.isFalse(says(error("widgets.test.io", about, "b")))
    assert.isFalse(says(error("parts", { name: "a", kind: "parts" })))
    assert.isFalse(says(error("widgets.test.io", about, "a", "other")))
    assert.isFalse(says(new Error("widgets.test.io \"a\" not found")))
  })

  it.effect("nothing more is created for an object that only the cache has; its namesake is reconciled at once", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        // What wakes the controller meanwhile puts nothing off.
        sources: [{
          name: "once",
          run: (emit) =>
            Effect.sleep("30 seconds").pipe(
              Effect.andThen(Effect.sync(() => emit({ namespace: "default", name: "a" }))),
              Effect.andThen(Effect.never)
            )
        }],
        reconcile: (object) =>
          Effect.gen(function*() {
            yield* journal.note(object.metadata.uid)
            const client = yield* KubeClient.KubeClient
            yield* client.create(Part, { metadata: { namespace: "default", name: `p-${journal.words.length}` } })
            yield* ObjectStatus.write(Widget, object, { ready: object.status?.ready !== true })
            return Action.requeueAfter("1 second")
          })
      })])
      yield* settle
      server.hold()
      const { metadata: { uid } } = server.put(Widget, "a", { spec: { size: 1 } })
      server.release()
      server.hold()
      server.delete(Widget, "a")
      yield* pass("59 seconds")
      assert.deepStrictEqual(journal.words, [uid])
      // A server that is behind for good: once a minute is looked again.
      yield* pass("5 minutes")
      assert.lengthOf(journal.words, 6)
      journal.clear()
      const next = server.put(Widget, "a", { spec: { size: 1 } })
      server.release()
      yield* settle
      assert.deepStrictEqual(journal.words.slice(0, 1), [next.metadata.uid])
    }))

  it.effect("is reconciled again after a minute, even if the clock is set back meanwhile", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (object) =>
          journal.note("a").pipe(
            Effect.andThen(Effect.sleep("1 second")),
            Effect.andThen(ObjectStatus.write(Widget, object, { ready: true })),
            Effect.as(Action.done)
          )
      })]).pipe(Effect.provideService(Clock.Clock, clock))
      yield* TestClock.adjust("500 millis")
      server.hold()
      server.delete(Widget, "a")
      yield* pass("1 second")
      putBack(3_600_000)
      yield* pass("65 seconds")
      assert.lengthOf(journal.words, 2)
    }))

  it.effect("a namesake that is missing in another cluster is a failure like any other", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const elsewhere = yield* Layer.build(new Server(Widget).layer)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (object) =>
          Effect.andThen(
            journal.note("a"),
            ObjectStatus.write(Widget, object, { ready: true }).pipe(
              Effect.provide(elsewhere),
              Effect.as(Action.done)
            )
          )
      })])
      yield* pass("1 second")
      assert.deepStrictEqual(journal.times, [0, 5, 15, 35, 75, 155, 315, 635])
    }))
})
