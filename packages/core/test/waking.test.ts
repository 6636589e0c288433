import { Action, Controller, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

describe("the queue of an idle controller", () => {
  /** A controller one of whose kinds cannot be listed until it is let; every Part wakes the Widget of its name. */
  const idle = Effect.gen(function*() {
    const server = new Server(Widget, Part, Secret)
    let refused = true
    server.fault = ({ path }) =>
      Effect.succeed(refused && path.endsWith("/secrets") ? refuse(403, "Forbidden", "no") : undefined)
    const journal = new Journal()
    const manager = yield* operate(server, [Controller.make("widgets", {
      for: Widget,
      watches: [
        Watch.make(Part, { map: ({ metadata: { name, namespace } }) => [{ name, namespace }] }),
        Watch.cached(Secret)
      ],
      finalize: ({ metadata }) => Effect.as(journal.note(`finalizes ${metadata.name}`), Action.done),
      reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
    })])
    yield* settle
    return {
      server,
      journal,
      queue: Effect.map(manager.report, ({ controllers }) => controllers[0]!.queue),
      work: Effect.suspend(() => {
        refused = false
        return pass("10 minutes")
      })
    }
  })
  const nothing = { ready: 0, waiting: 0, processing: 0 }

  it.effect("keeps no key of an object that is gone, whatever wakes it", () =>
    Effect.gen(function*() {
      const { journal, queue, server, work } = yield* idle
      for (let i = 0; i < 100; i++) {
        server.put(Widget, `w${i}`, small)
        server.put(Part, `w${i}`)
        yield* settle
        server.delete(Widget, `w${i}`)
        yield* settle
        // As a garbage collector does it.
        server.delete(Part, `w${i}`)
        server.put(Part, `never-${i}`)
      }
      yield* settle
      assert.deepStrictEqual(yield* queue, nothing)
      server.put(Widget, "kept", small)
      server.put(Widget, "again", small)
      server.delete(Widget, "again")
      server.put(Widget, "again", small)
      yield* settle
      assert.deepStrictEqual(yield* queue, { ...nothing, ready: 2 })
      yield* work
      assert.sameMembers([...journal.words], ["kept", "again"])
      assert.deepStrictEqual(yield* queue, nothing)
    }))

  it.effect("keeps an object that waits for its finalizer, and cleans it up later", () =>
    Effect.gen(function*() {
      const { journal, queue, server, work } = yield* idle
      const finalizers = ["test.io/widgets"]
      server.put(Widget, "a", small, { finalizers })
      yield* settle
      server.put(Widget, "a", small, { finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" })
      yield* settle
      assert.deepStrictEqual(yield* queue, { ...nothing, ready: 1 })
      yield* work
      assert.deepStrictEqual(journal.words, ["finalizes a"])
    }))
})
