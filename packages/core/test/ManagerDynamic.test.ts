import { Action, Controller, KubeClient, LeaderElection, Manager, Projection, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import {
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Metric,
  Option,
  References,
  Scheduler,
  Scope,
  Stream,
  Tracer
} from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, Server } from "./support/Server.ts"
import { interruptedAfter, pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

const noting = (name: string, journal: Journal) =>
  Controller.make(name, {
    for: Widget,
    reconcile: ({ metadata }) => Effect.as(journal.note(`${name} ${metadata.name}`), Action.done)
  })

const adding = (manager: Manager.Manager["Service"], controller: Controller.Controller) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const added = yield* Scope.provide(manager.run(controller), scope)
    return { added, stop: Scope.close(scope, Exit.void) }
  })

describe("Manager.run", () => {
  it.effect("a controller comes and goes while others run, on a shared watch, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const manager = yield* operate(server, [noting("first", journal)])
      yield* settle
      const before = yield* manager.report
      const { added, stop } = yield* adding(manager, noting("second", journal))
      yield* added.ready
      yield* settle
      assert.deepStrictEqual(journal.words, ["first a", "second a"])
      assert.strictEqual(server.watches.length, 1, "shared")
      assert.deepStrictEqual((yield* manager.report).controllers.map(({ name }) => name), ["first", "second"])
      yield* stop
      server.put(Widget, "b", small)
      yield* settle
      assert.deepStrictEqual(journal.words, ["first a", "second a", "first b"])
      const after = yield* manager.report
      assert.deepStrictEqual(after.parts, before.parts)
      assert.deepStrictEqual(after.controllers.map(({ name }) => name), ["first"])
    }))

  it.effect("its own watch ends with it, and its metrics", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const manager = yield* operate(server, [])
      const { stop } = yield* adding(manager, noting("alone", new Journal()))
      yield* settle
      assert.strictEqual(server.watches.length, 1)
      const depth = () => [...manager.metrics.values()].filter(({ id }) => id === "workqueue_depth").length
      assert.strictEqual(depth(), 2)
      yield* stop
      assert.strictEqual(server.watches.length, 0)
      assert.strictEqual(depth(), 0)
      assert.deepStrictEqual((yield* manager.report).watches, [])
    }))

  it.effect("a hundred that come and go leave no fiber, subscriber, finalizer or metric series behind", () => {
    let fibers = 0
    const count = { recordFiberStart: () => void fibers++, recordFiberEnd: () => void fibers-- }
    return Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const manager = yield* operate(server, [noting("first", journal)])
      yield* settle
      const once = Effect.gen(function*() {
        const { added, stop } = yield* adding(manager, noting("guest", journal))
        yield* added.ready
        yield* settle
        yield* stop
        yield* settle
      })
      yield* once
      const [atStart, series] = [fibers, manager.metrics.size]
      assert.isAbove(atStart, 5, "fibers are counted")
      for (let i = 0; i < 100; i++) yield* once
      assert.strictEqual(fibers, atStart)
      assert.strictEqual(manager.metrics.size, series)
      assert.strictEqual(journal.words.filter((word) => word === "guest a").length, 101)
      assert.strictEqual(server.watches.length, 1)
    }).pipe(Effect.provideService(Metric.FiberRuntimeMetrics, count))
  })

  it.effect("when it is removed, its running reconcile finishes first", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const slow = Controller.make("slow", {
        for: Widget,
        reconcile: ({ metadata }) =>
          Effect.as(Effect.delay(journal.note(`end ${metadata.name}`), "10 seconds"), Action.requeue)
      })
      const manager = yield* operate(server, [])
      const { stop } = yield* adding(manager, slow)
      yield* pass("1 second")
      const stopping = yield* Effect.forkChild(stop)
      yield* pass("8 seconds")
      assert.isUndefined(stopping.pollUnsafe())
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(journal.entries, [[10_000, "end a"]])
    }))

  it.effect("a stopping manager drains all controllers at once, including those that were added", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const slow = (name: string) =>
        Controller.make(name, { for: Widget, reconcile: () => Effect.as(Effect.sleep("20 seconds"), Action.done) })
      const scope = yield* Scope.make()
      const manager = yield* Scope.provide(operate(server, [slow("one")]), scope)
      const { added } = yield* adding(manager, slow("two"))
      yield* added.ready
      yield* settle
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* pass("19 seconds")
      assert.isUndefined(stopping.pollUnsafe())
      assert.isTrue((yield* manager.report).stopping)
      const refused = yield* Effect.flip(Effect.scoped(manager.run(slow("three"))))
      assert.include(refused.message, "the manager is stopping")
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual((yield* manager.report).parts, [])
    }))

  it.effect("whoever waits for it learns if the manager fails first", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const manager = yield* operate(server, [])
      server.fault = () => Effect.die(new Error("a bug in the transport"))
      const { added } = yield* adding(manager, noting("guest", new Journal()))
      const waiting = yield* Effect.forkChild(Effect.flip(added.ready))
      yield* pass("1 hour")
      const exit = waiting.pollUnsafe()
      if (exit === undefined || Exit.isFailure(exit)) return assert.fail("it did not fail")
      assert.include(exit.value.message, "a bug in the transport")
    }))

  it.effect("a name in use is refused, and free again afterwards", () =>
    Effect.gen(function*() {
      const manager = yield* operate(new Server(Widget), [noting("first", new Journal())])
      const refused = yield* Effect.flip(Effect.scoped(manager.run(noting("first", new Journal()))))
      assert.strictEqual(refused._tag, "ControllerRefused")
      for (let i = 0; i < 2; i++) yield* Effect.scoped(manager.run(noting("second", new Journal())))
    }))

  it.effect("a name is in use until nothing of its controller runs, not even its lease", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, LeaderElection.Lease)
      const lease = { namespace: "default", name: "operator", identity: "a", per: "controller" } as const
      const manager = yield* operate(server, [], { leaderElection: lease })
      const { added, stop } = yield* adding(manager, noting("guest", new Journal()))
      yield* added.ready
      yield* pass("1 second")
      server.latency = ({ method }) => method === "PUT" ? Effect.sleep("1 second") : Effect.void
      const stopping = yield* Effect.forkChild(stop)
      yield* pass("500 millis")
      assert.deepStrictEqual((yield* manager.report).controllers, [])
      const refused = yield* Effect.flip(Effect.scoped(manager.run(noting("guest", new Journal()))))
      assert.include(refused.message, "is running or has not ended yet")
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      server.latency = () => Effect.void
      const again = yield* adding(manager, noting("guest", new Journal()))
      yield* pass("3 seconds")
      assert.deepStrictEqual((yield* manager.report).leases.map(({ status }) => status._tag), ["Leading"])
      yield* again.stop
    }))

  it.effect("a controller that cannot be started leaves nothing behind, though its scope stays open", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, LeaderElection.Lease)
      const lease = { namespace: "default", name: "operator", identity: "a", per: "controller" } as const
      const manager = yield* operate(server, [], { leaderElection: lease })
      const { parts } = yield* manager.report
      const two = [1, 2].map(() => Projection.make(Part, "same", ({ spec }) => ({ spec })))
      const wrong = Controller.make("guest", {
        for: Widget,
        watches: two.map((part) => Watch.cached(part)),
        reconcile: () => Effect.succeed(Action.done)
      })
      const scope = yield* Scope.make()
      const exit = yield* Effect.exit(Scope.provide(manager.run(wrong), scope))
      assert.include(String(exit), "two different projections")
      yield* settle
      const report = yield* manager.report
      assert.deepStrictEqual([report.parts, report.leases, server.watches], [parts, [], []])
      const { stop } = yield* adding(manager, noting("guest", new Journal()))
      yield* stop
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("of two that are added at the same time under one name, one is refused", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const manager = yield* operate(server, [])
      const exits = yield* Effect.all(
        [1, 2].map(() => Effect.exit(manager.run(noting("guest", journal)))),
        { concurrency: "unbounded" }
        // Each takes its turn after every few steps.
      ).pipe(Effect.provideService(Scheduler.MaxOpsBeforeYield, 10))
      yield* settle
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false])
      assert.deepStrictEqual(journal.words, ["guest a"])
    }))

  it.effect("interrupted at any step of its start, it leaves nothing behind", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const manager = yield* operate(server, [])
      const { parts } = yield* manager.report
      const run = Effect.scoped(Effect.andThen(manager.run(noting("guest", new Journal())), Effect.never))
      for (let steps = 1; yield* interruptedAfter(steps, run); steps++) {
        yield* settle
        const report = yield* manager.report
        assert.deepStrictEqual([report.parts, report.controllers, server.watches], [parts, [], []], `after ${steps}`)
        yield* Effect.scoped(manager.run(noting("guest", new Journal())))
      }
    }))

  it.effect("added in a reconcile, it inherits neither log annotations nor spans", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      server.put(Part, "p")
      const names: Array<unknown> = []
      const parents: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ fiber, message }) => {
        if (!String(message).includes("cached")) return
        const { controller, reconcileID } = fiber.getRef(References.CurrentLogAnnotations)
        names.push([controller, reconcileID !== undefined])
      })
      const guest = Controller.make("guest", {
        for: Part,
        dynamicWatches: Stream.fromEffect(Effect.gen(function*() {
          parents.push(Option.getOrUndefined(yield* Effect.serviceOption(Tracer.ParentSpan)))
          return []
        })),
        reconcile: () => Effect.succeed(Action.done)
      })
      const scope = yield* Effect.scope
      let manager: Manager.Manager["Service"] | undefined
      const host = Controller.make("host", {
        for: Widget,
        reconcile: () =>
          Effect.as(
            Effect.suspend(() => Scope.provide(manager!.run(guest), scope)).pipe(Effect.withSpan("of the host")),
            Action.done
          )
      })
      const tracer = Context.get(Context.empty(), Tracer.Tracer)
      manager = yield* operate(server, [host]).pipe(
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.provide(Logger.layer([logger]))
      )
      yield* settle
      assert.deepStrictEqual(names, [["host", false], ["guest", false]])
      assert.deepStrictEqual(parents, [undefined])
    }))

  it.effect("what a controller needs is provided by its caller", () =>
    Effect.gen(function*() {
      class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const greets = Controller.make("greets", {
        for: Widget,
        reconcile: () => Effect.as(Greeting.use((word) => journal.note(word)), Action.done)
      })
      const manager = yield* operate(server, [])
      yield* Effect.provideService(manager.run(greets), Greeting, "hello")
      yield* settle
      assert.deepStrictEqual(journal.words, ["hello"])
    }))
})

describe("Manager: isolation", () => {
  it.effect("two managers in one process have metric series of their own, even for controllers with one name", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Event)
      server.put(Widget, "a", small)
      const managers = [
        yield* operate(server, [noting("same", new Journal())]),
        yield* operate(server, [noting("same", new Journal())])
      ]
      yield* settle
      const successes = managers.map(({ metrics }) =>
        [...metrics.values()].filter(({ attributes, id }) =>
          id === "controller_runtime_reconcile_total" && attributes?.["result"] === "success"
        ).map(({ hooks }) => hooks.get(Context.empty()).count)
      )
      assert.deepStrictEqual(successes, [[1], [1]])
      assert.isFalse((yield* Metric.snapshot).some(({ id }) => id === "controller_runtime_reconcile_total"))
    }))

  it.effect("a metric registry that is provided is used", () =>
    Effect.gen(function*() {
      const registry: Metric.MetricRegistry = new Map()
      const manager = yield* operate(new Server(Widget), [noting("w", new Journal())]).pipe(
        Effect.provideService(Metric.MetricRegistry, registry)
      )
      assert.strictEqual(manager.metrics, registry)
      assert.isAbove(registry.size, 10)
    }))

  it.effect("a manager is on the board until the last part of it has stopped", () =>
    Effect.gen(function*() {
      const on = new Set<unknown>()
      const board: Manager.Board = {
        register: (manager) =>
          Effect.asVoid(Effect.acquireRelease(
            Effect.sync(() => on.add(manager)),
            () => Effect.sync(() => on.delete(manager))
          ))
      }
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const slow = Controller.make("slow", {
        for: Widget,
        reconcile: () => Effect.as(Effect.sleep("5 seconds"), Action.done)
      })
      const scope = yield* Scope.make()
      const manager = yield* Scope.provide(operate(server, [slow]), scope).pipe(
        Effect.provideService(Manager.Board, board)
      )
      yield* pass("1 second")
      assert.isTrue(on.has(manager))
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* pass("3 seconds")
      assert.isTrue(on.has(manager))
      assert.isTrue((yield* manager.report).stopping)
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      assert.isFalse(on.has(manager))
    }))

  it.effect("reports the state of every key", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const gate = yield* Deferred.make<void>()
      for (const name of ["a", "b", "c"]) server.put(Widget, name, small)
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) =>
          metadata.name === "a"
            ? Effect.succeed(Action.requeueAfter("1 hour"))
            : Effect.as(Deferred.await(gate), Action.done)
      })])
      yield* pass("2 seconds")
      const { known, processing } = manager.keys("widgets")!
      assert.deepStrictEqual([...processing], [["default/b", 0]])
      assert.deepStrictEqual(known.map(({ due, key, phase, readySince }) => [key, phase, due, readySince]), [
        ["default/a", "Waiting", 3_600_000, undefined],
        ["default/b", "Processing", undefined, undefined],
        ["default/c", "Ready", undefined, 0]
      ])
      assert.isUndefined(manager.keys("others"))
      yield* Deferred.succeed(gate, undefined)
    }))

  it("adding a controller that needs a client and its kinds needs nothing else", () => {
    const added = (
      manager: Manager.Manager["Service"]
    ): Effect.Effect<unknown, Manager.ControllerRefused, Scope.Scope> =>
      manager.run(Controller.make("w", {
        for: Widget,
        reconcile: () => KubeClient.KubeClient.use(() => Effect.succeed(Action.done))
      }))
    assert.isDefined([added, Layer.empty])
  })
})
