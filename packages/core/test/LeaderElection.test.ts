import {
  Action,
  Cache,
  Controller,
  KubeClient,
  type KubeError,
  LeaderElection,
  Manager,
  Resource,
  ServerSideApply,
  Supervisor,
  Watch
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Logger, Metric, Scope, Stream, SubscriptionRef } from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { Journal, operate } from "./support/Operating.ts"
import { isWatch, refuse, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const Lease = Resource.make<any>()({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced"
}) as Resource.Resource<any>

const lease = { namespace: "default", name: "operator" }
const small = { spec: { size: 1 } }

/** A replica with a client and a scope of its own. */
const replica = Effect.fnUntraced(function*(
  server: Server,
  identity: string,
  options: Partial<LeaderElection.Options> = {}
) {
  const scope = yield* Scope.make()
  const client = KubeClient.make(server.transport)
  const supervisor = yield* Supervisor.make
  const election = yield* LeaderElection.make({ ...lease, identity, ...options }, supervisor).pipe(
    Effect.provideService(KubeClient.KubeClient, client),
    Effect.provideService(Scope.Scope, scope)
  )
  return {
    election,
    status: SubscriptionRef.get(election.status),
    stop: Scope.close(scope, Exit.void)
  }
})

const holderOf = (server: Server): string | undefined => server.get(Lease, "operator")?.spec?.holderIdentity

describe("LeaderElection", () => {
  it.effect("one leads, the others watch, and without changes only renewals cost a request", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      const b = yield* replica(server, "b")
      yield* pass("5 seconds")
      assert.strictEqual((yield* a.status)._tag, "Leading")
      assert.deepStrictEqual(yield* b.status, { _tag: "Standby", leader: "a" })
      const before = server.requests.length
      yield* pass("10 minutes")
      const during = server.requests.slice(before).filter((request) => !isWatch(request))
      assert.isAtMost(during.length, 300)
      assert.isTrue(during.every(({ method }) => method === "PUT"))
      yield* a.stop
      yield* b.stop
    }))

  it.effect("a list from before the first claim that is answered after it deposes nobody", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const isList = ({ method, path }: { readonly method: string; readonly path: string }) =>
        method === "GET" && path.endsWith("/leases")
      server.latency = (request) => isList(request) && !isWatch(request) ? Effect.sleep("1 second") : Effect.void
      const a = yield* replica(server, "a")
      const states: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(
          SubscriptionRef.changes(a.election.status),
          ({ _tag }) => Effect.sync(() => states.push(_tag))
        )
      )
      yield* pass("10 seconds")
      assert.deepStrictEqual(states, ["Standby", "Leading"])
      // One that is deleted is another matter.
      server.delete(Lease, "operator")
      yield* pass("5 seconds")
      assert.deepStrictEqual(states.slice(2), ["Standby", "Leading"])
      yield* a.stop
    }).pipe(Effect.scoped))

  it.effect("a leader that stops releases the lease, and another leads within a second", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      const b = yield* replica(server, "b")
      yield* pass("1 second")
      yield* a.stop
      yield* pass("1 second")
      assert.strictEqual(holderOf(server), "b")
      assert.strictEqual((yield* b.status)._tag, "Leading")
      assert.deepInclude(server.get(Lease, "operator").spec, { leaseTransitions: 1 })
      yield* b.stop
    }))

  it.effect("a stopping leader that gets no response does not claim to have released the lease", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const server = new Server(Lease)
      const a = yield* replica(server, "a").pipe(Effect.provide(Logger.layer([logger])))
      yield* pass("1 second")
      server.latency = () => Effect.never
      const stopped = yield* Effect.forkChild(a.stop)
      yield* pass("15 seconds")
      yield* Fiber.join(stopped)
      assert.include(lines, "lease default/operator was not released: no answer in time")
      assert.notInclude(lines, "released lease default/operator")
    }))

  it.effect("a candidate that stops during its first claim, or without an answer to it, leaves no lease behind", () =>
    Effect.gen(function*() {
      for (const waits of ["1 second", "8 seconds"] as const) {
        const server = new Server(Lease)
        server.latency = ({ method }) => method === "POST" ? Effect.sleep("20 seconds") : Effect.void
        const a = yield* replica(server, "a")
        yield* pass(waits)
        yield* a.stop
        assert.strictEqual(holderOf(server), "", waits)
        assert.strictEqual((yield* a.status)._tag, "Standby")
      }
    }))

  it.effect("a leader that cannot renew stops at the deadline, before any other starts, and remains a candidate", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      let cut = false
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      const b = yield* replica(server, "b")
      yield* pass("1 second")
      const journal = new Journal()
      const working = (who: string, election: LeaderElection.Election) =>
        Effect.forkChild(election.lead(
          journal.note(`${who} works`).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => journal.note(`${who} stops`))
          )
        ))
      yield* working("a", a.election)
      yield* working("b", b.election)
      yield* settle
      // Its requests are lost, those of the other pass.
      server.fault = (request) =>
        cut && request.method === "PUT" && (request.body as any).spec.holderIdentity === "a"
          ? Effect.succeed(refuse(503, "ServiceUnavailable"))
          : Effect.undefined
      cut = true
      yield* pass("30 seconds")
      assert.deepStrictEqual(journal.words, ["a works", "a stops", "b works"])
      const [, stopped, started] = journal.times as [number, number, number]
      assert.isAtMost(stopped, 12_100)
      assert.isAtLeast(started - stopped, 4_000)
      assert.strictEqual(a.election.permit()?.reason._tag, "Conflict")
      assert.isUndefined(b.election.permit())
      cut = false
      yield* b.stop
      yield* pass("2 seconds")
      assert.strictEqual((yield* a.status)._tag, "Leading", "re-elected in the same process")
      yield* a.stop
    }))

  it.effect("a leader whose clock is set back while it cannot renew still stops in time", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const clock = yield* Clock.Clock
      let behind = 0
      const millis = () => clock.currentTimeMillisUnsafe() - behind
      const putBack: Clock.Clock = {
        ...clock,
        currentTimeMillisUnsafe: millis,
        currentTimeMillis: Effect.sync(millis)
      }
      let cut = false
      server.fault = (request) =>
        cut && request.method === "PUT" ? Effect.succeed(refuse(503, "ServiceUnavailable")) : Effect.undefined
      const a = yield* Effect.provideService(replica(server, "a"), Clock.Clock, putBack)
      yield* pass("5 seconds")
      assert.strictEqual((yield* a.status)._tag, "Leading")
      cut = true
      behind = 60_000
      yield* pass("12100 millis")
      assert.strictEqual((yield* a.status)._tag, "Standby")
      assert.strictEqual(a.election.permit()?.reason._tag, "Conflict")
      // And it takes the lease back when it has seen it unchanged for its whole duration, not a minute later.
      cut = false
      yield* pass("17 seconds")
      assert.strictEqual((yield* a.status)._tag, "Leading")
      yield* a.stop
    }))

  it.effect("a leader on a machine that slept, with its monotonic clock stopped, does nothing when it wakes up", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const clock = yield* Clock.Clock
      let slept = 0
      const millis = () => clock.currentTimeMillisUnsafe() + slept
      const woken: Clock.Clock = {
        ...clock,
        currentTimeMillisUnsafe: millis,
        currentTimeMillis: Effect.sync(millis)
      }
      const a = yield* Effect.provideService(replica(server, "a"), Clock.Clock, woken)
      yield* pass("5 seconds")
      assert.isUndefined(a.election.permit())
      // Meanwhile another has taken over, of which its watch has not told it yet.
      const { spec } = server.get(Lease, "operator")!
      server.hold()
      server.put(Lease, "operator", { spec: { ...spec, holderIdentity: "b", leaseTransitions: 1 } })
      slept = 3_600_000
      assert.strictEqual(a.election.permit()?.reason._tag, "Conflict")
      assert.isUndefined(a.election.term())
      yield* pass("3 seconds")
      assert.deepStrictEqual(yield* a.status, { _tag: "Standby", leader: "b" })
      assert.strictEqual(holderOf(server), "b")
      server.release()
      yield* a.stop
    }))

  it.effect("a leader whose clock is set forward soon leads again, and nobody takes over early", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const clock = yield* Clock.Clock
      let ahead = 0
      const millis = () => clock.currentTimeMillisUnsafe() + ahead
      const putForward: Clock.Clock = {
        ...clock,
        currentTimeMillisUnsafe: millis,
        currentTimeMillis: Effect.sync(millis)
      }
      const a = yield* Effect.provideService(replica(server, "a"), Clock.Clock, putForward)
      yield* pass("5 seconds")
      const b = yield* Effect.provideService(replica(server, "b"), Clock.Clock, putForward)
      yield* pass("5 seconds")
      ahead = 3_600_000
      yield* pass("4 seconds")
      assert.deepStrictEqual([(yield* a.status)._tag, (yield* b.status)._tag], ["Leading", "Standby"])
      assert.strictEqual(holderOf(server), "a")
      yield* a.stop
      yield* b.stop
    }))

  it.effect("takes over no earlier than the lease expires by its own clock, and no later than 17 s", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      // A holder that is no more: its lease says a time far in the past, which means nothing.
      server.put(Lease, "operator", {
        spec: { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z" }
      })
      const b = yield* replica(server, "b")
      yield* pass("14900 millis")
      assert.strictEqual(holderOf(server), "gone")
      yield* pass("2100 millis")
      assert.strictEqual(holderOf(server), "b")
      yield* b.stop
    }))

  it.effect("a lost response does not lose the lease", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      // The server does what is asked, and the answer does not come.
      server.latency = (request) => request.method === "PUT" ? Effect.never : Effect.void
      yield* pass("9 seconds")
      server.latency = () => Effect.void
      yield* pass("10 seconds")
      assert.strictEqual(holderOf(server), "a")
      assert.strictEqual((yield* a.status)._tag, "Leading")
      yield* a.stop
    }))

  it.effect("a leader that stops during a renewal whose response is never seen leaves the lease to others", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      const b = yield* replica(server, "b")
      server.latency = ({ method }) => method === "PUT" ? Effect.sleep("5 seconds") : Effect.void
      // The server has the renewal, and its answer is not there yet.
      yield* pass("2 seconds")
      server.latency = () => Effect.void
      yield* a.stop
      yield* pass("1 second")
      assert.strictEqual(holderOf(server), "b")
      yield* b.stop
    }))

  it.effect("a renewal that conflicts with another client's write is no trouble: the leader reads and leads on", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ logLevel, message }) =>
        void (logLevel === "Warn" && lines.push(String(message)))
      )
      const server = new Server(Lease)
      const a = yield* replica(server, "a").pipe(Effect.provide(Logger.layer([logger])))
      yield* pass("1 second")
      server.hold()
      server.patch(Lease, "operator", { metadata: { labels: { team: "x" } } })
      yield* pass("1 minute")
      assert.strictEqual((yield* a.status)._tag, "Leading")
      assert.isUndefined(a.election.permit())
      assert.deepStrictEqual([lines, a.election.trouble()], [[], undefined])
      yield* a.stop
    }))

  it.effect("a bookmark of the watch says nothing about the lease", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("1 second")
      const b = yield* replica(server, "b")
      yield* pass("1 second")
      const before = server.requests.length
      for (const watch of server.watchesOf(Lease)) watch.bookmark(server.rv + 1)
      yield* settle
      assert.strictEqual((yield* a.status)._tag, "Leading")
      assert.deepStrictEqual(yield* b.status, { _tag: "Standby", leader: "a" })
      assert.lengthOf(server.requests, before)
      yield* a.stop
      yield* b.stop
    }))

  it.effect("logs once for whom it stands by, however often that holder renews, and again for another", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const server = new Server(Lease)
      let rv = 0
      const held = (holderIdentity: string) =>
        server.put(Lease, "operator", { spec: { holderIdentity, leaseDurationSeconds: 15, leaseTransitions: ++rv } })
      held("a")
      const b = yield* replica(server, "b").pipe(Effect.provide(Logger.layer([logger])))
      const told = Effect.sync(() => lines.splice(0))
      yield* pass("1 second")
      assert.deepStrictEqual(yield* told, ["standing by: a holds lease default/operator"])
      for (let i = 0; i < 20; i++) {
        held("a")
        yield* pass("5 seconds")
      }
      assert.deepStrictEqual(yield* told, [])
      held("c")
      yield* pass("5 seconds")
      assert.deepStrictEqual(yield* told, ["standing by: c holds lease default/operator"])
      // Nobody is nobody to stand by; who has led stands by whoever follows, also one that was named before.
      held("")
      yield* pass("5 seconds")
      assert.deepStrictEqual(yield* told, ["leading: holds lease default/operator"])
      held("c")
      yield* pass("5 seconds")
      assert.deepStrictEqual(yield* told, [
        "no longer leading: lost lease default/operator",
        "standing by: c holds lease default/operator"
      ])
      yield* b.stop
    }))

  it.effect("an unanswered renewal ends the work in time, however long it has led; then it leads again", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const registry: Metric.MetricRegistry = new Map()
      const { election } = yield* Effect.provideService(replica(server, "a"), Metric.MetricRegistry, registry)
      const journal: Array<string> = []
      const work = Effect.onInterrupt(
        Effect.andThen(Effect.sync(() => journal.push(`term ${election.term()}`)), Effect.never),
        () => Effect.sync(() => journal.push("interrupted"))
      )
      yield* Effect.forkScoped(election.lead(work))
      yield* pass("1 hour")
      const gauge = () => Metric.snapshotUnsafe(Context.make(Metric.MetricRegistry, registry)).map(({ state }) => state)
      assert.deepStrictEqual([journal, election.trouble(), gauge()], [["term 1"], undefined, [{ value: 1 }]])
      server.fault = ({ method }) => method === "PUT" ? Effect.never : Effect.undefined
      yield* pass("11 seconds")
      assert.deepStrictEqual([journal, election.term(), gauge()], [["term 1", "interrupted"], undefined, [{
        value: 0
      }]])
      assert.strictEqual(election.trouble(), "renewing: no answer in time")
      server.fault = () => Effect.undefined
      yield* pass("20 seconds")
      assert.deepStrictEqual(journal, ["term 1", "interrupted", "term 2"])
      assert.isUndefined(election.trouble())
    }))

  it.effect("a single request that hangs, a renewal or the read after a failed one, does not end a leadership", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const { election } = yield* replica(server, "a")
      yield* pass("5 seconds")
      for (const hanging of ["PUT", "GET"]) {
        let hung = 0
        server.fault = ({ method, path }) =>
          method === hanging && path.endsWith("/operator") && hung++ === 0
            ? Effect.never
            : hanging === "GET" && method === "PUT" && hung === 0
            ? Effect.succeed(refuse(503, "ServiceUnavailable"))
            : Effect.undefined
        yield* pass("60 seconds")
        assert.isAbove(hung, 0, hanging)
        assert.deepStrictEqual([election.term(), election.trouble()], [1, undefined], hanging)
      }
    }))

  it.effect("failed reads and writes are reported, and no longer once either succeeds", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const failing = (method: string, path: RegExp = /leases/) => {
        server.fault = (request) =>
          request.method === method && path.test(request.path)
            ? Effect.succeed(refuse(403, "Forbidden", `no ${method} for you`))
            : Effect.undefined
      }
      failing("GET")
      const { election } = yield* replica(server, "a")
      yield* pass("3 seconds")
      assert.include(election.trouble(), "no GET for you")
      failing("GET", /leases\/operator$/)
      yield* pass("10 seconds")
      assert.deepStrictEqual([election.trouble(), election.term()], [undefined, 1], "the watch shows it")
      failing("PUT")
      yield* pass("3 seconds")
      assert.include(election.trouble(), "no PUT for you")
      failing("")
      yield* pass("3 seconds")
      assert.deepStrictEqual([election.trouble(), election.term()], [undefined, 1])
    }))

  it.effect("a stopping leader leaves alone a lease that another has taken meanwhile", () =>
    Effect.gen(function*() {
      const server = new Server(Lease)
      const a = yield* replica(server, "a")
      yield* pass("5 seconds")
      server.hold()
      server.patch(Lease, "operator", { spec: { holderIdentity: "z" } })
      yield* a.stop
      assert.strictEqual(holderOf(server), "z")
      // Or deleted.
      server.release()
      server.delete(Lease, "operator")
      const b = yield* replica(server, "b")
      yield* pass("5 seconds")
      server.hold()
      server.delete(Lease, "operator")
      yield* b.stop
      assert.isUndefined(holderOf(server))
    }))

  it("refuses impossible times, and says which", () => {
    const attempt = (options: Partial<LeaderElection.Options>) =>
      Effect.runSync(Effect.exit(Effect.scoped(replica(new Server(Lease), "a", options))))
    assert.include(
      String(attempt({ renewDeadline: "20 seconds" })),
      "renewDeadline: 20000 ms: must be shorter than leaseDuration"
    )
    assert.include(String(attempt({ retryPeriod: "10 seconds" })), "retryPeriod: 10000 ms: must be above 0 and shorter")
  })
})

describe("Manager with leader election", () => {
  const writer = (journal: Journal, who: string, name = "widgets") =>
    Controller.make(name, {
      for: Widget,
      reconcile: ({ metadata }) => Effect.as(journal.note(`${who} ${metadata.name}`), Action.done)
    })

  const manage = Effect.fnUntraced(
    function*(server: Server, who: string, controllers: ReadonlyArray<Controller.Controller>) {
      const scope = yield* Scope.make()
      const manager = yield* Layer.buildWithScope(
        Manager.layer(controllers, { leaderElection: { ...lease, identity: who } }).pipe(
          Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport)))
        ),
        scope
      ).pipe(Effect.map((context) => Context.get(context, Manager.Manager)))
      return { manager, stop: Scope.close(scope, Exit.void) }
    }
  )

  it.effect("the standby keeps its caches warm and reconciles nothing; after the handover it starts at once", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      server.put(Widget, "x", small)
      const journal = new Journal()
      const a = yield* manage(server, "a", [writer(journal, "a")])
      yield* pass("1 second")
      const b = yield* manage(server, "b", [writer(journal, "b")])
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, ["a x"])
      assert.deepInclude((yield* b.manager.report).watches[0], { resource: "Widget.v1.test.io", objects: 1 })
      assert.deepStrictEqual((yield* b.manager.report).leases, [
        { lease: "default/operator", status: { _tag: "Standby", leader: "a" }, trouble: undefined }
      ])
      const lists = server.requestsFor("GET", "widgets").length
      yield* a.stop
      yield* pass("1 second")
      assert.deepStrictEqual(journal.words, ["a x", "b x"])
      assert.strictEqual(server.requestsFor("GET", "widgets").length, lists, "from its own cache")
      yield* b.stop
    }))

  for (const per of ["manager", "object", "ring"] as const) {
    it.effect(`a new leader forgets live reads: ${per}`, () =>
      Effect.gen(function*() {
        const server = new Server(Widget, Part, Lease)
        const shard = "shard.alpha.sharding.timebertt.dev/operator"
        server.put(Widget, "x", small, { labels: { [shard]: "a" } })
        const journal = new Journal()
        const controller = Controller.make("widgets", {
          for: Widget,
          reconcile: () =>
            Effect.gen(function*() {
              const part = yield* Cache.live(Part, { namespace: "default", name: "p" })
              yield* journal.note(part === undefined ? "absent" : "there")
              return Action.done
            })
        })
        const context = yield* Layer.build(
          Manager.layer([controller], { leaderElection: { ...lease, identity: "a", per } }).pipe(
            Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport)))
          )
        )
        yield* pass("2 seconds")
        // Somebody else has it for a while, and makes what was missed.
        const name = per === "object" ? "operator-a" : "operator"
        if (per === "ring") server.patch(Widget, "x", { metadata: { labels: { [shard]: "b" } } })
        else server.patch(Lease, name, { spec: { holderIdentity: "b", leaseDurationSeconds: 15 } })
        server.put(Part, "p")
        yield* pass("5 seconds")
        server.patch(Widget, "x", { spec: { size: 2 } })
        if (per === "ring") server.patch(Widget, "x", { metadata: { labels: { [shard]: "a" } } })
        else server.patch(Lease, name, { spec: { holderIdentity: "" } })
        yield* pass("10 seconds")
        assert.deepStrictEqual(journal.words, ["absent", "there"])
        assert.isDefined(context)
      }).pipe(Effect.scoped))
  }

  for (const per of ["manager", "object", "ring"] as const) {
    it.effect(`a new leader applies again what it applied before, whatever was applied since: ${per}`, () =>
      Effect.gen(function*() {
        const server = new Server(Widget, Part, Lease)
        const shard = "shard.alpha.sharding.timebertt.dev/operator"
        for (const name of ["x", "y"]) server.put(Widget, name, small, { labels: { [shard]: "a" } })
        for (const name of ["x", "y"]) server.put(Part, name)
        const controller = Controller.make("widgets", {
          for: Widget,
          watches: [Watch.cached(Part)],
          reconcile: ({ metadata: { name } }) =>
            Effect.as(
              ServerSideApply.apply(Part, { metadata: { namespace: "default", name }, spec: { role: "x" } }),
              Action.done
            )
        })
        yield* operate(server, [controller], { leaderElection: { ...lease, identity: "a", per } })
        yield* pass("2 seconds")
        const applied = () => server.requestsFor("PATCH", "parts").map(({ path }) => path.slice(-1))
        assert.sameMembers(applied(), ["x", "y"])
        // Somebody else has it for a while, and applies more under the same name.
        const name = per === "object" ? "operator-a" : "operator"
        if (per === "ring") server.patch(Widget, "x", { metadata: { labels: { [shard]: "b" } } })
        else server.patch(Lease, name, { spec: { holderIdentity: "b", leaseDurationSeconds: 15 } })
        for (const name of ["x", "y"]) server.patch(Part, name, { spec: { more: "y" } })
        yield* pass("5 seconds")
        if (per === "ring") server.patch(Widget, "x", { metadata: { labels: { [shard]: "a" } } })
        else server.patch(Lease, name, { spec: { holderIdentity: "" } })
        server.patch(Widget, "x", { spec: { size: 2 } })
        server.patch(Widget, "y", { spec: { size: 2 } })
        yield* pass("10 seconds")
        assert.sameMembers(applied().slice(2), per === "ring" ? ["x"] : ["x", "y"])
        server.patch(Part, "x", { status: "seen" })
        server.patch(Widget, "x", { spec: { size: 3 } })
        yield* pass("1 second")
        assert.lengthOf(applied(), per === "ring" ? 3 : 4, "it is remembered again")
      }))
  }

  it.effect("a replica that leads again reconciles every object, after those that changed", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      for (const name of ["x", "y"]) server.put(Widget, name, small)
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata: { name } }, { reasons }) =>
          Effect.as(journal.note(`${name}: ${reasons.map(({ _tag }) => _tag).join()}`), Action.done)
      })
      yield* operate(server, [controller], { leaderElection: { ...lease, identity: "a" } })
      yield* pass("2 seconds")
      assert.deepStrictEqual(journal.words, ["x: Added", "y: Added"])
      journal.clear()
      // What that one was to do with an object, after a failure say, it has told nobody.
      server.patch(Lease, "operator", { spec: { holderIdentity: "b", leaseDurationSeconds: 15 } })
      yield* pass("5 seconds")
      server.patch(Widget, "y", { spec: { size: 2 } })
      server.patch(Lease, "operator", { spec: { holderIdentity: "" } })
      yield* pass("10 seconds")
      assert.deepStrictEqual(journal.words, ["y: Updated,Handover", "x: Handover"])
    }))

  it.effect("the dynamic watches of a standby come and go, and the effect that computes them writes nothing", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      server.put(Lease, "operator", { spec: { holderIdentity: "b", leaseDurationSeconds: 15 } })
      const controller = Controller.make("widgets", {
        for: Widget,
        dynamicWatches: Stream.concat(
          Stream.make([Watch.cached(Part)]),
          Stream.fromEffect(Effect.as(
            KubeClient.KubeClient.use((client) =>
              client.create(Part, { metadata: { namespace: "default", name: "p" } })
            ),
            []
          ))
        ),
        reconcile: () => Effect.succeed(Action.done)
      })
      const a = yield* manage(server, "a", [controller])
      yield* pass("5 seconds")
      assert.deepStrictEqual(server.requestsFor("POST", "parts"), [])
      assert.lengthOf(server.watchesOf(Part), 1)
      yield* pass("1 minute")
      assert.lengthOf(server.requestsFor("POST", "parts"), 1, "who leads does")
      yield* a.stop
    }))

  it.effect("two managers in a process do not hold one lease with one identity", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const start = (identity: string) =>
        Layer.build(Manager.layer([], { leaderElection: { ...lease, identity } }).pipe(Layer.provide(server.layer)))
      const scope = yield* Scope.make()
      yield* Scope.provide(start("a"), scope)
      yield* pass("5 seconds")
      const exit = yield* Effect.exit(start("a"))
      assert.include(String(exit), "LeaderElection: default/operator: this process is already a candidate as a")
      yield* start("b")
      yield* pass("5 seconds")
      assert.strictEqual(server.get(Lease, "operator")?.spec?.holderIdentity, "a")
      yield* Scope.close(scope, Exit.void)
      yield* start("a")
    }))

  it.effect("a leader that lost its lease starts nothing that waits or that became due while it was suspended", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const clock = yield* Clock.Clock
      let stood = 0
      const standing: Clock.Clock = {
        ...clock,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + BigInt(stood) * 1_000_000n
      }
      for (const name of ["x", "y"]) server.put(Widget, name, small)
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        concurrency: 3,
        reconcile: ({ metadata }) =>
          journal.note(metadata.name).pipe(
            Effect.andThen(metadata.name === "x" ? Effect.never : Effect.void),
            Effect.as(Action.requeueAfter("500 millis"))
          )
      })
      const a = yield* Effect.provideService(manage(server, "a", [controller]), Clock.Clock, standing)
      yield* pass("400 millis")
      assert.deepStrictEqual(journal.words.toSorted(), ["x", "y"])
      server.fault = ({ path }) =>
        path.includes("/leases") ? Effect.succeed(refuse(503, "ServiceUnavailable")) : Effect.undefined
      stood = 30_000
      yield* pass("10 seconds")
      assert.deepStrictEqual((yield* a.manager.report).leases[0]?.status._tag, "Standby")
      assert.deepStrictEqual(journal.words.toSorted(), ["x", "y"])
      server.fault = () => Effect.undefined
      yield* pass("20 seconds")
      assert.deepStrictEqual((yield* a.manager.report).leases[0]?.status._tag, "Leading")
      assert.isAbove(journal.words.filter((name) => name === "y").length, 1)
      assert.strictEqual(journal.words.filter((name) => name === "x").length, 2)
      const stopped = yield* Effect.forkChild(a.stop)
      yield* pass("30 seconds")
      yield* Fiber.join(stopped)
    }))

  describe("a leader that is not interrupted", () => {
    /** What a process writes that lost the lease while nothing could interrupt it. */
    const late = Effect.fnUntraced(function*(
      stubborn: (write: Effect.Effect<void, KubeError.KubeError, KubeClient.KubeClient>) => Controller.Controller
    ) {
      const server = new Server(Widget, Part, Lease)
      server.put(Widget, "x", small)
      let cut = false
      server.fault = (request) =>
        cut && request.path.includes("/leases") ? Effect.succeed(refuse(503, "ServiceUnavailable")) : Effect.undefined
      const write = Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        cut = true
        // Nothing interrupts it for twenty seconds.
        yield* Effect.uninterruptible(Effect.sleep("20 seconds"))
        yield* client.create(Part, { metadata: { namespace: "default", name: "late" } })
      }).pipe(Effect.uninterruptible)
      const a = yield* manage(server, "a", [stubborn(write)])
      yield* pass("40 seconds")
      assert.isTrue(cut)
      assert.deepStrictEqual(server.requestsFor("POST", "parts"), [])
      assert.deepStrictEqual(server.objects(Part), [])
      cut = false
      yield* a.stop
    })
    const reconcile = () => Effect.succeed(Action.done)

    it.effect("a write of a controller that no longer leads is not sent", () =>
      late((write) => Controller.make("widgets", { for: Widget, reconcile: () => Effect.as(write, Action.done) })))

    it.effect("neither is a write of one of its sources", () =>
      late((write) =>
        Controller.make("widgets", { for: Widget, reconcile, sources: [{ name: "writer", run: () => write }] })
      ))
  })

  it.effect("a lease for each controller lets replicas share the work", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      yield* operate(server, [writer(new Journal(), "a", "one"), writer(new Journal(), "a", "two")], {
        leaderElection: { ...lease, identity: "a", per: "controller" }
      })
      yield* pass("1 second")
      assert.deepStrictEqual(server.objects(Lease).map(({ metadata }) => metadata.name).sort(), [
        "operator-one",
        "operator-two"
      ])
    }))
})
