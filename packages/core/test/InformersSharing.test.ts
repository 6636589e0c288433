import { type Informers, Projection } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Metric, Scope } from "effect"
import { informing } from "./support/Informing.ts"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { Server } from "./support/Server.ts"
import { settle } from "./support/Time.ts"

describe("Informers: sharing", () => {
  it.effect("any coming and going leaves one watch for each selection in use, and nothing else (50 random runs)", () =>
    Effect.gen(function*() {
      const first = Number(process.env["SEED"] ?? 1)
      const asks: ReadonlyArray<Informers.Options> = [
        { resource: Part },
        { resource: Part, labels: "app=web" },
        { resource: Part, labels: "app=web", indexedLabels: ["app"] },
        { resource: Part, namespace: "default" },
        { resource: Secret }
      ]
      const distinct = (used: Iterable<number>) => new Set([...used].map((i) => i === 2 ? 1 : i)).size
      for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 50 : 1); seed++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const random = new Prng(seed)
          const server = new Server(Part, Secret)
          const { informers, supervisor } = yield* informing(server)
          const metrics = yield* Effect.map(Metric.snapshot, (all) => all.length)
          const users = new Map<Scope.Closeable, { readonly ask: number; readonly informer: Informers.Informer }>()
          const leave = (scope: Scope.Closeable) =>
            Effect.andThen(Scope.close(scope, Exit.void), Effect.sync(() => users.delete(scope)))
          for (let i = 0; i < 40; i++) {
            if (random.chance(0.55)) {
              const scope = yield* Scope.make()
              const ask = random.int(0, asks.length - 1)
              const informer = yield* Scope.provide(informers.get(asks[ask]!), scope)
              if (random.chance(0.7)) yield* Scope.provide(informer.subscribe(() => {}), scope)
              users.set(scope, { ask, informer })
            } else if (users.size > 0) yield* leave(random.pick([...users.keys()]))
            if (random.chance(0.6)) yield* settle
          }
          yield* settle
          const used = distinct([...users.values()].map(({ ask }) => ask))
          assert.strictEqual(informers.active().length, used, `SEED=${seed}`)
          assert.strictEqual(server.watches.length, used, `SEED=${seed}`)
          assert.strictEqual(supervisor.running().length, used, `SEED=${seed}`)
          for (const scope of users.keys()) yield* leave(scope)
          yield* settle
          const left = [informers.active(), server.watches, supervisor.running()].map(({ length }) => length)
          assert.deepStrictEqual(left, [0, 0, 0], `SEED=${seed}`)
          assert.strictEqual((yield* Metric.snapshot).length, metrics, `SEED=${seed}`)
        }))
      }
    }))

  it.effect("informers are shared whatever their indexes; an index is added by the first who asks for it", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", {}, { labels: { app: "web" } })
      const { informers } = yield* informing(server)
      const plain = yield* informers.get({ resource: Part })
      yield* settle
      assert.isUndefined(plain.store.bucket("label:app", "web"))
      const indexed = yield* informers.get({ resource: Part, indexedLabels: ["app"] })
      assert.strictEqual(indexed, plain)
      assert.deepStrictEqual([...plain.store.bucket("label:app", "web")!.keys()], ["default/a"])
    }))

  it.effect("two projections of a kind with one name are refused", () =>
    Effect.gen(function*() {
      const { informers } = yield* informing(new Server(Part))
      const project = () => Projection.make(Part, "role", ({ spec }) => ({ role: spec?.role }))
      const once = project()
      yield* informers.get({ resource: once })
      yield* informers.get({ resource: once })
      const exit = yield* Effect.exit(informers.get({ resource: project() }))
      const why = Cause.pretty(Exit.isFailure(exit) ? exit.cause : Cause.empty)
      assert.match(why, /two different projections are named Part\.v1\/role: give each its own name/)
    }))

  it.effect("a write through another version of the kind only marks the key as written", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const { informers } = yield* informing(server)
      const { store } = yield* informers.get({ resource: Widget })
      yield* settle
      const before = store.get("default/a")
      server.hold()
      const newer = server.patch(Widget, "a", { spec: { size: 2 } })
      const other = { ...Widget, version: "v2", apiVersion: "test.io/v2" }
      server.fault = (request) =>
        request.path.includes("/v2/")
          ? Effect.succeed({ status: 200, headers: {}, body: { ...newer, apiVersion: "test.io/v2" } })
          : Effect.undefined
      yield* server.own.patch(other, { name: "a", namespace: "default" }, { _tag: "Merge", body: {} })
      assert.strictEqual(store.get("default/a"), before)
      assert.isTrue(store.isStale("default/a"))
      assert.strictEqual(store.unconfirmed, 1)
      server.release()
      yield* settle
      assert.isFalse(store.isStale("default/a"))
    }))
})
