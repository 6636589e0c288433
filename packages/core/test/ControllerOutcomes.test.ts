import {
  Action,
  Cache,
  Conditions,
  Controller,
  CustomResource,
  KubeClient,
  KubeError,
  type KubeObject,
  Predicate,
  Projection,
  Reconciler,
  type Resource,
  Source,
  type Transport,
  Trigger,
  Watch
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Fiber, Logger, Queue, Schedule, Schema, Stream, Tracer } from "effect"
import { Part, Task, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { Event, refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const small = { spec: { size: 1 } }

const throttled = (retryAfter: number) =>
  KubeError.make(
    { verb: "create", resource: "parts" },
    new KubeError.TooManyRequests({ message: "slow down", code: 429, retryAfter })
  )

/** As a class of errors has it that makes its message of its fields, of which one is absent. */
class Unreadable extends Data.TaggedError("Unreadable") {
  override get message(): string {
    throw new TypeError("Cannot read properties of undefined")
  }
}

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

  it.effect("failures are retried after 5 ms, doubled each time up to 16 min, forever", () =>
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

  it.effect("success resets the delay", () =>
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

  it.effect("a custom schedule is chosen by error, and its end is the end of retries", () =>
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

  it.effect("the server's Retry-After is respected", () =>
    Effect.gen(function*() {
      const { journal } = yield* outcomes((run) =>
        run === 0 ? Effect.fail(throttled(7000)) : Effect.succeed(Action.done)
      )
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.times, [0, 7000])
    }))

  it.effect("a Retry-After of one day is capped at 16 minutes", () =>
    Effect.gen(function*() {
      const { journal } = yield* outcomes((run) =>
        run === 0 ? Effect.fail(throttled(86_400_000)) : Effect.succeed(Action.done)
      )
      yield* pass("1 hour")
      assert.deepStrictEqual(journal.times, [0, 960_000])
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

  const unfathomable = new Proxy({}, {
    getPrototypeOf: () => {
      throw new TypeError("no prototype")
    }
  })

  const defects: ReadonlyArray<readonly [string, () => Effect.Effect<Action.Action, unknown>]> = [
    ["an exception", () => {
      throw new Error("thrown")
    }],
    ["a defect", () => Effect.die("died")],
    ["an exception in an Effect", () =>
      Effect.sync(() => {
        throw new Error("thrown later")
      })],
    ["an interruption from within", () => Effect.interrupt],
    ["an error whose message cannot be read", () => Effect.fail(new Unreadable())],
    ["a defect whose message cannot be read", () => Effect.die(new Unreadable())],
    ["an error that throws whatever is asked", () => Effect.fail(unfathomable)],
    ["the interruption of a fiber it waits for", () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.never)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.join(fiber)
      })]
  ]
  for (const [name, defect] of defects) {
    it.effect(`${name} of one object delays only that object, and stops nothing`, () =>
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

  it.effect("an error that a tracer cannot read delays only its object, and stops nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "bad", small)
      const journal = new Journal()
      const tracer = Tracer.make({
        span: (options) =>
          Object.assign(new Tracer.NativeSpan(options), {
            end: (_: bigint, exit: Exit.Exit<unknown, unknown>) => {
              if (Exit.isFailure(exit)) Cause.prettyErrors(exit.cause)
            }
          })
      })
      const manager = yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata: { name } }) =>
          Effect.andThen(
            journal.note(name),
            name === "bad" && journal.entries.length < 5
              ? Effect.die(new Unreadable())
              : Effect.succeed(Action.done)
          )
      })]).pipe(Effect.provideService(Tracer.Tracer, tracer))
      const failure = yield* Effect.forkChild(manager.failure)
      yield* pass("10 minutes")
      assert.deepStrictEqual(journal.times, [0, 5, 15, 35, 75, 155])
      assert.isUndefined(failure.pollUnsafe())
      server.put(Widget, "later", small)
      yield* settle
      assert.strictEqual(journal.words.at(-1), "later")
    }))

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

  it.effect("a change comes before the end of a requeueAfter, and replaces it", () =>
    Effect.gen(function*() {
      const { journal, server } = yield* outcomes((run) =>
        Effect.succeed(run === 0 ? Action.requeueAfter("1 minute") : Action.done)
      )
      yield* pass("10 seconds")
      server.patch(Widget, "a", { spec: { size: 2 } })
      yield* pass("10 minutes")
      assert.deepStrictEqual(journal.times, [0, 10_000])
    }))

  it.effect("requeue is immediate, behind the other keys", () =>
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

  it.effect("a retry that may have created an object under an unknown name waits until the watch has had time to show it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      const web = server.put(Widget, "web", small)
      const ownerReferences = [controllerReference(web)]
      const refusals: Array<Effect.Effect<Transport.Response, KubeError.Transport>> = [
        Effect.succeed(refuse(500, "InternalError", "etcdserver: request timed out")),
        Effect.succeed(refuse(504, "Timeout")),
        Effect.fail(new KubeError.Transport({ message: "ECONNRESET" }))
      ]
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        reconcile: Effect.fnUntraced(function*(widget) {
          const client = yield* KubeClient.KubeClient
          const parts = yield* Cache.list(Part, { owner: widget })
          for (let n = parts.length; n < 3; n++) {
            yield* client.create(Part, { metadata: { namespace: "default", generateName: "web-", ownerReferences } })
          }
          return Action.done
        })
      })])
      server.fault = ({ method, path }) =>
        Effect.suspend(() => {
          const refusal = method === "POST" && path.endsWith("/parts") ? refusals.shift() : undefined
          if (refusal === undefined) return Effect.undefined
          // It is done all the same, and the watch is late.
          server.hold()
          server.put(Part, `web-${refusals.length}`, {}, { ownerReferences })
          return refusal
        })
      for (let n = 0; n < 30; n++) {
        yield* pass("500 millis")
        server.release()
      }
      assert.strictEqual(refusals.length, 0)
      assert.strictEqual(server.objects(Part).length, 3)
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
      assert.match(event?.note ?? "", /^Part default\/none triggers nothing: map failed: TypeError/)
      // Who is corrected wakes whom it concerns now.
      journal.entries.splice(0)
      server.put(Part, "none", { spec: { role: "A" } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["Part default/none updated"])
    }))

  it.effect("a predicate that throws on a change does not lose the change", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        predicate: (delta) => {
          throw new Error(`boom ${delta._tag}`)
        },
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })])
      yield* settle
      server.put(Widget, "a", small)
      yield* settle
      assert.deepStrictEqual(journal.words, ["a"])
      const [event] = server.objects(Event)
      assert.strictEqual(
        event?.note,
        "Widget default/a is treated as changed: predicate failed: Error: boom Added"
      )
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

  it.effect("an object that waits for it is cleaned up, whatever a predicate says", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (const name of ["a", "b"]) server.put(Widget, name, small, { finalizers: [finalizer] })
      server.delete(Widget, "b")
      const journal = new Journal()
      let asked = 0
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        predicate: () => {
          asked += 1
          return false
        },
        reconcile: () => Effect.as(journal.note("reconcile"), Action.done),
        finalize: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.awaitChange)
      })])
      yield* settle
      assert.deepStrictEqual(journal.words, ["b"], "what is being deleted already")
      server.delete(Widget, "a")
      yield* settle
      assert.deepStrictEqual(journal.words, ["b", "a"])
      // From then on it is asked again.
      server.patch(Widget, "a", { metadata: { labels: { x: "y" } } })
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, ["b", "a"])
      assert.strictEqual(asked, 2)
    }))

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

  it.effect("a concurrently changed object is not touched; the next run retries", () =>
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

  it.effect("stays while the clean-up fails or requeues, and is removed after its success", () =>
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

  it.effect("stays while the clean-up awaits a change, without any request meanwhile", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      yield* operate(server, [
        finalizing(journal, () => Effect.succeed(journal.entries.length > 1 ? Action.done : Action.awaitChange))
      ])
      yield* settle
      journal.clear()
      server.delete(Widget, "a")
      yield* pass("1 hour")
      assert.deepStrictEqual(journal.words, ["finalize"])
      assert.deepStrictEqual(server.get(Widget, "a")?.metadata.finalizers, [finalizer])
      assert.strictEqual(server.objects(Event).length, 0, "nothing is wrong")
      server.patch(Widget, "a", { metadata: { labels: { free: "yes" } } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["finalize", "finalize"])
      assert.isUndefined(server.get(Widget, "a"))
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

  it.effect("other finalizers, or none of ours, mean nothing to clean up", () =>
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

describe("Controller: retries", () => {
  class Busy extends Schema.TaggedError<Busy>()("Busy", { message: Schema.String }) {}

  it.effect("a run gets the failure of the previous one, and none after a success", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      let runs = 0
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (_, { failures, lastFailure }) =>
          Effect.gen(function*() {
            runs += 1
            const why = lastFailure === undefined ? "nothing" : String(Cause.squash(lastFailure))
            yield* journal.note(`${failures} failures, last ${why}`)
            if (runs === 1) return yield* new Busy({ message: "too busy" })
            if (runs === 2) return yield* Effect.die("a bug")
            if (runs === 4) return yield* new Reconciler.Terminal({ message: "for good" })
            return Action.done
          })
      })])
      yield* pass("1 minute")
      for (const size of [2, 3]) {
        server.patch(Widget, "a", { spec: { size } })
        yield* pass("1 minute")
      }
      assert.deepStrictEqual(journal.words, [
        "0 failures, last nothing",
        "1 failures, last Busy: too busy",
        "2 failures, last a bug",
        "0 failures, last nothing",
        "1 failures, last Terminal: for good"
      ])
    }))

  it.effect("a schedule typed with the reconciler's errors chooses by them", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const retry = Schedule.spaced("3 seconds").pipe(
        Schedule.setInputType<Reconciler.Retried<Busy>>(),
        Schedule.while(({ input }) => input?._tag === "Busy")
      )
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        retry,
        reconcile: () => Effect.andThen(journal.note("run"), new Busy({ message: "later" }))
      })])
      yield* pass("7 seconds")
      assert.deepStrictEqual(journal.times, [0, 3_000, 6_000])
      Controller.make("of-another-error", {
        for: Widget,
        // @ts-expect-error: the reconciler fails with what the schedule does not know
        retry,
        reconcile: () => Effect.fail("another")
      })
    }))

  it("a schedule is typed with the errors of generators too, including those of the clean-up", () => {
    class Away extends Schema.TaggedError<Away>()("Away", { where: Schema.String }) {}
    const busy = new Busy({ message: "later" })
    const knowing = <E>() => Schedule.spaced("3 seconds").pipe(Schedule.setInputType<Reconciler.Retried<E>>())
    const reconcile = Effect.fn("reconcile")(function*({ spec: { size } }: Widget) {
      if (size > 3) return yield* busy
      return size > 2 ? yield* new Reconciler.Terminal({ message: "for good" }) : Action.done
    })
    Controller.make("with-a-clean-up", {
      for: Widget,
      retry: knowing<Busy | Away>(),
      reconcile: Effect.fn("reconcile")(function*({ spec: { size } }) {
        return size > 3 ? yield* busy : Action.done
      }),
      finalize: Effect.fnUntraced(function*({ spec: { size } }) {
        return size > 3 ? yield* new Away({ where: "here" }) : Action.done
      })
    })
    Controller.make("apart", { for: Widget, reconcile, retry: knowing<Busy>() })
    Controller.make("inline", {
      for: Widget,
      retry: knowing<Busy>(),
      reconcile: Effect.fnUntraced(function*({ spec: { size } }) {
        return size > 3 ? yield* busy : Action.done
      })
    })
    Controller.make("that-chooses-inline", {
      for: Widget,
      retry: Schedule.exponential("1 second").pipe(
        Schedule.setInputType<Reconciler.Retried<Busy>>(),
        Schedule.modifyDelay(({ duration, input }) =>
          Effect.succeed(input?._tag === "Busy" ? "5 minutes" as const : duration)
        )
      ),
      reconcile: () => busy
    })
    Controller.make("infallible", { for: Widget, retry: knowing<Busy>(), reconcile: () => Effect.succeed(Action.done) })
    Controller.make("of-another-clean-up", {
      for: Widget,
      // @ts-expect-error: the clean-up fails with what the schedule does not know
      retry: knowing<Busy>(),
      reconcile,
      finalize: () => Effect.fail("away")
    })
  })
})

describe("Controller: limits", () => {
  const client = KubeClient.KubeClient

  it.effect("a reconcile that exceeds its timeout is interrupted, and retried like any other failure", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      server.put(Widget, "b", small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        timeout: "10 seconds",
        retry: Schedule.spaced("1 minute"),
        reconcile: ({ metadata: { name } }) =>
          Effect.andThen(journal.note(name), name === "a" ? Effect.never : Effect.succeed(Action.done)).pipe(
            Effect.onInterrupt(() => journal.note("interrupted"))
          )
      })])
      yield* pass("80 seconds")
      assert.deepStrictEqual(journal.entries, [
        [0, "a"],
        [10_000, "interrupted"],
        [10_000, "b"],
        [70_000, "a"],
        [80_000, "interrupted"]
      ])
    }))

  it.effect("a reconciler that fights over an object is slowed down; others are not", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "a", small)
      server.put(Widget, "b", small)
      let runs = 0
      let others = 0
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        reconcile: (widget) =>
          Effect.gen(function*() {
            if (widget.metadata.name === "b") {
              others += 1
              return Action.requeueAfter("1 minute")
            }
            runs += 1
            const kube = yield* client
            // It looks in vain for what it creates, as if it had mistaken the label.
            yield* kube.create(Part, { metadata: { name: `p${runs}`, generateName: "p", namespace: "default" } })
            return Action.requeue
          })
      })])
      yield* pass("10 minutes")
      assert.isAtMost(runs, 30)
      assert.isAtLeast(runs, 15)
      assert.strictEqual(others, 11)
    }))

  it.effect("the controller's own status write wakes nothing; another client's change at the same time does", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: (widget) =>
          Effect.gen(function*() {
            yield* journal.note(`${widget.spec.size} ${widget.status?.ready}`)
            if (widget.status?.ready === true) return Action.done
            const kube = yield* client
            yield* kube.patch(Widget, widget, KubeClient.Patch.merge({ status: { ready: true } }), {
              subresource: "status"
            })
            return Action.done
          })
      })])
      server.put(Widget, "a", small)
      yield* settle
      assert.deepStrictEqual(journal.words, ["1 undefined"])
      server.patch(Widget, "a", { status: { ready: false } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["1 undefined", "1 false"], "the same field, written by another")
      server.hold()
      server.patch(Widget, "a", { spec: { size: 2 }, status: { ready: false } })
      server.patch(Widget, "a", { spec: { size: 3 } })
      server.release()
      yield* settle
      assert.isTrue(journal.words.at(-1)!.startsWith("3 "))
    }))

  it.effect("its own status write wakes nothing, even if the whole kind is written and a projection is cached", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      const journal = new Journal()
      const Shown = Projection.make(Widget, "shown", ({ spec, status }) => ({ spec, status }))
      yield* operate(server, [Controller.make("widgets", {
        for: Shown,
        reconcile: (widget) =>
          Effect.gen(function*() {
            yield* journal.note(String(widget.status?.ready))
            const status = { ready: widget.status?.ready !== true }
            yield* (yield* client).patch(Widget, widget.metadata, KubeClient.Patch.merge({ status }), {
              subresource: "status"
            })
            return Action.done
          })
      })])
      server.put(Widget, "a", small)
      yield* pass("1 second")
      assert.deepStrictEqual(journal.words, ["undefined"])
      server.patch(Widget, "a", { status: { ready: false } })
      yield* settle
      assert.deepStrictEqual(journal.words, ["undefined", "false"])
    }))

  it.effect("its own writes wake nothing, even if their events come before the responses, or long after", () =>
    Effect.gen(function*() {
      for (const late of ["answers", "events"]) {
        const server = new Server(Task)
        server.put(Task, "a", small)
        if (late === "events") server.hold()
        else server.latency = ({ method }) => method === "PATCH" ? Effect.sleep("1 second") : Effect.void
        const journal = new Journal()
        yield* operate(server, [Controller.make("tasks", {
          for: Task,
          finalize: () => Effect.succeed(Action.done),
          reconcile: ({ spec }) =>
            Effect.andThen(journal.note(String(spec.size)), Effect.fail(new Reconciler.Terminal({ message: "no" })))
        })])
        // The finalizer and the condition are two writes.
        yield* pass("1 minute")
        server.release()
        yield* pass("1 minute")
        assert.deepStrictEqual(journal.words, ["1"], late)
        assert.lengthOf(server.objects(Event).filter(({ reason }) => reason === "Stalled"), 1)
        // What somebody else writes while the answer is under way is seen after it.
        server.patch(Task, "a", { spec: { size: 2 } })
        yield* pass(late === "answers" ? "1500 millis" : 0)
        server.patch(Task, "a", { status: { conditions: [] } })
        yield* pass("1 minute")
        assert.deepStrictEqual(journal.words, ["1", "2", "2"], late)
      }
    }))

  it.effect("giving up is shown by an event on the object", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        retry: Schedule.recurs(2),
        reconcile: () => Effect.fail(new Reconciler.ReconcileTimeout({ message: "no quota" }))
      })])
      yield* pass("1 minute")
      assert.deepInclude(server.objects(Event).find(({ reason }) => reason === "Stalled"), {
        note: "gave up after 3 failures, until something changes: no quota"
      })
    }))

  it.effect("giving up is shown in the object's conditions until it is reconciled again", () =>
    Effect.gen(function*() {
      const Task = CustomResource.make({
        group: "example.com",
        version: "v1",
        kind: "Task",
        spec: Schema.Struct({ size: Schema.Int }),
        status: Schema.Struct({ size: Schema.optionalKey(Schema.Int), conditions: Schema.Array(Conditions.Condition) })
      })
      const server = new Server(Task)
      const ready = {
        type: "Ready",
        status: "False" as const,
        reason: "New",
        message: "",
        lastTransitionTime: "2020-01-01T00:00:00Z"
      }
      server.put(Task, "a", { ...small, status: { conditions: [ready] } })
      const journal = new Journal()
      yield* operate(server, [Controller.make("tasks", {
        for: Task,
        reconcile: ({ spec }) =>
          Effect.andThen(
            journal.note(String(spec.size)),
            spec.size === 1
              ? Effect.fail(new Reconciler.Terminal({ message: "no such size" }))
              : Effect.succeed(Action.done)
          )
      })])
      yield* pass("1 minute")
      const conditions = () => server.objects(Task)[0]?.status?.conditions ?? []
      assert.deepStrictEqual(conditions()[0], ready, "what others say stays")
      assert.deepInclude(conditions()[1], {
        type: "Stalled",
        status: "True",
        reason: "Terminal",
        message: "tasks: no such size"
      })
      assert.deepStrictEqual(journal.words, ["1"], "its own word wakes nobody")
      server.patch(Task, "a", { spec: { size: 2 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(conditions(), [ready])
      assert.deepStrictEqual(journal.words, ["1", "2"])
    }))

  const successes = {
    "waits for a change": Action.awaitChange,
    "asks for another run later": Action.requeueAfter("1 hour")
  }
  for (const [what, action] of Object.entries(successes)) {
    it.effect(`a reconcile that ${what} removes the condition of an object that was given up`, () =>
      Effect.gen(function*() {
        const server = new Server(Task)
        server.put(Task, "a", small)
        yield* operate(server, [Controller.make("tasks", {
          for: Task,
          reconcile: ({ spec }) =>
            spec.size === 1 ? Effect.fail(new Reconciler.Terminal({ message: "no" })) : Effect.succeed(action)
        })])
        const said = () => server.objects(Task)[0]?.status?.conditions?.map(({ type }) => type)
        yield* pass("1 minute")
        assert.deepStrictEqual(said(), ["Stalled"])
        server.patch(Task, "a", { spec: { size: 2 } })
        yield* pass("1 minute")
        assert.deepStrictEqual(said(), [])
      }))
  }

  it.effect("of several controllers, the first to give up sets the condition, and removes it", () =>
    Effect.gen(function*() {
      const server = new Server(Task)
      server.put(Task, "a", small, { generation: 1 })
      const journal = new Journal()
      /** What each of them cannot do anything with. */
      const bad: Record<string, number> = { one: 1, two: 1, three: 0 }
      yield* operate(
        server,
        Object.keys(bad).map((who) =>
          Controller.make(who, {
            for: Task,
            reconcile: ({ spec }) =>
              Effect.andThen(
                journal.note(who),
                spec.size === bad[who]
                  ? Effect.fail(new Reconciler.Terminal({ message: `no ${spec.size}` }))
                  : Effect.succeed(Action.done)
              )
          })
        )
      )
      const said = () => server.objects(Task)[0]?.status?.conditions?.map(({ message }) => message)
      yield* pass("1 minute")
      assert.deepStrictEqual(said(), ["one: no 1"])
      assert.isAtMost(journal.words.length, 6, "one word, which wakes the others once")
      // The other has not given up less.
      bad["one"] = 0
      server.patch(Task, "a", { metadata: { labels: { look: "again" } } })
      yield* pass("1 minute")
      assert.deepStrictEqual(said(), ["two: no 1"])
      // What holds for a spec of before holds nobody up.
      bad["two"] = 2
      server.patch(Task, "a", { spec: { size: 2 }, metadata: { generation: 2 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(said(), ["two: no 2"])
      server.patch(Task, "a", { spec: { size: 3 }, metadata: { generation: 3 } })
      yield* pass("1 minute")
      assert.deepStrictEqual(said(), [])
      assert.isAtMost(journal.words.length, 30)
    }))

  const parts = {
    metadata: Projection.metadata(Task),
    "what a function picks": Projection.make(Task, "spec", ({ spec }) => ({ spec })),
    "all but some fields": Projection.without(Task, "fewer", ["status.conditions"])
  }
  for (const [what, part] of Object.entries(parts)) {
    it.effect(`with only ${what} cached, no condition is written, because others would be lost`, () =>
      Effect.gen(function*() {
        const server = new Server(Task)
        const status = { conditions: [{ type: "Ready", status: "True", reason: "Yes", message: "" }] }
        server.put(Task, "a", { ...small, status })
        yield* operate(server, [Controller.make("tasks", {
          for: part as Resource.Resource<KubeObject.KubeObject>,
          reconcile: () => Effect.fail(new Reconciler.Terminal({ message: "no" }))
        })])
        yield* pass("1 minute")
        assert.deepStrictEqual(server.get(Task, "a")?.status, status as never)
        assert.deepInclude(server.objects(Event)[0], { reason: "Stalled" })
      }))
  }

  it.effect("giving up is shown even if another client's status is not visible yet", () =>
    Effect.gen(function*() {
      const server = new Server(Task)
      server.put(Task, "a", small, { generation: 1 })
      yield* operate(server, [Controller.make("tasks", {
        for: Task,
        predicate: Predicate.generationChanged,
        reconcile: () =>
          Effect.suspend(() => {
            server.hold()
            server.patch(Task, "a", { status: { size: 9 } })
            return Effect.fail(new Reconciler.Terminal({ message: "no such size" }))
          })
      })])
      yield* pass("200 millis")
      server.release()
      yield* pass("1 minute")
      const [task] = server.objects(Task)
      assert.deepStrictEqual(task?.status?.conditions?.map(({ reason }) => reason), ["Terminal"])
    }))

  it.effect("a spec that another worker has reconciled is never shown as given up", () =>
    Effect.gen(function*() {
      const bad: Readonly<Record<string, unknown>> = {
        terminal: new Reconciler.Terminal({ message: "no such size" }),
        exhausted: "no such size"
      }
      const server = new Server(Task)
      const journal = new Journal()
      yield* operate(server, [Controller.make("tasks", {
        for: Task,
        concurrency: 4,
        retry: Schedule.recurs(0),
        reconcile: ({ metadata: { name }, spec }) =>
          spec.size === 1
            ? Effect.andThen(Effect.sleep("1 second"), Effect.fail(bad[name]))
            : Effect.as(journal.note(name), Action.done)
      })])
      for (const name of Object.keys(bad)) server.put(Task, name, small)
      yield* pass("500 millis")
      for (const name of Object.keys(bad)) server.patch(Task, name, { spec: { size: 2 } })
      // The condition is under way when the key could be had again.
      server.latency = ({ method }) => method === "PATCH" ? Effect.sleep("1 second") : Effect.void
      yield* pass("1 minute")
      assert.sameMembers([...journal.words], Object.keys(bad))
      assert.deepStrictEqual(server.objects(Task).map(({ status }) => status?.conditions), [[], []])
    }))

  it.effect("a condition that the server rejects is reported once, with the server's message and the remedy", () =>
    Effect.gen(function*() {
      const Task = CustomResource.make({
        group: "example.com",
        version: "v1",
        kind: "Task",
        spec: Schema.Struct({ size: Schema.Int }),
        status: Schema.Struct({ ready: Schema.Int, conditions: Schema.Array(Conditions.Condition) })
      })
      const server = new Server(Task)
      for (const name of ["a", "b"]) server.put(Task, name, small)
      server.put(Task, "c", { spec: { size: "big" } } as never)
      server.fault = ({ path }) =>
        Effect.succeed(path.endsWith("/status") ? refuse(422, "Invalid", "status.ready: Required value") : undefined)
      const lines: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") lines.push(message)
      })
      yield* operate(server, [Controller.make("tasks", {
        for: Task,
        reconcile: () => Effect.fail(new Reconciler.Terminal({ message: "no" }))
      })]).pipe(Effect.provide(Logger.layer([logger])))
      yield* pass("1 minute")
      assert.lengthOf(server.requestsFor("PATCH", "tasks"), 3)
      assert.deepStrictEqual(lines.flat(), [
        "the condition Stalled of a Task was refused: Invalid: status.ready: Required value: make every field of the " +
        "status Schema optional (Schema.optionalKey), since an object may have none of them yet"
      ])
    }))

  it.effect("what existed at the start waits behind changes", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (let i = 0; i < 50; i++) server.put(Widget, `w${i}`, small)
      const journal = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata: { name } }) => Effect.as(Effect.delay(journal.note(name), "1 second"), Action.done)
      })])
      yield* pass("5 seconds")
      server.patch(Widget, "w40", { spec: { size: 2 } })
      yield* pass("2 seconds")
      assert.include(journal.words.slice(0, 7), "w40")
      yield* pass("1 minute")
      assert.strictEqual(journal.words.length, 50)
    }))
})

describe("Controller: sources", () => {
  it.effect("a stream, a poll and a timer wake objects by key, with their name as the reason", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      for (const name of ["a", "b", "c"]) server.put(Widget, name, small)
      const journal = new Journal()
      const hooks = yield* Queue.unbounded<string>()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        sources: [
          Source.stream("webhook", Stream.fromQueue(hooks), (name) => [{ namespace: "default", name }]),
          Source.poll("bucket", "10 seconds", Effect.succeed([{ namespace: "default", name: "b" }])),
          Source.every("clock", "1 minute", { namespace: "default", name: "c" })
        ],
        reconcile: ({ metadata: { name } }, { reasons }) =>
          Effect.as(journal.note(`${name}: ${reasons.map(Trigger.format).join()}`), Action.done)
      })])
      yield* pass("1 second")
      journal.clear()
      yield* Queue.offer(hooks, "a")
      yield* pass("19 seconds")
      assert.deepStrictEqual(journal.words, ["a: webhook", "b: bucket", "b: bucket"])
      yield* pass("40 seconds")
      assert.include(journal.words, "c: clock")
    }))

  it.effect("Source.each runs for as long as its object exists, and restarts for that object alone if it fails", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      const reconciled = new Journal()
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        sources: [
          Source.each("heart", Widget, ({ metadata: { name, namespace, uid } }, emit) =>
            Effect.gen(function*() {
              yield* journal.note(`${uid} starts`)
              yield* Effect.sleep("1 second")
              if (name === "b") return yield* Effect.fail("no heart")
              const now = yield* Cache.get(Widget, { namespace, name })
              yield* journal.note(`${uid} of ${now?.spec.size}`)
              emit({ namespace, name })
              return yield* Effect.never
            }).pipe(Effect.onInterrupt(() => journal.note(`${uid} ends`))))
        ],
        reconcile: ({ metadata: { name } }, { reasons }) =>
          Effect.as(reconciled.note(`${name}: ${reasons.map(Trigger.format).join()}`), Action.done)
      })])
      const [a] = server.objects(Widget).map(({ metadata }) => metadata.uid)
      server.patch(Widget, "a", { spec: { size: 7 } })
      yield* pass("10 seconds")
      server.patch(Widget, "a", { spec: { size: 8 } })
      yield* pass("10 seconds")
      assert.deepStrictEqual(journal.words, [`${a} starts`, `${a} of 7`])
      assert.include(reconciled.words, "a: heart")
      server.put(Widget, "b", small)
      yield* pass("1 minute")
      const b = server.get(Widget, "b")!.metadata.uid
      assert.isAbove(journal.words.filter((word) => word === `${b} starts`).length, 3)
      server.delete(Widget, "b")
      yield* pass("1 second")
      journal.clear()
      // Another one of its name comes while nobody looks.
      server.hold()
      server.delete(Widget, "a")
      server.put(Widget, "a", small)
      server.release()
      yield* pass("1 minute")
      const [again] = server.objects(Widget).map(({ metadata }) => metadata.uid)
      assert.deepStrictEqual(journal.words, [`${a} ends`, `${again} starts`, `${again} of 1`])
    }))

  it.effect("a source that fails or dies is restarted with growing delays, and stops nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", small)
      const journal = new Journal()
      let starts = 0
      yield* operate(server, [Controller.make("widgets", {
        for: Widget,
        sources: [{
          name: "flaky",
          run: (emit) =>
            Effect.suspend((): Effect.Effect<void, unknown> => {
              starts += 1
              emit({ namespace: "default", name: "a" })
              if (starts % 3 === 0) return Effect.fail(new Unreadable())
              return starts % 3 === 1 ? Effect.die(new Error("bug")) : Effect.fail("gone")
            })
        }, Source.every("wrong", "1 hour", { name: "cluster-scoped" })],
        reconcile: () => Effect.as(journal.note("a"), Action.done)
      })])
      yield* pass("5 minutes")
      assert.isAtLeast(starts, 10)
      assert.isAtMost(starts, 20)
      assert.isAtLeast(journal.entries.length, 10)
    }))
})
