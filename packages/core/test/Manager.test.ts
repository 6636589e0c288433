import {
  Action,
  Cache,
  Controller,
  KubeClient,
  type KubeError,
  Manager,
  Supervisor,
  Watch
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }
const done = Effect.succeed(Action.done)

const idle = (name: string) => Controller.make(name, { for: Widget, reconcile: () => done })

describe("Manager.launch", () => {
  it.effect("runs until it is interrupted, and then nothing is left", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      const fiber = yield* Effect.forkChild(
        Manager.launch(Manager.layer([controller]).pipe(Layer.provide(server.layer)))
      )
      yield* pass("1 hour")
      assert.deepStrictEqual(journal.words, ["a"])
      assert.strictEqual(server.watches.length, 2)
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(server.watches.length, 0)
      const requests = server.requests.length
      server.put(Widget, "b", small)
      yield* pass("24 hours")
      assert.deepStrictEqual(journal.words, ["a"])
      assert.strictEqual(server.requests.length, requests)
    }))

  it.effect("a reflector that dies of a bug takes the manager down", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const fiber = yield* Effect.forkChild(
        Manager.launch(Manager.layer([idle("widgets")]).pipe(Layer.provide(server.layer)))
      )
      yield* settle
      server.fault = () => Effect.die(new Error("a bug in the transport"))
      server.watches[0]!.break()
      yield* pass("2 seconds")
      const exit = fiber.pollUnsafe()
      if (exit === undefined || Exit.isSuccess(exit)) return assert.fail("it did not fail")
      const failed = Cause.squash(exit.cause) as Supervisor.PartFailed
      assert.instanceOf(failed, Supervisor.PartFailed)
      assert.strictEqual(server.watches.length, 0, "the rest is stopped")
      assert.include(failed.part, "reflector Widget.v1.test.io")
      assert.include(failed.message, "a bug in the transport")
    }))

  it.effect("a part of a layer that is provided to the manager takes it down too", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const hooks = Layer.effectDiscard(Effect.gen(function*() {
        const supervisor = yield* Supervisor.make
        yield* supervisor.run("hooks", Effect.andThen(Effect.sleep("1 second"), Effect.fail("port 9443 is in use")))
      }))
      const operator = Manager.layer([idle("widgets")]).pipe(Layer.provide(hooks), Layer.provide(server.layer))
      const fiber = yield* Effect.forkChild(Effect.flip(Manager.launch(operator)))
      yield* settle
      assert.strictEqual(server.watches.length, 1)
      yield* pass("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).message, "hooks ended: port 9443 is in use")
      assert.strictEqual(server.watches.length, 0, "the rest is stopped")
    }))

  it.effect("two controllers with one name are refused", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const operator = Manager.layer([idle("a"), idle("b"), idle("a")]).pipe(Layer.provide(server.layer))
      const exit = yield* Effect.exit(Manager.launch(operator))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.strictEqual(
        (error as Error).message,
        `Manager.layer: controllers: two are named "a": give each its own name`
      )
      assert.strictEqual(server.requests.length, 0)
    }))
})

describe("Manager: stop", () => {
  /** A manager in a scope of its own, whose reconcile of each Widget takes `spec.size` seconds. */
  const busy = Effect.fnUntraced(function*(server: Server, options?: Manager.Options) {
    const journal = new Journal()
    const controller = Controller.make("widgets", {
      for: Widget,
      reconcile: ({ metadata, spec }, { events }) =>
        journal.note(`begin ${metadata.name}`).pipe(
          Effect.andThen(Effect.sleep(spec.size * 1000)),
          Effect.andThen(events.normal({ reason: "Done", note: "done" })),
          Effect.andThen(journal.note(`end ${metadata.name}`)),
          Effect.as(Action.requeue),
          Effect.onInterrupt(() => journal.note(`interrupted ${metadata.name}`))
        )
    })
    const scope = yield* Scope.make()
    const manager = yield* Scope.provide(operate(server, [controller], options), scope)
    yield* settle
    return { journal, manager, stop: Scope.close(scope, Exit.void) }
  })

  it.effect("running reconciles finish, none start, their events are written, and watches stay open until then", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 20 } })
      server.put(Widget, "b", { spec: { size: 20 } })
      const { journal, stop } = yield* busy(server)
      yield* pass("5 seconds")
      const stopping = yield* Effect.forkChild(stop)
      yield* pass("14 seconds")
      assert.strictEqual(server.watches.length, 1)
      assert.isUndefined(stopping.pollUnsafe())
      yield* pass("1 second")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(journal.entries, [[0, "begin a"], [20_000, "end a"]])
      assert.deepStrictEqual(server.objects(Event).map(({ reason }) => reason), ["Done"])
      assert.strictEqual(server.watches.length, 0)
    }))

  it.effect("what takes longer than the drain time is interrupted", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 3600 } })
      const { journal, manager, stop } = yield* busy(server)
      const stopping = yield* Effect.forkChild(stop)
      yield* pass(24_999)
      assert.isUndefined(stopping.pollUnsafe())
      yield* pass(1)
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(journal.entries, [[0, "begin a"], [25_000, "interrupted a"]])
      assert.deepStrictEqual((yield* manager.report).parts, [])
      assert.strictEqual(server.watches.length, 0)
    }))

  it.effect("the drain time is an option", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 3600 } })
      const { journal, stop } = yield* busy(server, { drain: "3 seconds" })
      const stopping = yield* Effect.forkChild(stop)
      yield* pass("3 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(journal.times, [0, 3000])
    }))

  it.effect("events that cannot be written delay the stop by two seconds at most", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const { stop } = yield* busy(server)
      server.fault = (request) => request.path.includes("/events") ? Effect.never : Effect.undefined
      yield* pass("500 millis")
      const stopping = yield* Effect.forkChild(stop)
      yield* pass("2 seconds")
      assert.isUndefined(stopping.pollUnsafe())
      yield* pass("500 millis")
      yield* Fiber.join(stopping)
    }))

  it.effect("an idle manager stops at once, even before its caches are full", () =>
    Effect.gen(function*() {
      for (const fault of [Effect.undefined, Effect.never]) {
        const server = new Server(Widget)
        server.fault = () => fault
        const { manager, stop } = yield* busy(server)
        yield* stop
        assert.deepStrictEqual((yield* manager.report).parts, [])
        assert.deepStrictEqual((yield* manager.report).watches, [])
      }
    }))
})

describe("Manager", () => {
  it.effect("controllers share watches of equal selections, and each gets every object", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const controller = (name: string) =>
        Controller.make(name, {
          for: Widget,
          owns: [Part],
          reconcile: ({ metadata }) => Effect.as(journal.note(`${name} ${metadata.name}`), Action.done)
        })
      const manager = yield* operate(server, [controller("one"), controller("two")])
      yield* manager.ready
      yield* settle
      server.put(Widget, "b", small)
      yield* settle
      assert.sameMembers([...journal.words], ["one a", "two a", "one b", "two b"])
      assert.strictEqual(server.watches.length, 2)
    }))

  it.effect("reports controllers, watches and parts", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small, { namespace: "x" })
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        namespaces: ["x", "y"],
        reconcile: () => Effect.succeed(Action.requeueAfter("1 hour"))
      })])
      yield* pass("1 second")
      const report = yield* manager.report
      assert.deepStrictEqual(report.controllers, [
        {
          name: "widgets",
          resource: "Widget.v1.test.io",
          status: { _tag: "Running", since: 0 },
          waitingFor: [],
          queue: { ready: 0, waiting: 1, processing: 0 }
        }
      ])
      assert.deepStrictEqual(
        report.watches.map(({ namespace, objects, resource, status, unconfirmed }) => [
          resource,
          namespace,
          status._tag,
          objects,
          unconfirmed
        ]),
        [["Widget.v1.test.io", "x", "Live", 1, 0], ["Widget.v1.test.io", "y", "Live", 0, 0]]
      )
      assert.includeMembers([...report.parts], ["controller widgets", "event recorder", "resync of widgets"])
    }))

  it.effect("several managers in one process do not interfere", () =>
    Effect.gen(function*() {
      const servers = [new Server(Widget), new Server(Widget)]
      const journals = [new Journal(), new Journal()]
      const scopes = [yield* Scope.make(), yield* Scope.make()]
      const managers: Array<Manager.Manager["Service"]> = []
      for (const i of [0, 1]) {
        const controller = Controller.make("widgets", {
          for: Widget,
          reconcile: ({ metadata }) => Effect.as(journals[i]!.note(metadata.name), Action.done)
        })
        managers.push(yield* Scope.provide(operate(servers[i]!, [controller]), scopes[i]!))
      }
      yield* settle
      servers[0]!.put(Widget, "a", small)
      servers[1]!.put(Widget, "b", small)
      yield* settle
      assert.deepStrictEqual(journals.map(({ words }) => words), [["a"], ["b"]])
      yield* Scope.close(scopes[0]!, Exit.void)
      servers[0]!.put(Widget, "c", small)
      servers[1]!.put(Widget, "d", small)
      yield* settle
      assert.deepStrictEqual(journals.map(({ words }) => words), [["a"], ["b", "d"]])
      assert.strictEqual((yield* managers[1]!.report).watches[0]?.objects, 2)
      const failure = yield* Effect.forkChild(managers[1]!.failure)
      yield* settle
      assert.isUndefined(failure.pollUnsafe())
    }))

  it.effect("two managers on one server each see the other's writes, and overlay their own", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const gate = yield* Deferred.make<void>()
      const journal = new Journal()
      const controller = (name: string, write: boolean) =>
        Controller.make(name, {
          for: Widget,
          watches: [Watch.make(Part, { map: () => [] })],
          reconcile: () =>
            Effect.gen(function*() {
              const client = yield* KubeClient.KubeClient
              if (write) yield* client.create(Part, { metadata: { name: "p", namespace: "default" } })
              else yield* Deferred.await(gate)
              yield* journal.note(`${name} ${(yield* Cache.list(Part)).length}`)
              return Action.done
            })
        })
      yield* operate(server, [controller("writer", true)])
      yield* operate(server, [controller("reader", false)])
      yield* settle
      server.fault = (request) =>
        Effect.sync(() => {
          if (request.method === "POST") server.hold()
          return undefined
        })
      server.put(Widget, "a", small)
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.deepStrictEqual(journal.words, ["writer 1", "reader 0"])
      server.release()
      yield* settle
      const last = journal.entries.length
      server.patch(Widget, "a", { metadata: { labels: { again: "yes" } } })
      yield* settle
      assert.include(journal.words.slice(last), "reader 1")
    }))

  it.effect("writes of a service built on the same client are visible at once too", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const journal = new Journal()
      class Maker
        extends Context.Service<Maker, { readonly make: Effect.Effect<unknown, KubeError.KubeError> }>()("Maker")
      {}
      const maker = Layer.effect(
        Maker,
        KubeClient.KubeClient.use((client) =>
          Effect.succeed({ make: client.create(Part, { metadata: { name: "p", namespace: "default" } }) })
        )
      )
      const controller = Controller.make("writer", {
        for: Widget,
        watches: [Watch.cached(Part)],
        reconcile: () =>
          Effect.gen(function*() {
            server.hold()
            yield* (yield* Maker).make
            yield* journal.note(`sees ${(yield* Cache.list(Part)).length}`)
            return Action.done
          })
      })
      const shared = Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport))
      yield* Layer.build(Manager.layer([controller]).pipe(Layer.provide(maker), Layer.provide(shared)))
      yield* settle
      server.put(Widget, "a", small)
      yield* settle
      assert.deepStrictEqual(journal.words, ["sees 1"])
    }))

  it.effect("after its scope closed, at whatever point, no fiber, watch or subscriber is left", () =>
    Effect.gen(function*() {
      for (let steps = 0; steps < 40; steps++) {
        const server = new Server(Widget, Part)
        server.put(Widget, "a", small)
        server.put(Widget, "b", { spec: { size: "bad" } })
        const scope = yield* Scope.make()
        const controller = Controller.make("widgets", {
          for: Widget,
          owns: [Part],
          concurrency: 2,
          reconcile: ({ metadata }) =>
            Effect.gen(function*() {
              const client = yield* KubeClient.KubeClient
              if ((yield* Cache.list(Part)).length < 3) {
                yield* client.create(Part, { metadata: { name: `${metadata.name}${server.rv}`, namespace: "default" } })
                return Action.requeue
              }
              return Action.done
            }),
          finalize: () => done
        })
        const manager = yield* Scope.provide(operate(server, [controller]), scope)
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
        yield* pass("30 seconds")
        yield* Fiber.join(closing)
        const report = yield* manager.report
        assert.deepStrictEqual([report.parts, report.watches, server.watches], [[], [], []], `after ${steps} steps`)
        const requests = server.requests.length
        server.put(Widget, "c", small)
        yield* pass("24 hours")
        assert.strictEqual(server.requests.length, requests, `after ${steps} steps`)
      }
    }))
})

describe("Manager: types", () => {
  type Runs = Effect.Effect<never, Supervisor.PartFailed>
  const server = new Server(Widget)
  const launch = <R>(controller: Controller.Controller<R>) =>
    Manager.launch(Manager.layer([controller]).pipe(Layer.provide(server.layer)))
  const readsSecrets = () => Effect.as(Cache.list(Secret), Action.done)

  it("a controller that reads a kind it neither owns nor watches does not compile", () => {
    const undeclared = Controller.make("widgets", { for: Widget, owns: [Part], reconcile: readsSecrets })
    // @ts-expect-error: nothing provides Cached<"Secret.v1">
    // @effect-diagnostics-next-line missingEffectContext:off
    const program: Runs = launch(undeclared)
    const cleansUp = Controller.make("widgets", { for: Widget, reconcile: () => done, finalize: readsSecrets })
    // @ts-expect-error: nor for a clean-up
    // @effect-diagnostics-next-line missingEffectContext:off
    const cleaning: Runs = launch(cleansUp)
    const declared = Controller.make("others", { for: Widget, watches: [Watch.cached(Secret)], reconcile: () => done })
    const both = Manager.layer([undeclared, declared]).pipe(Layer.provide(server.layer))
    // @ts-expect-error: another controller's declaration does not count
    // @effect-diagnostics-next-line missingEffectContext:off
    const two: Runs = Manager.launch(both)
    assert.isDefined([program, cleaning, two])
  })

  it("a controller that declares it does compile, in each of the ways", () => {
    const reconcile = readsSecrets
    const watched: Runs = launch(Controller.make("w", { for: Widget, watches: [Watch.cached(Secret)], reconcile }))
    const owned: Runs = launch(Controller.make("w", { for: Widget, owns: [Part, Secret], reconcile }))
    const own: Runs = launch(Controller.make("w", { for: Secret, reconcile, finalize: reconcile }))
    const mapped: Runs = launch(Controller.make("w", {
      for: Widget,
      owns: [Part],
      watches: [Watch.make(Secret, { map: () => [] })],
      reconcile: () => Effect.andThen(Cache.get(Part, { name: "a", namespace: "b" }), readsSecrets())
    }))
    assert.isDefined([watched, owned, own, mapped])
  })

  it("a user's own service remains to be provided", () => {
    class Greeter extends Context.Service<Greeter, { readonly hello: string }>()("test/Greeter") {}
    const greets = Controller.make("widgets", { for: Widget, reconcile: () => Effect.as(Greeter, Action.done) })
    const operator: Layer.Layer<Manager.Manager, never, Greeter | KubeClient.KubeClient> = Manager.layer([greets])
    // @ts-expect-error: nobody provides the Greeter
    // @effect-diagnostics-next-line missingEffectContext:off
    const program: Runs = Manager.launch(operator.pipe(Layer.provide(server.layer)))
    const provided: Runs = Manager.launch(
      operator.pipe(Layer.provide([server.layer, Layer.succeed(Greeter, Greeter.of({ hello: "hello" }))]))
    )
    assert.isDefined([program, provided])
  })
})
