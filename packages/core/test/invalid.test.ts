import { Action, Controller, LeaderElection } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { Task } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, refuse, Server } from "./support/Server.ts"
import { pass } from "./support/Time.ts"

const ready = {
  type: "Ready",
  status: "True" as const,
  reason: "Old",
  message: "",
  lastTransitionTime: "2020-01-01T00:00:00Z"
}

it.effect("if replicas share the objects, the one that owns an object writes what is wrong with it", () =>
  Effect.gen(function*() {
    const server = new Server(Task, LeaderElection.Lease)
    const start = Effect.fnUntraced(function*(identity: string) {
      const scope = yield* Scope.make()
      yield* operate(server, [Controller.make("tasks", { for: Task, reconcile: () => Effect.succeed(Action.done) })], {
        leaderElection: { namespace: "default", name: "op", identity, per: "object" }
      }).pipe(Scope.provide(scope))
      return Scope.close(scope, Exit.void)
    })
    const said = () => server.objects(Task).filter(({ status }) => status?.conditions?.[0]?.reason === "Invalid").length
    const writes = () => server.requestsFor("PATCH", "tasks").length
    server.fault = ({ method }) =>
      method === "PATCH" ? Effect.succeed(refuse(503, "ServiceUnavailable")) : Effect.undefined
    const first = yield* start("a")
    const second = yield* start("b")
    yield* pass("1 minute")
    for (let i = 0; i < 12; i++) server.put(Task, `t${i}`, { spec: { size: "big" } } as never)
    yield* pass("1 second")
    assert.strictEqual(writes(), 12, "each by one of them")
    // What the first could not write, the second does, when it has the objects.
    server.fault = () => Effect.undefined
    yield* first
    yield* pass("1 minute")
    assert.isAbove(said(), 2)
    assert.strictEqual(writes(), 12 + said())
    yield* second
  }))

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

  it.effect("shows it in a condition, beside those of others, until it is corrected", () =>
    Effect.gen(function*() {
      const { conditions, journal, reasons, server } = yield* start({ conditions: [ready] })
      const [first, stalled, ...others] = conditions()!
      assert.deepStrictEqual(first, ready)
      assert.deepInclude(stalled, { type: "Stalled", status: "True", reason: "Invalid" })
      assert.match(stalled!.message, /^tasks: is invalid and ignored: spec\.size: /)
      assert.lengthOf(others, 0)
      assert.deepStrictEqual(reasons(), ["Invalid"], "the write of the condition is no news")
      assert.deepStrictEqual(journal.words, [])

      server.patch(Task, "a", { spec: { size: 2 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(conditions(), [ready])
      assert.deepStrictEqual(journal.words, ["2"])
    }))

  it.effect("with another error shows that one", () =>
    Effect.gen(function*() {
      const { conditions, reasons, server } = yield* start({})
      server.patch(Task, "a", { spec: { size: null } })
      yield* pass("1 minute")
      assert.match(conditions()![0]!.message, /spec\.size: /)
      assert.lengthOf(conditions()!, 1)
      assert.lengthOf(reasons(), 2)
    }))

  it.effect("whose conditions are not a list is left alone", () =>
    Effect.gen(function*() {
      const { reasons, server } = yield* start({ conditions: "none" })
      yield* pass("10 minutes")
      assert.deepStrictEqual(reasons(), ["Invalid"])
      assert.deepStrictEqual<unknown>(server.objects(Task)[0]?.status?.conditions, "none")
    }))

  const refused = Effect.fnUntraced(function*(code: number, reason: string) {
    const server = new Server(Task)
    server.fault = ({ method }) => method === "PATCH" ? Effect.succeed(refuse(code, reason)) : Effect.undefined
    server.put(Task, "a", { spec: { size: "big" } } as never)
    yield* operate(server, [Controller.make("tasks", { for: Task, reconcile: () => Effect.succeed(Action.done) })])
    yield* pass("10 minutes")
    const tried = server.requestsFor("PATCH", "tasks").length
    server.fault = () => Effect.undefined
    yield* pass("1 minute")
    return { tried, condition: server.objects(Task)[0]?.status?.conditions?.[0] }
  })

  it.effect("shows it eventually, even if a server could not write it for a while", () =>
    Effect.gen(function*() {
      const { condition, tried } = yield* refused(503, "ServiceUnavailable")
      assert.strictEqual(condition?.reason, "Invalid")
      assert.isAbove(tried, 1)
      assert.isAtMost(tried, 21, "twice a minute")
    }))

  it.effect("is tried once, if the writer has no permission", () =>
    Effect.gen(function*() {
      const { condition, tried } = yield* refused(403, "Forbidden")
      assert.isUndefined(condition)
      assert.strictEqual(tried, 1)
    }))
})
