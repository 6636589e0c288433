import { Action, Cache, Controller, KubeClient, Trigger, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Prng } from "./support/Prng.ts"
import { Event, isWatch, refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

describe("Controller.make", () => {
  const reconcile = () => Effect.succeed(Action.done)

  it("refuses a name that is invalid in a metric or field manager, and a concurrency below 1", () => {
    for (const name of ["", "Widgets", "a_b", "-a", "a-", "a b"]) {
      assert.throws(
        () => Controller.make(name, { for: Widget, reconcile }),
        /Controller\.make: name: .* must consist of/
      )
    }
    for (const concurrency of [0, -1, 1.5, Number.NaN]) {
      assert.throws(() => Controller.make("a", { for: Widget, reconcile, concurrency }), /a: concurrency: .* must be/)
    }
  })

  it("names the finalizer after the group and the controller", () => {
    const finalize = () => Effect.succeed(Action.done)
    const of = (options: { readonly finalizer?: string }) =>
      Controller.make("widgets", { for: Widget, reconcile, finalize, ...options }).finalize?.finalizer
    assert.strictEqual(of({}), "test.io/widgets")
    assert.strictEqual(of({ finalizer: "a.io/b" }), "a.io/b")
    const core = Controller.make("parts", { for: Part, reconcile, finalize })
    assert.strictEqual(core.finalize?.finalizer, "effect-operator.dev/parts", "domains of Kubernetes are reserved")
  })
})

describe("Controller: caches", () => {
  it.effect("reconciles nothing before every cache is full; then everything is there", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      server.put(Widget, "a", small)
      server.put(Secret, "s")
      const gate = yield* Deferred.make<void>()
      server.fault = (request) =>
        request.path.endsWith("/secrets") && !isWatch(request)
          ? Effect.as(Deferred.await(gate), undefined)
          : Effect.undefined
      const journal = new Journal()
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        watches: [Watch.cached(Secret)],
        reconcile: (widget) =>
          Effect.gen(function*() {
            const secrets = yield* Cache.list(Secret)
            yield* journal.note(`${widget.metadata.name} ${secrets.length}`)
            return Action.done
          })
      })])
      const ready = yield* Effect.forkChild(manager.ready)
      yield* pass("80 seconds")
      assert.deepStrictEqual(journal.words, [])
      assert.isUndefined(ready.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.deepStrictEqual(journal.words, ["a 1"])
      yield* Fiber.join(ready)
    }))

  it.effect("a cache that does not sync holds up only its own controller, which says why and starts when it can", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      server.put(Widget, "a", small)
      let forbidden = true
      server.fault = (request) =>
        forbidden && request.path.endsWith("/secrets")
          ? Effect.succeed(refuse(403, "Forbidden", "secrets is forbidden"))
          : forbidden && request.path.endsWith("namespaces/a/parts") && !isWatch(request)
          ? Effect.never
          // This one is full, and its watch broken: no reason why the controller does not start.
          : request.path.endsWith("/widgets") && isWatch(request)
          ? Effect.succeed(refuse(500, "InternalError"))
          : Effect.undefined
      const journal = new Journal()
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      yield* operate(server, [
        Controller.make("blind", {
          for: Widget,
          watches: [Watch.cached(Secret), Watch.cached(Part, { namespaces: ["a", "b"] })],
          cacheSyncTimeout: "30 seconds",
          reconcile: () => Effect.as(journal.note("blind"), Action.done)
        }),
        Controller.make("healthy", {
          for: Widget,
          reconcile: () => Effect.as(journal.note("healthy"), Action.done)
        })
      ]).pipe(Effect.provide(Logger.layer([logger])))
      yield* pass("29 seconds")
      assert.deepStrictEqual(journal.words, ["healthy"])
      const complaints = () => lines.filter((line) => line.includes("caches are not in sync yet"))
      assert.deepStrictEqual(complaints(), [])
      yield* pass("1 second")
      assert.deepStrictEqual(complaints(), [
        "not started: the caches are not in sync yet: Secret.v1: Forbidden: secrets is forbidden " +
        "(does the operator's role allow list and watch?); Part.v1 in a: the API server has not answered the list request"
      ])
      yield* pass("1 minute")
      assert.strictEqual(complaints().length, 3, "again and again")
      forbidden = false
      // The list that is never answered is given up by its own time-out.
      yield* pass("5 minutes")
      assert.deepStrictEqual(journal.words, ["healthy", "blind"])
    }))

  it.effect("a reconciler reads its own writes, however far the watch lags", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        reconcile: (widget) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            const parts = yield* Cache.list(Part, { owner: widget })
            yield* journal.note(parts.map(({ metadata }) => metadata.name).join())
            if (parts.length < 3) {
              yield* client.create(Part, {
                metadata: {
                  name: `p${parts.length}`,
                  namespace: "default",
                  ownerReferences: [{ ...widget, ...widget.metadata, controller: true }]
                }
              })
              return Action.requeue
            }
            return Action.done
          })
      })])
      yield* settle
      server.put(Widget, "a", small)
      server.hold()
      yield* settle
      assert.deepStrictEqual(journal.words, ["", "p0", "p0,p1", "p0,p1,p2"])
      server.release()
      yield* settle
      assert.strictEqual(server.objects(Part).length, 3)
    }))

  it.effect("reconciles only objects of its own selection, whatever a watch maps to", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "mine", small, { namespace: "a", labels: { shard: "1" } })
      server.put(Widget, "other", small, { namespace: "a", labels: { shard: "2" } })
      server.put(Widget, "elsewhere", small, { namespace: "b", labels: { shard: "1" } })
      for (const name of ["mine", "other", "elsewhere"]) {
        server.put(Part, name, {}, { namespace: name === "elsewhere" ? "b" : "a" })
      }
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        namespaces: ["a"],
        labels: { shard: "1" },
        watches: [
          Watch.make(Part, { map: ({ metadata }) => [metadata] }),
          Watch.make(Widget, { map: ({ metadata }) => [metadata] })
        ],
        resync: "1 hour",
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })])
      yield* pass("61 minutes")
      assert.deepStrictEqual(journal.words, ["mine", "mine"])
    }))
})

describe("Controller: keys", () => {
  it.effect("a key is never in two workers, and an object that changes meanwhile is reconciled again", () =>
    Effect.gen(function*() {
      const seed = Number(process.env["SEED"] ?? 1)
      const random = new Prng(seed)
      const server = new Server(Widget)
      const active = new Map<string, number>()
      const seen = new Map<string, string>()
      let most = 0
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        concurrency: 4,
        reconcile: ({ metadata }) =>
          Effect.gen(function*() {
            const { name } = metadata
            active.set(name, (active.get(name) ?? 0) + 1)
            assert.strictEqual(active.get(name), 1, `SEED=${seed}: ${name} is in two workers`)
            most = Math.max(most, [...active.values()].reduce((a, b) => a + b, 0))
            yield* Effect.sleep(random.int(0, 300))
            active.set(name, 0)
            seen.set(name, metadata.resourceVersion)
            if (random.chance(0.2)) return yield* Effect.fail("now and then")
            return random.chance(0.2) ? Action.requeue : random.chance(0.2) ? Action.requeueAfter(50) : Action.done
          })
      })])
      yield* settle
      for (let i = 0; i < 500; i++) {
        server.put(Widget, `w${random.int(0, 9)}`, { spec: { size: i } })
        yield* pass(random.int(0, 50))
      }
      yield* pass("10 minutes")
      assert.strictEqual(most, 4)
      assert.strictEqual(seen.size, 10)
      for (const { metadata } of server.objects(Widget)) {
        assert.strictEqual(seen.get(metadata.name), metadata.resourceVersion, `SEED=${seed}: ${metadata.name}`)
      }
    }))

  it.effect("a change during a reconcile causes one more, with the new state", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ spec }) =>
          journal.note(`${spec.size}`).pipe(Effect.andThen(Effect.sleep(100)), Effect.as(Action.done))
      })])
      yield* settle
      server.put(Widget, "a", { spec: { size: 1 } })
      yield* pass(10)
      for (const size of [2, 3, 4]) {
        server.put(Widget, "a", { spec: { size } })
        yield* pass(10)
      }
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.entries, [[0, "1"], [100, "4"]])
    }))

  it.effect("the reasons of merged triggers arrive together, each once", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(Part, { map: () => [{ namespace: "default", name: "a" }] })],
        reconcile: (_, { failures, key, reasons }) =>
          Effect.gen(function*() {
            yield* journal.note(`${key} ${failures}: ${reasons.map(Trigger.format).join(", ")}`)
            yield* Effect.sleep(100)
            if (journal.entries.length === 2) return yield* Effect.fail("once")
            return Action.done
          })
      })])
      yield* settle
      server.put(Widget, "a", small)
      yield* settle
      server.put(Part, "x")
      server.patch(Part, "x", { spec: { role: "1" } })
      server.patch(Part, "x", { spec: { role: "2" } })
      server.put(Part, "y")
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, [
        "default/a 0: Widget default/a added",
        "default/a 0: Part default/x added, Part default/x updated, Part default/y added, Widget default/a updated",
        "default/a 1: retry"
      ])
    }))

  it.effect("a deleted object is not reconciled, and its dependents wake nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })])
      yield* settle
      server.put(Widget, "a", small)
      server.delete(Widget, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, [])
      server.put(Widget, "b", small, { finalizers: ["else.io/hold"] })
      yield* settle
      server.delete(Widget, "b")
      yield* settle
      assert.deepStrictEqual(journal.words, ["b"])
    }))

  it.effect("every object is reconciled again after the resync period", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (_, { reasons }) => Effect.as(journal.note(reasons.map(Trigger.format).join()), Action.done)
      })])
      yield* pass("20 hours")
      const hour = 3_600_000
      assert.deepStrictEqual(journal.entries, [
        [0, "Widget default/a added"],
        [10 * hour, "resync"],
        [20 * hour, "resync"]
      ])
    }))
})

describe("Controller: invalid objects", () => {
  it.effect("an object that does not decode is reported and skipped, and reconciled once it is corrected", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "bad", { spec: { size: "big" } })
      server.put(Widget, "good", small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata, spec }) => Effect.as(journal.note(`${metadata.name} ${spec.size}`), Action.done)
      })])
      yield* settle
      assert.deepStrictEqual(journal.words, ["good 1"])
      const [event, ...others] = server.objects(Event)
      assert.strictEqual(event?.reason, "Invalid")
      assert.include(event?.note ?? "", "Widget default/bad is invalid and ignored: spec.size: ")
      assert.strictEqual(others.length, 0)
      server.patch(Widget, "bad", { spec: { size: 5 } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["good 1", "bad 5"])
      server.patch(Widget, "good", { spec: { size: 0.5 } })
      yield* pass("10 hours")
      assert.deepStrictEqual(journal.words, ["good 1", "bad 5", "bad 5"])
      assert.strictEqual(server.objects(Event).length, 2)
    }))
})

describe("Controller: invalid objects that are deleted", () => {
  const going = { finalizers: ["widgets.example.com/widgets"], deletionTimestamp: "2026-01-01T00:00:00Z" }
  const cleaning = (journal: Journal) =>
    Controller.make("widgets", {
      for: Widget,
      reconcile: () => Effect.die("it is going"),
      finalizer: going.finalizers[0]!,
      finalize: ({ metadata, spec }) => Effect.as(journal.note(`${metadata.name} ${spec.size}`), Action.done)
    })

  it.effect("are cleaned up if their types fit", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 0.5 } }, going)
      const journal = new Journal()
      yield* operate(server, [cleaning(journal)])
      yield* settle
      assert.deepStrictEqual(journal.words, ["a 0.5"])
      assert.deepStrictEqual(server.objects(Widget), [])
    }))

  it.effect("say what they are waiting for if their types do not fit", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: "big" } }, going)
      yield* operate(server, [cleaning(new Journal())])
      yield* settle
      const [event] = server.objects(Event)
      assert.match(
        String(event?.note),
        /is being deleted, and is not cleaned up until it is corrected or its finalizers are removed by hand$/
      )
    }))
})

describe("Controller: keys of the wrong scope", () => {
  it.effect("are reported on the mapped object, and wake nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(Part, { map: ({ metadata }) => [{ name: metadata.name }] })],
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      yield* operate(server, [controller])
      yield* settle
      server.put(Part, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, [])
      const [event] = server.objects(Event)
      assert.match(String(event?.note), /^Part default\/a is mapped to a, but Widget is namespaced: give a namespace$/)
    }))
})
