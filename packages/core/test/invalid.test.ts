import { Action, Controller } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Task } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, Server } from "./support/Server.ts"
import { pass } from "./support/Time.ts"

const ready = {
  type: "Ready",
  status: "True" as const,
  reason: "Old",
  message: "",
  lastTransitionTime: "2020-01-01T00:00:00Z"
}

describe("an object that does not decode", () => {
  const start = Effect.fnUntraced(function*(status: object) {
    const server = new Server(Task)
    server.put(Task, "a", { spec: { size: "big" }, status } as never)
    const journal = new Journal()
    yield* operate(server, [Controller.make("tasks", {
      for: Task,
      reconcile: ({ spec }) => Effect.as(journal.note(String(spec.size)), Action.done)
    })])
    yield* pass("1 minute")
    return {
      server,
      journal,
      conditions: () => server.objects(Task)[0]?.status?.conditions,
      reasons: () => server.objects(Event).map(({ reason }) => reason)
    }
  })

  it.effect("says so itself, beside what others say of it, until it is mended", () =>
    Effect.gen(function*() {
      const { conditions, journal, reasons, server } = yield* start({ conditions: [ready] })
      const [first, stalled, ...others] = conditions()!
      assert.deepStrictEqual(first, ready)
      assert.deepInclude(stalled, { type: "Stalled", status: "True", reason: "Invalid" })
      assert.match(stalled!.message, /^is not valid and is ignored: spec\.size: /)
      assert.lengthOf(others, 0)
      assert.deepStrictEqual(reasons(), ["Invalid"], "the write of the condition is no news")
      assert.deepStrictEqual(journal.words, [])

      server.patch(Task, "a", { spec: { size: 2 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(conditions(), [ready])
      assert.deepStrictEqual(journal.words, ["2"])
    }))

  it.effect("of which something else is wrong says that", () =>
    Effect.gen(function*() {
      const { conditions, reasons, server } = yield* start({})
      server.patch(Task, "a", { spec: { size: null } })
      yield* pass("1 minute")
      assert.match(conditions()![0]!.message, /spec\.size: /)
      assert.lengthOf(conditions()!, 1)
      assert.lengthOf(reasons(), 2)
    }))

  it.effect("whose conditions are none is left alone", () =>
    Effect.gen(function*() {
      const { reasons, server } = yield* start({ conditions: "none" })
      yield* pass("10 minutes")
      assert.deepStrictEqual(reasons(), ["Invalid"])
      assert.deepStrictEqual<unknown>(server.objects(Task)[0]?.status?.conditions, "none")
    }))
})
