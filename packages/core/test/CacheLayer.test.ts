import { Action, Cache, CacheIndex, Controller, KubeClient, Manager, Sync, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal } from "./support/Operating.ts"
import { refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  objects.map(({ metadata }) => metadata.name).sort()

const byRole = CacheIndex.make(Part, "role", ({ spec }) => spec?.role === undefined ? [] : [spec.role])

describe("Cache.layer", () => {
  it.effect("serves code outside controllers: objects, lists, indexes, changes, and own writes at once", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Secret)
      server.put(Part, "a", { spec: { role: "web" } })
      server.put(Secret, "elsewhere", {}, { namespace: "other" })
      yield* Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        assert.strictEqual((yield* Cache.get(Part, { namespace: "default", name: "a" }))?.spec?.role, "web")
        assert.deepStrictEqual(names(yield* Cache.byIndex(byRole, "web")), ["a"])
        server.hold()
        yield* client.create(Part, { metadata: { namespace: "default", name: "b" }, spec: { role: "web" } })
        assert.deepStrictEqual(names(yield* Cache.list(Part)), ["a", "b"])
        assert.deepStrictEqual(names(yield* Cache.byIndex(byRole, "web")), ["a", "b"])
        const role = Effect.map(Cache.live(Part, { namespace: "default", name: "b" }), (part) => part?.spec?.role)
        assert.strictEqual(yield* role, "web")
        const patch = KubeClient.Patch.merge({ spec: { role: "db" } })
        yield* client.patch(Part, { namespace: "default", name: "b" }, patch)
        assert.strictEqual(yield* role, "db", "what is remembered of a live read ends with an own write")
        const [snapshot] = yield* Stream.runCollect(Stream.take(Cache.changes(Part), 1))
        assert.deepInclude(snapshot, { _tag: "Snapshot" })
        assert.deepStrictEqual(yield* Cache.list(Secret), [], "of its namespaces only")
        assert.lengthOf(server.requestsFor("GET", "parts"), 4, "a list, a watch, and two that were asked for")
      }).pipe(
        Effect.provide(
          Layer.provideMerge(Cache.layer([Part, Watch.cached(Secret, { namespaces: ["default"] })]), server.layer)
        )
      )
      assert.lengthOf(server.watches, 0, "it ends with its scope")
    }))

  it.effect("is enough to apply a set of children, each time anew", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Widget)
      const parent = server.put(Widget, "w", { spec: { size: 1 } })
      const ownerReferences = [controllerReference(parent)]
      server.put(Part, "a", { spec: { role: "db" } }, { ownerReferences })
      const wanted = [Sync.child(Part, { metadata: { name: "a" }, spec: { role: "web" } })]
      yield* Effect.gen(function*() {
        for (let i = 0; i < 2; i++) yield* Sync.children(parent, [Part], wanted)
      }).pipe(Effect.provide(Layer.provideMerge(Cache.layer([Part]), server.layer)))
      assert.deepInclude(server.get(Part, "a"), { spec: { role: "web" } })
      assert.lengthOf(server.requestsFor("PATCH", "parts"), 2)
    }))

  it.effect("is ready before its lists: a read waits for them", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Secret)
      server.put(Part, "a")
      let forbidden = true
      server.fault = ({ path }) =>
        Effect.succeed(forbidden && path.endsWith("/parts") ? refuse(403, "Forbidden", "not yet") : undefined)
      yield* Effect.gen(function*() {
        const reading = yield* Effect.forkChild(Cache.list(Part))
        const following = yield* Effect.forkChild(Stream.runCollect(Stream.take(Cache.changes(Part), 1)))
        const secrets = yield* Effect.forkChild(Cache.list(Secret))
        yield* pass("5 minutes")
        assert.isUndefined(reading.pollUnsafe())
        assert.isUndefined(following.pollUnsafe())
        assert.isDefined(secrets.pollUnsafe(), "other kinds are not held up")
        forbidden = false
        yield* pass("1 minute")
        assert.deepStrictEqual(names(yield* Fiber.join(reading)), ["a"])
        const [snapshot] = yield* Fiber.join(following)
        assert.deepStrictEqual(snapshot?._tag === "Snapshot" ? names(snapshot.objects) : snapshot, ["a"])
      }).pipe(Effect.provide(Layer.provideMerge(Cache.layer([Part, Secret]), server.layer)))
    }))

  it.effect("a read waits for the lists of its own namespaces only", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      for (const namespace of ["default", "other"]) server.put(Part, `in-${namespace}`, {}, { namespace })
      let forbidden = true
      server.fault = ({ path }) =>
        Effect.succeed(forbidden && path.includes("/other/") ? refuse(403, "Forbidden", "not yet") : undefined)
      yield* Effect.gen(function*() {
        const inDefault = yield* Effect.forkChild(Effect.all([
          Cache.list(Part, { namespace: "default" }),
          Effect.map(Cache.get(Part, { namespace: "default", name: "in-default" }), (part) => part ? [part] : [])
        ]))
        const inOther = yield* Effect.forkChild(Cache.list(Part, { namespace: "other" }))
        const one = yield* Effect.forkChild(Cache.get(Part, { namespace: "other", name: "in-other" }))
        const everywhere = yield* Effect.forkChild(Cache.list(Part))
        yield* pass("5 minutes")
        assert.deepStrictEqual((yield* Fiber.join(inDefault)).map(names), [["in-default"], ["in-default"]])
        for (const waiting of [inOther, one, everywhere]) assert.isUndefined(waiting.pollUnsafe())
        forbidden = false
        yield* pass("1 minute")
        assert.deepStrictEqual(names(yield* Fiber.join(inOther)), ["in-other"])
        assert.isDefined(yield* Fiber.join(one))
        assert.deepStrictEqual(names(yield* Fiber.join(everywhere)), ["in-default", "in-other"])
      }).pipe(
        Effect.provide(
          Layer.provideMerge(Cache.layer([Watch.cached(Part, { namespaces: ["default", "other"] })]), server.layer)
        )
      )
    }))

  it.effect("a manager that is given the layer shares and reports its watches; its controllers can read, and are not woken", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      server.put(Widget, "a", { spec: { size: 1 } })
      server.put(Part, "p")
      const journal = new Journal()
      server.put(Secret, "selected", {}, { labels: { app: "web" } })
      server.put(Secret, "another")
      const controller = Controller.make("reading", {
        for: Widget,
        // Of a kind that both have, it reads what it has declared itself.
        watches: [Watch.cached(Secret, { labels: "app=web" })],
        reconcile: () =>
          Effect.gen(function*() {
            yield* journal.note(`${names(yield* Cache.list(Part))} ${names(yield* Cache.list(Secret))}`)
            return Action.done
          })
      })
      const scope = yield* Scope.make()
      const context = yield* Layer.build(
        Manager.layer([controller]).pipe(
          Layer.provideMerge(Cache.layer([Part, Widget, Secret])),
          Layer.provide(server.layer)
        )
      ).pipe(Scope.provide(scope))
      yield* settle
      assert.deepStrictEqual(journal.words, ["p selected"])
      const { watches } = yield* Context.get(context, Manager.Manager).report
      assert.deepStrictEqual(watches.map(({ plural }) => plural).sort(), [
        "parts",
        "secrets",
        "secrets",
        "widgets.test.io"
      ])
      assert.lengthOf(server.watches, 4)
      server.put(Part, "q")
      yield* settle
      assert.lengthOf(journal.words, 1)
      yield* Scope.close(scope, Exit.void)
      assert.lengthOf(server.watches, 0)
    }))

  it.effect("a nested layer reads the kinds of both, and a manager within both shares their watches", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      server.put(Widget, "a", { spec: { size: 1 } })
      server.put(Part, "p")
      server.put(Secret, "s")
      const journal = new Journal()
      const read = Effect.gen(function*() {
        return [...names(yield* Cache.list(Part)), ...names(yield* Cache.list(Secret))].join()
      })
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.as(Effect.flatMap(read, journal.note), Action.done)
      })
      const both = Cache.layer([Part]).pipe(
        Layer.provideMerge(Cache.layer([Secret])),
        Layer.provideMerge(server.layer)
      )
      const context = yield* Layer.build(Layer.provideMerge(Manager.layer([controller]), both))
      yield* settle
      assert.deepStrictEqual(journal.words, ["p,s"])
      assert.strictEqual(yield* Effect.provide(read, context), "p,s")
      const { watches } = yield* Context.get(context, Manager.Manager).report
      assert.deepStrictEqual(watches.map(({ plural }) => plural).sort(), ["parts", "secrets", "widgets.test.io"])
      assert.lengthOf(server.watches, 3)
    }))

  it.effect("a manager refuses a layer of another client", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Widget, Part), new Server(Widget)]
      home.put(Widget, "of-home", { spec: { size: 1 } })
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      const exit = yield* Effect.exit(Layer.build(
        Manager.layer([controller]).pipe(
          Layer.provide(away.layer),
          Layer.provide(Cache.layer([Part]).pipe(Layer.provide(home.layer)))
        )
      ))
      assert.include(String(exit), "Manager.layer: its Cache.layer has a different client")
      yield* settle
      assert.deepStrictEqual(journal.words, [])
    }))

  it.effect("a kind that is in neither the layer nor the controller does not compile", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reading = Cache.list(Secret).pipe(Effect.provide(Layer.provide(Cache.layer([Part]), server.layer)))
      // @ts-expect-error: Secret is not in the layer
      // @effect-diagnostics-next-line missingEffectContext:off
      const typed: Effect.Effect<unknown> = reading
      const exit = yield* Effect.exit(typed)
      assert.include(String(exit), "Secret.v1 is not cached")
    }))
})
