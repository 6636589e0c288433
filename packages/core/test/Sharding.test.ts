import { Action, Controller, KubeClient, KubeError, LeaderElection, Manager, Trigger } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger, Metric } from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { Journal } from "./support/Operating.ts"
import { Prng } from "./support/Prng.ts"
import * as Replicas from "./support/Replicas.ts"
import { refuse, Server } from "./support/Server.ts"
import { pass, seeded } from "./support/Time.ts"

const { Lease } = LeaderElection
const small = { spec: { size: 1 } }
const names = Array.from({ length: 24 }, (_, i) => `w${i}`)

/** One that also notes why it was asked. */
class Asked extends Replicas.Watchman {
  readonly reasons: Array<string> = []
}

const replica = (server: Server, who: string, controllers: ReadonlyArray<Controller.Controller>) =>
  Replicas.replica(server, controllers, { namespace: "default", name: "operator", identity: who, per: "object" })

const reconciling = (
  watchman: Asked,
  who: string,
  work: (name: string) => Effect.Effect<void, KubeError.KubeError, KubeClient.KubeClient> = () =>
    Effect.sleep("100 millis")
) =>
  Controller.make("widgets", {
    for: Widget,
    concurrency: 8,
    reconcile: ({ metadata: { name } }, { reasons }) => {
      watchman.reasons.push(`${who} ${name}: ${reasons.map(Trigger.format).join()}`)
      return Effect.as(watchman.during(who, name, work(name)), Action.done)
    }
  })

const filled = () => {
  const server = new Server(Widget, Part, Lease)
  for (const name of names) server.put(Widget, name, small)
  return server
}

/** Two replicas, five seconds after the second has come. */
const two = Effect.gen(function*() {
  const server = filled()
  const watchman = new Asked()
  const start = (who: string) => replica(server, who, [reconciling(watchman, who)])
  const a = yield* start("a")
  const b = yield* start("b")
  yield* pass("5 seconds")
  return { server, watchman, a, b }
})

describe("Sharding", () => {
  it.effect("a replica that stops does not wait for a server that does not answer", () =>
    Effect.gen(function*() {
      const { a, b, server } = yield* two
      yield* b.stop
      server.latency = () => Effect.never
      const stopping = yield* Effect.forkChild(a.stop)
      yield* pass("15 seconds")
      assert.isDefined(stopping.pollUnsafe())
    }))

  it.effect("one replica has everything, three share it, and what one leaves goes to the others at once", () =>
    Effect.gen(function*() {
      const server = filled()
      const watchman = new Asked()
      const start = (who: string) => replica(server, who, [reconciling(watchman, who)])
      const a = yield* start("a")
      yield* pass("2 seconds")
      assert.deepStrictEqual(watchman.shares, { a: 24 })
      const b = yield* start("b")
      const c = yield* start("c")
      yield* pass("3 seconds")
      const { a: ofA = 0, b: ofB = 0, c: ofC = 0 } = watchman.shares
      assert.strictEqual(ofA + ofB + ofC, 24)
      for (const share of [ofA, ofB, ofC]) assert.isAtLeast(share, 4)
      // Only what has moved was looked at anew.
      assert.isTrue(
        watchman.reasons.slice(24).every((line) => line.endsWith(": handover")),
        watchman.reasons.join("\n")
      )
      for (const name of names) server.patch(Widget, name, { spec: { size: 2 } })
      yield* pass("1 second")
      assert.deepStrictEqual(watchman.shares, { a: ofA, b: ofB, c: ofC }, "changes go to whom the object belongs")
      assert.deepStrictEqual((yield* b.manager.report).leases.map(({ lease, status }) => [lease, status._tag]), [
        ["default/operator-b", "Leading"]
      ])
      const shown = yield* Effect.provideService(Metric.snapshot, Metric.MetricRegistry, b.manager.metrics)
      assert.deepInclude(shown.find(({ id }) => id === "effect_operator_shard_members"), {
        attributes: { name: "operator" },
        state: { value: 3 }
      })
      yield* b.stop
      yield* pass("400 millis")
      assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "c"])
      assert.deepStrictEqual(server.objects(Lease).map(({ metadata }) => metadata.name), ["operator-a", "operator-c"])
      assert.isUndefined(watchman.problem)
      yield* a.stop
      yield* c.stop
      assert.deepStrictEqual(server.objects(Lease), [])
    }))

  it.effect("the objects of an unreachable replica are taken over after it has stopped, within 17 s", () =>
    Effect.gen(function*() {
      const { a, b, server, watchman } = yield* two
      assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "b"])
      yield* a.cut(true)
      yield* pass("10 seconds")
      for (const name of names) server.patch(Widget, name, { spec: { size: 2 } })
      yield* pass("7 seconds")
      assert.deepStrictEqual(watchman.shares, { b: 24 })
      assert.isUndefined(watchman.problem)
      // Its lease is swept away, and written anew where it comes back.
      yield* pass("3 minutes")
      assert.deepStrictEqual(server.objects(Lease).map(({ metadata }) => metadata.name), ["operator-b"])
      yield* a.cut(false)
      yield* pass("1 minute")
      assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "b"])
      assert.isUndefined(watchman.problem)
      yield* a.stop
      yield* b.stop
    }))

  it.effect("the rate of a controller is used up only by the objects of its replica", () =>
    Effect.gen(function*() {
      const server = filled()
      const watchman = new Asked()
      const start = (who: string) => {
        const described = reconciling(watchman, who)
        return replica(server, who, [{ ...described, queue: { rate: { limit: 1, interval: "1 second" } } }])
      }
      const a = yield* start("a")
      const b = yield* start("b")
      yield* pass("1 minute")
      watchman.last.clear()
      for (const name of names) server.patch(Widget, name, { spec: { size: 2 } })
      const { a: ofA = 0, b: ofB = 0 } = watchman.shares
      assert.strictEqual(ofA + ofB, 0)
      yield* pass("20 seconds")
      assert.strictEqual(watchman.last.size, 24, "the larger share takes no longer than it has objects")
      yield* a.stop
      yield* b.stop
    }))

  it.effect("only moved objects are reconciled again, and other programs' leases are ignored", () =>
    Effect.gen(function*() {
      const server = filled()
      const watchman = new Asked()
      server.put(Lease, "somebody", { spec: { holderIdentity: "somebody", leaseDurationSeconds: 15 } })
      const start = (who: string) => replica(server, who, [reconciling(watchman, who)])
      const a = yield* start("a")
      yield* pass("5 seconds")
      const b = yield* start("b")
      yield* pass("5 seconds")
      const { b: moved = 0 } = watchman.shares
      assert.isAbove(moved, 0)
      assert.lengthOf(watchman.reasons, 24 + moved)
      yield* b.stop
      yield* pass("5 seconds")
      assert.lengthOf(watchman.reasons, 24 + 2 * moved)
      yield* pass("5 minutes")
      assert.deepStrictEqual(server.requests.filter(({ path }) => path.endsWith("/somebody")), [])
      assert.deepStrictEqual(server.objects(Lease).map(({ metadata }) => metadata.name), ["somebody", "operator-a"])
      yield* a.stop
    }))

  it.effect("a dead replica is checked until the server confirms it, without haste, even if its lease is deleted", () =>
    Effect.gen(function*() {
      for (const isDeleted of [false, true]) {
        const { a, b, server, watchman } = yield* two
        yield* a.cut(true)
        if (isDeleted) server.delete(Lease, "operator-a")
        const asks = () => server.requestsFor("GET", "leases").filter(({ path }) => path.endsWith("/operator-a")).length
        const before = asks()
        let answered = 0
        server.fault = ({ method, path }) =>
          method !== "GET" || !path.endsWith("/operator-a")
            ? Effect.undefined
            : answered++ % 2 === 0
            ? Effect.never
            : Effect.succeed(refuse(503, "ServiceUnavailable"))
        yield* pass("30 seconds")
        assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "b"], "nobody knows")
        assert.isAtMost(asks() - before, 8)
        server.fault = () => Effect.undefined
        yield* pass("5 seconds")
        assert.deepStrictEqual(watchman.shares, { b: 24 })
        assert.isUndefined(watchman.problem)
        yield* a.stop
        yield* b.stop
      }
    }))

  it.effect("work interrupted for another replica is waited for, however long it takes to end", () =>
    Effect.gen(function*() {
      const server = filled()
      const watchman = new Asked()
      let long: Effect.Effect<void> = Effect.sleep("2 minutes")
      const a = yield* replica(server, "a", [reconciling(watchman, "a", () => Effect.uninterruptible(long))])
      yield* pass("1 second")
      assert.strictEqual(watchman.underWay.size, 8)
      const b = yield* replica(server, "b", [reconciling(watchman, "b")])
      yield* pass("80 seconds")
      assert.deepStrictEqual(Object.keys(watchman.shares), ["a"])
      long = Effect.void
      yield* pass("80 seconds")
      assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "b"])
      assert.isUndefined(watchman.problem)
      yield* a.stop
      yield* b.stop
    }))

  it.effect("a dead replica whose lease cannot be removed holds up nobody, and does not count as alive again", () =>
    Effect.gen(function*() {
      const { a, b, server, watchman } = yield* two
      yield* a.cut(true)
      server.fault = ({ method, path }) =>
        method === "DELETE" && path.endsWith("/leases/operator-a") ? Effect.never : Effect.undefined
      yield* pass("3 minutes")
      const { metadata: { resourceVersion, uid } } = server.get(Lease, "operator-a")!
      const sent = server.requestsFor("DELETE", "leases").map(({ body }) => body)
      assert.deepStrictEqual(sent.map((body) => (body as { readonly preconditions: unknown }).preconditions), [
        { uid, resourceVersion }
      ])
      // The leases are listed anew, and those who come are told of.
      server.compact()
      for (const watch of server.watchesOf(Lease)) watch.break()
      yield* pass("1 second")
      for (const name of names) server.patch(Widget, name, { spec: { size: 3 } })
      watchman.last.clear()
      yield* pass("2 seconds")
      assert.deepStrictEqual(watchman.shares, { b: 24 })
      yield* pass("3 minutes")
      assert.isAbove(server.requestsFor("DELETE", "leases").length, 1, "it is tried again")
      server.fault = () => Effect.undefined
      yield* pass("3 minutes")
      assert.deepStrictEqual(server.objects(Lease).map(({ metadata }) => metadata.name), ["operator-b"])
      assert.isUndefined(watchman.problem)
      yield* a.stop
      yield* b.stop
    }))

  it.effect(
    "a running reconcile finishes first; one that takes too long is interrupted",
    () =>
      Effect.gen(function*() {
        const server = filled()
        const watchman = new Asked()
        const journal = new Journal()
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
        let long: Effect.Effect<void> = Effect.sleep("10 seconds")
        const a = yield* replica(server, "a", [
          reconciling(watchman, "a", (name) => Effect.onInterrupt(long, () => journal.note(`${name} is interrupted`)))
        ]).pipe(Effect.provide(Logger.layer([logger])))
        yield* pass("40 seconds")
        for (const name of names) server.patch(Widget, name, { spec: { size: 2 } })
        yield* pass("1 second")
        assert.strictEqual(watchman.underWay.size, 8)
        const b = yield* replica(server, "b", [reconciling(watchman, "b")])
        yield* pass("8 seconds")
        assert.deepStrictEqual(Object.keys(watchman.shares), ["a"], "until they are over, b has nothing")
        yield* pass("3 seconds")
        assert.deepStrictEqual(Object.keys(watchman.shares), ["a", "b"])
        assert.deepStrictEqual(journal.words, [])
        yield* b.stop
        yield* pass("1 minute")
        long = Effect.sleep("1 hour")
        for (const name of names) server.patch(Widget, name, { spec: { size: 3 } })
        yield* pass("1 second")
        const c = yield* replica(server, "c", [reconciling(watchman, "c")])
        yield* pass("24 seconds")
        assert.deepStrictEqual(Object.keys(watchman.shares), ["a"])
        yield* pass("3 seconds")
        assert.isAbove(journal.words.length, 0)
        assert.deepStrictEqual(Object.keys(watchman.shares), ["a"], "what they have sent may be under way")
        yield* pass("5 seconds")
        assert.isAbove(watchman.shares["c"] ?? 0, 5)
        assert.isBelow(journal.words.length, 8, "only what goes")
        assert.isFalse(lines.some((line) => line.startsWith("reconcile failed")), "it is no failure of the object")
        assert.isUndefined(watchman.problem)
        yield* Effect.forkChild(a.stop)
        yield* pass("1 minute")
        yield* c.stop
      })
  )

  it.effect("a write of a replica that has lost its lease is not sent, whatever delays it", () =>
    Effect.gen(function*() {
      const server = filled()
      const watchman = new Asked()
      const late = Effect.gen(function*() {
        yield* Effect.sleep("20 seconds")
        const client = yield* KubeClient.KubeClient
        yield* client.create(Part, { metadata: { namespace: "default", name: "late" } })
      }).pipe(Effect.uninterruptible)
      const a = yield* replica(server, "a", [reconciling(watchman, "a", (name) => name === "w0" ? late : Effect.void)])
      yield* pass("1 second")
      server.fault = ({ method, path }) =>
        method === "PUT" && path.includes("/leases")
          ? Effect.succeed(refuse(503, "ServiceUnavailable"))
          : Effect.undefined
      yield* pass("30 seconds")
      assert.deepStrictEqual(server.requestsFor("POST", "parts"), [])
      server.fault = () => Effect.undefined
      yield* a.stop
    }))

  it.effect(
    "no two replicas reconcile an object at once, and in the end one does (20 random runs)",
    () =>
      Effect.gen(function*() {
        for (let seed = 1; seed <= 20; seed++) {
          yield* seeded(
            seed,
            Effect.gen(function*() {
              const random = new Prng(seed)
              const server = filled()
              const watchman = new Asked()
              const clock = yield* Clock.Clock
              let bad = false
              server.fault = () =>
                Effect.succeed(bad && random.chance(0.2) ? refuse(503, "ServiceUnavailable") : undefined)
              server.latency = () => bad ? Effect.sleep(random.int(0, 1_500)) : Effect.void
              const start = (who: string) =>
                replica(server, who, [reconciling(watchman, who, () => Effect.sleep(random.int(1, 3_000)))])
              const running = new Map([["r0", yield* start("r0")]])
              for (let turn = 1; turn <= 25; turn++) {
                bad = true
                const [who, one] = random.pick([...running])
                if (running.size < 3 && random.chance(0.4)) running.set(`r${turn}`, yield* start(`r${turn}`))
                else if (running.size > 1 && random.chance(0.3)) {
                  running.delete(who)
                  yield* Effect.forkChild(one.stop)
                } else if (random.chance(0.3)) yield* one.cut(random.chance(0.6))
                server.patch(Widget, random.pick(names), { spec: { size: clock.currentTimeMillisUnsafe() % 1_000 } })
                if (random.chance(0.1)) server.compact()
                yield* pass(random.int(100, 6_000))
                assert.isUndefined(watchman.problem, `seed ${seed}, turn ${turn}`)
              }
              bad = false
              for (const { cut } of running.values()) yield* cut(false)
              yield* pass("2 minutes")
              watchman.last.clear()
              for (const name of names) server.patch(Widget, name, { spec: { size: 1_000 + seed } })
              yield* pass("1 minute")
              assert.strictEqual(watchman.last.size, names.length, `seed ${seed}`)
              assert.isTrue([...watchman.last.values()].every((who) => running.has(who)), `seed ${seed}`)
              assert.isUndefined(watchman.problem, `seed ${seed}`)
              for (const { stop } of running.values()) yield* stop
              yield* pass("1 minute")
            })
          )
        }
      })
  )

  it("refuses names that are invalid for a lease", () => {
    const attempt = (leaderElection: LeaderElection.Options) =>
      String(Effect.runSync(Effect.exit(Effect.scoped(Layer.build(
        Manager.layer([], { leaderElection: { ...leaderElection, per: "object" } }).pipe(
          Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(new Server(Lease).transport)))
        )
      )))))
    assert.include(attempt({ namespace: "ops", name: "My Operator" }), `Sharding: ops/My Operator: name: "My Operator"`)
    assert.include(attempt({ namespace: "ops", name: "op", identity: "Pod_1" }), `identity: "Pod_1": is part of`)
  })
})
