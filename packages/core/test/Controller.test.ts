import {
  Action,
  Cache,
  Controller,
  KubeClient,
  KubeError,
  type Manager,
  Reconciler,
  type Supervisor,
  Trigger,
  Watch
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Fiber, Random, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Prng } from "./support/Prng.ts"
import { Event, isWatch, refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

/** Fails with what a part of the manager failed with. */
const failureOf = (manager: Manager.Manager["Service"]): Effect.Effect<Supervisor.PartFailed> =>
  Effect.flip(manager.failure)

const throttled = (retryAfter: number) =>
  KubeError.make(
    { verb: "create", resource: "parts" },
    new KubeError.TooManyRequests({ message: "slow down", code: 429, retryAfter })
  )

describe("Controller.make", () => {
  const reconcile = () => Effect.succeed(Action.done)

  it("refuses a name that no metric and no field manager could carry, and a concurrency of nothing", () => {
    for (const name of ["", "Widgets", "a_b", "-a", "a-", "a b"]) {
      assert.throws(() => Controller.make(name, { for: Widget, reconcile }), /Controller\.make: name: .* must be/)
    }
    for (const concurrency of [0, -1, 1.5, Number.NaN]) {
      assert.throws(() => Controller.make("a", { for: Widget, reconcile, concurrency }), /a: concurrency: .* must be/)
    }
  })

  it("names the finalizer after group and controller", () => {
    const finalize = () => Effect.succeed(Action.done)
    const of = (options: { readonly finalizer?: string }) =>
      Controller.make("widgets", { for: Widget, reconcile, finalize, ...options }).finalize?.finalizer
    assert.strictEqual(of({}), "test.io/widgets")
    assert.strictEqual(of({ finalizer: "a.io/b" }), "a.io/b")
    const core = Controller.make("parts", { for: Part, reconcile, finalize })
    assert.strictEqual(core.finalize?.finalizer, "kubernetes.io/parts")
  })
})

describe("Controller: caches", () => {
  it.effect("nothing is reconciled before every cache is full, and then everything is there", () =>
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

  it.effect("caches that do not fill in time fail the manager, with the kind and the reason", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      server.fault = (request) =>
        request.path.endsWith("/secrets")
          ? Effect.succeed(refuse(403, "Forbidden", "secrets is forbidden"))
          : request.path.endsWith("namespaces/a/parts") && !isWatch(request)
          ? Effect.never
          // This one is full, and its watch broken: no reason why the controller does not start.
          : request.path.endsWith("/widgets") && isWatch(request)
          ? Effect.succeed(refuse(500, "InternalError"))
          : Effect.undefined
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        watches: [Watch.cached(Secret), Watch.cached(Part, { namespaces: ["a", "b"] })],
        cacheSyncTimeout: "30 seconds",
        reconcile: () => Effect.succeed(Action.done)
      })])
      const failure = yield* Effect.forkChild(failureOf(manager))
      yield* pass("29 seconds")
      assert.isUndefined(failure.pollUnsafe())
      yield* pass("1 second")
      const { cause, part } = yield* Fiber.join(failure)
      assert.strictEqual(part, "controller widgets")
      const error = Cause.squash(cause)
      assert.instanceOf(error, Controller.CacheSyncTimeout)
      assert.strictEqual(
        error.message,
        "the caches did not fill in time: Secret.v1: Forbidden: secrets is forbidden; " +
          "Part.v1 in a: the list has not been answered"
      )
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

  it.effect("only objects of the controller's own selection are reconciled, whatever a watch maps to", () =>
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

describe("Controller: convergence", () => {
  it.effect(
    "through any faults, lags and late answers, makes exactly what is asked for, and never too much",
    () =>
      Effect.gen(function*() {
        const first = Number(process.env["SEED"] ?? 1)
        for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 100 : 1); seed++) {
          yield* Effect.scoped(converge(seed)).pipe(Random.withSeed(String(seed)))
        }
      }),
    30_000
  )

  const converge = Effect.fnUntraced(function*(seed: number) {
    const random = new Prng(seed)
    const server = new Server(Widget, Part)
    let calm = false
    const faults = [
      Effect.succeed(refuse(500, "InternalError")),
      Effect.succeed(refuse(429, "TooManyRequests")),
      Effect.fail(new KubeError.Transport({ message: "refused" }))
    ]
    server.fault = (request) =>
      calm || random.chance(0.8)
        ? Effect.undefined
        : isWatch(request) && random.chance(0.3)
        ? Effect.succeed(refuse(410, "Expired"))
        : random.pick(faults)
    server.latency = () => calm || random.chance(0.5) ? Effect.void : Effect.sleep(random.int(1, 500))
    const owned = (name: string) =>
      server.objects(Part).filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name)
    const asked = new Map<string, number>()
    const wrong: Array<string> = []
    let serial = 0
    const manager = yield* operate(server, [Controller.make("widgets", {
      for: Widget,
      owns: [Part],
      concurrency: 3,
      reconcile: (widget) =>
        Effect.gen(function*() {
          const client = yield* KubeClient.KubeClient
          const { apiVersion, kind } = widget
          const { name, uid } = widget.metadata
          const parts = yield* Cache.list(Part, { owner: widget })
          for (let i = parts.length; i < widget.spec.size; i++) {
            yield* client.create(Part, {
              metadata: {
                name: `${name}-${++serial}`,
                namespace: "default",
                ownerReferences: [{ apiVersion, kind, name, uid, controller: true }]
              }
            })
            const most = Math.max(widget.spec.size, asked.get(name) ?? 0)
            if (owned(name).length > most) wrong.push(`too many parts of ${name}`)
          }
          for (const part of parts.slice(widget.spec.size)) {
            yield* client.delete(Part, part).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))
          }
          return Action.done
        })
    })])
    for (let i = 0; i < 25; i++) {
      const name = random.pick(["a", "b", "c"])
      const dice = random.next()
      if (dice < 0.4) {
        const size = random.int(0, 4)
        asked.set(name, size)
        server.put(Widget, name, { spec: { size } })
        yield* pass("5 minutes")
      } else if (dice < 0.5) server.hold()
      else if (dice < 0.6) server.release()
      else if (dice < 0.7) random.pick([...server.watches, undefined])?.break()
      else if (dice < 0.8) random.pick([...server.watches, undefined])?.end()
      else if (dice < 0.85) server.compact()
      else {
        const [part] = owned(name)
        if (part !== undefined) server.delete(Part, part.metadata.name)
      }
      yield* TestClock.adjust(random.int(0, 2000))
    }
    calm = true
    server.release()
    yield* pass("20 minutes")
    assert.deepStrictEqual(wrong, [], `SEED=${seed}`)
    for (const [name, size] of asked) assert.strictEqual(owned(name).length, size, `SEED=${seed}: parts of ${name}`)
    for (const { unconfirmed } of (yield* manager.report).watches) assert.strictEqual(unconfirmed, 0, `SEED=${seed}`)
  })
})

describe("Controller: keys", () => {
  it.effect("a key is never in two workers, and an object that changes meanwhile is looked at again", () =>
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

  it.effect("a change while it is reconciled runs it once more, with the new state", () =>
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

  it.effect("the reasons of merged triggers come together, each once", () =>
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

  it.effect("a deleted object is not reconciled, and what it owned wakes nobody in vain", () =>
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

  it.effect("every object is looked at again after the resync period", () =>
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

describe("Controller: outcomes", () => {
  /** A controller over one Widget named `a`, whose reconcile notes its time and then does what it is told. */
  const outcomes = Effect.fnUntraced(function*(
    outcome: (run: number) => Effect.Effect<Action.Action, unknown>,
    retry?: Schedule.Schedule<unknown, unknown>
  ) {
    const server = new Server(Widget)
    server.put(Widget, "a", small)
    const journal = new Journal()
    yield* operate(server, [Controller.make("widgets", {
      for: Widget,
      retry,
      reconcile: (_, { failures }) =>
        Effect.suspend(() => {
          const run = journal.entries.length
          return Effect.andThen(journal.note(String(failures)), Effect.suspend(() => outcome(run)))
        })
    })])
    yield* settle
    return { journal, server }
  })

  it.effect("failures are retried after 5 ms, doubled each time, at most 16 min, without end", () =>
    Effect.gen(function*() {
      const { journal } = yield* outcomes(() => Effect.fail("always"))
      yield* pass("5 hours")
      const expected = [0]
      for (let delay = 5; expected.length < journal.entries.length; delay *= 2) {
        expected.push(expected.at(-1)! + Math.min(delay, 960_000))
      }
      assert.isAbove(expected.length, 25)
      assert.deepStrictEqual(journal.times, expected)
      assert.deepStrictEqual(journal.words, expected.map((_, i) => String(i)))
    }))

  it.effect("success resets the delays", () =>
    Effect.gen(function*() {
      const { journal, server } = yield* outcomes((run) => run === 4 ? Effect.succeed(Action.done) : Effect.fail("no"))
      yield* pass("1 second")
      assert.deepStrictEqual(journal.times, [0, 5, 15, 35, 75])
      journal.clear()
      journal.entries.push(...Array.from({ length: 5 }, () => [0, ""] as const))
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* pass(15)
      assert.deepStrictEqual(journal.entries.slice(5), [[1000, "0"], [1005, "1"], [1015, "2"]])
    }))

  it.effect("a schedule of one's own is chosen by error, and its end is the end of retrying", () =>
    Effect.gen(function*() {
      const retry = Schedule.spaced("1 second").pipe(
        Schedule.setInputType<unknown>(),
        Schedule.while(({ input }) => input !== "hopeless")
      )
      const { journal, server } = yield* outcomes((run) => Effect.fail(run < 2 ? "soon" : "hopeless"), retry)
      yield* pass("1 hour")
      assert.deepStrictEqual(journal.times, [0, 1000, 2000])
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* settle
      assert.strictEqual(journal.entries.length, 4)
    }))

  it.effect("a server that says when to come back is obeyed", () =>
    Effect.gen(function*() {
      const { journal } = yield* outcomes((run) =>
        run === 0 ? Effect.fail(throttled(7000)) : Effect.succeed(Action.done)
      )
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.times, [0, 7000])
    }))

  it.effect("a terminal error rests until something changes", () =>
    Effect.gen(function*() {
      const { journal, server } = yield* outcomes(() => Effect.fail(new Reconciler.Terminal({ message: "hopeless" })))
      yield* pass("9 hours")
      assert.deepStrictEqual(journal.words, ["0"])
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* pass("10 minutes")
      assert.deepStrictEqual(journal.words, ["0", "1"])
    }))

  const defects: ReadonlyArray<readonly [string, () => Effect.Effect<Action.Action>]> = [
    ["an exception", () => {
      throw new Error("thrown")
    }],
    ["a defect", () => Effect.die("died")],
    ["an exception in an Effect", () =>
      Effect.sync(() => {
        throw new Error("thrown later")
      })],
    ["an interruption from within", () => Effect.interrupt],
    ["the interruption of a fiber it waits for", () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.never)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.join(fiber)
      })]
  ]
  for (const [name, defect] of defects) {
    it.effect(`${name} of one object delays that object alone, and stops nothing`, () =>
      Effect.gen(function*() {
        const server = new Server(Widget)
        server.put(Widget, "bad", small)
        server.put(Widget, "good", small)
        const journal = new Journal()
        const manager = yield* operate(server, [Controller.make("widgets", {
          for: Widget,
          reconcile: ({ metadata }) => {
            journal.entries.push([0, metadata.name])
            return metadata.name === "bad" && journal.entries.length < 6 ? defect() : Effect.succeed(Action.done)
          }
        })])
        const failure = yield* Effect.forkChild(manager.failure)
        yield* pass("10 minutes")
        assert.deepStrictEqual(journal.words, ["bad", "good", "bad", "bad", "bad", "bad"])
        assert.isUndefined(failure.pollUnsafe())
        server.put(Widget, "later", small)
        yield* settle
        assert.strictEqual(journal.words.at(-1), "later")
      }))
  }

  it.effect("requeueAfter is exact, and repeats", () =>
    Effect.gen(function*() {
      const { journal } = yield* outcomes((run) =>
        Effect.succeed(run < 3 ? Action.requeueAfter("90 seconds") : Action.done)
      )
      yield* pass(89_999)
      assert.deepStrictEqual(journal.times, [0])
      yield* pass("1 hour")
      assert.deepStrictEqual(journal.times, [0, 90_000, 180_000, 270_000])
    }))

  it.effect("a change comes before the time of a requeueAfter, and replaces it", () =>
    Effect.gen(function*() {
      const { journal, server } = yield* outcomes((run) =>
        Effect.succeed(run === 0 ? Action.requeueAfter("1 minute") : Action.done)
      )
      yield* pass("10 seconds")
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* pass("10 minutes")
      assert.deepStrictEqual(journal.times, [0, 10_000])
    }))

  it.effect("requeue is at once, behind the other keys", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (const name of ["a", "b"]) server.put(Widget, name, small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) =>
          Effect.map(journal.note(metadata.name), () => journal.entries.length < 3 ? Action.requeue : Action.done)
      })])
      yield* settle
      assert.deepStrictEqual(journal.entries, [[0, "a"], [0, "b"], [0, "a"], [0, "b"]])
    }))

  it.effect("a map function or predicate that throws on an object is reported, and stops nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(Part, {
          map: ({ spec }) => [{ namespace: "default", name: spec!.role!.toLowerCase() }]
        })],
        reconcile: (_, { reasons }) => Effect.as(journal.note(reasons.map(Trigger.format).join()), Action.done)
      })])
      const failure = yield* Effect.forkChild(manager.failure)
      yield* settle
      server.put(Part, "none")
      server.put(Part, "some", { spec: { role: "A" } })
      yield* settle
      assert.isUndefined(failure.pollUnsafe())
      assert.deepStrictEqual(journal.words, ["Widget default/a added", "Part default/some added"])
      const [event] = server.objects(Event)
      assert.match(event?.note ?? "", /^Part default\/none wakes nobody: predicate or map failed: TypeError/)
    }))
})

describe("Controller: invalid objects", () => {
  it.effect("an object that does not decode is reported and skipped, and picked up once it is mended", () =>
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
      assert.include(event?.note ?? "", "Widget default/bad is not valid and is ignored: spec.size: ")
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

describe("Controller: finalizer", () => {
  const finalizer = "test.io/widgets"

  const finalizing = (
    journal: Journal,
    finalize: () => Effect.Effect<Action.Action, unknown> = () => Effect.succeed(Action.done)
  ) =>
    Controller.make("widgets", {
      for: Widget,
      reconcile: ({ metadata }) => Effect.as(journal.note(`reconcile ${metadata.finalizers?.join()}`), Action.done),
      finalize: () => Effect.andThen(journal.note("finalize"), Effect.suspend(finalize))
    })

  it.effect("is added before the first reconcile, which sees it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      server.hold()
      const journal = new Journal()
      yield* operate(server, [finalizing(journal)])
      yield* settle
      assert.deepStrictEqual(journal.words, [`reconcile ${finalizer}`])
      assert.deepStrictEqual(server.get(Widget, "a")?.metadata.finalizers, [finalizer])
      const [patch] = server.requestsFor("PATCH", "widgets")
      const { metadata } = server.get(Widget, "a")!
      assert.deepStrictEqual(patch?.body, [
        { op: "test", path: "/metadata/uid", value: metadata.uid },
        { op: "test", path: "/metadata/resourceVersion", value: "11" },
        { op: "add", path: "/metadata/finalizers", value: [finalizer] }
      ])
      server.release()
      yield* settle
      assert.strictEqual(server.requestsFor("PATCH", "widgets").length, 1)
    }))

  it.effect("an object that changed meanwhile is not touched; the next run does it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      let raced = false
      server.fault = (request) =>
        Effect.sync(() => {
          if (request.method === "PATCH" && !raced) {
            raced = true
            server.patch(Widget, "a", { metadata: { finalizers: ["else.io/first"] } })
          }
          return undefined
        })
      yield* operate(server, [finalizing(journal)])
      yield* pass("1 second")
      assert.deepStrictEqual(server.get(Widget, "a")?.metadata.finalizers, ["else.io/first", finalizer])
      assert.strictEqual(journal.words[0], `reconcile else.io/first,${finalizer}`)
    }))

  it.effect("stays while the clean-up fails or asks for more, and goes after its success", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const answers = [Effect.fail("not yet"), Effect.die("not yet"), Effect.succeed(Action.requeueAfter("1 minute"))]
      yield* operate(server, [finalizing(journal, () => answers.shift() ?? Effect.succeed(Action.done))])
      yield* settle
      journal.clear()
      server.delete(Widget, "a")
      yield* settle
      for (const later of [5, 10, 59_000]) {
        assert.deepStrictEqual(server.get(Widget, "a")?.metadata.finalizers, [finalizer])
        yield* pass(later)
      }
      assert.isDefined(server.get(Widget, "a"))
      yield* pass("1 second")
      assert.isUndefined(server.get(Widget, "a"))
      assert.deepStrictEqual(journal.entries, [
        [0, "finalize"],
        [5, "finalize"],
        [15, "finalize"],
        [60_015, "finalize"]
      ])
    }))

  it.effect("cleans up once, however far the watch lags behind the removal of the finalizer", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(Part, { map: () => [{ namespace: "default", name: "a" }] })],
        reconcile: () => Effect.succeed(Action.done),
        finalize: () => Effect.as(journal.note("finalize"), Action.done)
      })])
      yield* settle
      server.fault = (request) =>
        Effect.sync(() => {
          if (request.method === "PATCH") server.hold()
          return undefined
        })
      server.delete(Widget, "a")
      yield* settle
      assert.isUndefined(server.get(Widget, "a"))
      assert.strictEqual((yield* manager.report).watches[0]?.unconfirmed, 1)
      server.put(Part, "x")
      for (const watch of server.watchesOf(Part)) {
        watch.push({ type: "ADDED", object: server.get(Part, "x")! })
      }
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, ["finalize"])
    }))

  it.effect("a finalizer of somebody else, or none of ours, means nothing to clean up", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small, { finalizers: ["else.io/hold"], deletionTimestamp: "2026-01-01T00:00:00Z" })
      const journal = new Journal()
      yield* operate(server, [finalizing(journal)])
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, [])
      assert.deepStrictEqual(server.get(Widget, "a")?.metadata.finalizers, ["else.io/hold"])
    }))
})
