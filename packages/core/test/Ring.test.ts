import {
  Action,
  Adoption,
  Cache,
  Cluster,
  Controller,
  KubeClient,
  type KubeObject,
  LeaderElection,
  Manager,
  OwnerLabel,
  Predicate,
  Projection,
  Reconciler,
  Ring,
  Source,
  Sync,
  type Transport,
  Watch
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger } from "effect"
import { Part, Region, Task, Widget } from "./support/Kinds.ts"
import { Journal } from "./support/Operating.ts"
import { Prng } from "./support/Prng.ts"
import * as Replicas from "./support/Replicas.ts"
import { isWatch, parameter, refuse, Server } from "./support/Server.ts"
import { Sharder } from "./support/Sharder.ts"
import { pass, seeded, settable } from "./support/Time.ts"

const { Lease } = LeaderElection
const namespace = "default"
const names = Array.from({ length: 24 }, (_, i) => `w${i}`)
const sized = (size: number) => ({ spec: { size } })

/** One that also counts what is made. */
class Counting extends Replicas.Watchman {
  made = 0
}

/** All that a cache has to know of a Part. */
const Child = Projection.metadata(Part)

/** Makes as many Parts as asked for, each under a name that nobody has had, and never more. */
const parts = (watchman: Counting, who: string, finalize: boolean) =>
  Controller.make("widgets", {
    for: Widget,
    owns: [Child],
    concurrency: 4,
    reconcile: (widget) =>
      watchman.during(
        who,
        widget.metadata.name,
        Effect.gen(function*() {
          const client = yield* KubeClient.KubeClient
          yield* Effect.sleep("20 millis")
          const there = (yield* Cache.list(Child, { owner: widget })).length
          for (let i = there; i < widget.spec.size; i++) {
            const name = `${widget.metadata.name}-${who}-${++watchman.made}`
            yield* client.create(Part, {
              metadata: { name, namespace, ownerReferences: [controllerReference(widget)] }
            })
          }
          return Action.done
        })
      ),
    finalize: finalize
      ? (widget) => watchman.during(who, widget.metadata.name, Effect.as(Effect.sleep("20 millis"), Action.done))
      : undefined
  })

const replica = (server: Server, identity: string, controllers: ReadonlyArray<Controller.Controller>) =>
  Replicas.replica(server, controllers, { namespace, name: "widgets", identity, per: "ring" })

const filled = (size = 2) => {
  const server = new Server(Widget, Part, Lease)
  for (const name of names) server.put(Widget, name, sized(size))
  return server
}

/** How many Parts each Widget has. */
const counts = (server: Server) =>
  new Set(
    names.map((name) =>
      server.objects(Part).filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name).length
    )
  )

const silent = Effect.provide(Logger.layer([]))

describe("Ring", () => {
  it.effect("orphans are adopted though no shard watches them, and get the label with their owner", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      server.put(Widget, "w", sized(1), { labels: mine })
      server.put(Part, "orphan", {}, { labels: { app: "w" } })
      server.put(Part, "other", {}, { labels: { app: "v" } })
      const claims: Array<ReadonlyArray<string>> = []
      yield* replica(server, "a", [Controller.make("widgets", {
        for: Widget,
        owns: [Part],
        reconcile: (widget) =>
          Effect.gen(function*() {
            const claimed = yield* Adoption.claim({ resource: Widget, object: widget }, Part, { app: "w" })
            claims.push(claimed.map(({ metadata }) => metadata.name))
            return Action.done
          })
      })])
      yield* pass("5 seconds")
      assert.deepStrictEqual(new Set(claims.flat()), new Set(["orphan"]))
      const { metadata } = server.get(Part, "orphan")!
      assert.deepStrictEqual(metadata.labels, { app: "w", ...mine })
      assert.strictEqual(metadata.ownerReferences?.[0]?.name, "w")
      assert.deepStrictEqual(server.get(Part, "other")?.metadata.labels, { app: "v" })
    }).pipe(silent, Effect.scoped))

  const mine = { "shard.alpha.sharding.timebertt.dev/widgets": "a" }
  const others = { "shard.alpha.sharding.timebertt.dev/widgets": "b" }

  it.effect("an object that is to be handed back keeps its condition, also while another controller works on it", () =>
    Effect.gen(function*() {
      const server = new Server(Task, Part, Lease)
      server.put(Task, "x", sized(1), { labels: mine })
      const tasks = Controller.make("tasks", {
        for: Task,
        reconcile: () => Effect.fail(new Reconciler.Terminal({ message: "no" }))
      })
      const slow = Controller.make("slow", {
        for: Task,
        reconcile: () => Effect.as(Effect.sleep("5 seconds"), Action.done)
      })
      yield* replica(server, "a", [tasks, slow])
      yield* pass("2 seconds")
      const said = () => server.get(Task, "x")?.status?.conditions?.map(({ message }) => message)
      assert.deepStrictEqual(said(), ["tasks: no"])
      server.patch(Task, "x", { metadata: { labels: { "drain.alpha.sharding.timebertt.dev/widgets": "true" } } })
      yield* pass("1 minute")
      assert.deepStrictEqual(server.get(Task, "x")?.metadata.labels, {})
      assert.deepStrictEqual(said(), ["tasks: no"])
    }).pipe(silent))

  const shares = (finalize: boolean) => () =>
    Effect.gen(function*() {
      const server = filled()
      const sharder = new Sharder(server, "widgets", Widget)
      const watchman = new Counting()
      const start = (who: string) => replica(server, who, [parts(watchman, who, finalize)])
      yield* Effect.forkScoped(sharder.run)
      const a = yield* start("a")
      yield* pass("10 seconds")
      assert.deepStrictEqual(sharder.shares, { a: 24 })
      assert.deepStrictEqual(counts(server), new Set([2]))
      assert.deepInclude(server.get(Lease, "a")?.metadata.labels, { [Ring.label]: "widgets" })
      assert.strictEqual(server.get(Lease, "a")?.spec?.holderIdentity, "a")

      const b = yield* start("b")
      yield* pass("10 seconds")
      const { a: ofA = 0, b: ofB = 0 } = sharder.shares
      assert.strictEqual(ofA + ofB, 24)
      assert.isAbove(ofB, 4)
      assert.deepStrictEqual(counts(server), new Set([2]))
      for (const [{ manager }, share] of [[a, ofA], [b, ofB]] as const) {
        const { leases, watches } = yield* manager.report
        assert.deepStrictEqual(leases.map(({ status }) => status._tag), ["Leading"])
        assert.deepStrictEqual(watches.map(({ objects, plural }) => [plural, objects]), [
          ["widgets.test.io", share],
          ["parts", 2 * share]
        ])
      }
      const watches = server.requests.filter((request) => isWatch(request) && !request.path.includes("leases"))
      for (const request of watches) {
        assert.match(
          parameter(request, "labelSelector") ?? "",
          /^shard\.alpha\.sharding\.timebertt\.dev\/widgets=[ab]$/
        )
      }

      watchman.last.clear()
      for (const name of names) server.patch(Widget, name, sized(3))
      yield* pass("3 seconds")
      assert.strictEqual(watchman.last.size, 24)
      for (const widget of server.objects(Widget)) {
        assert.strictEqual(watchman.last.get(widget.metadata.name), sharder.of(widget))
      }
      assert.deepStrictEqual(counts(server), new Set([3]))

      // What a shard has of a kind alone is nobody else's business; said, it would be passed on for ever.
      for (const { metadata } of server.objects(Lease)) {
        assert.notInclude(metadata.annotations?.["effect-operator.dev/wrote"] ?? "", "shard.alpha")
      }

      yield* b.stop
      assert.strictEqual(server.get(Lease, "b")?.spec?.holderIdentity, "")
      yield* pass("10 seconds")
      assert.deepStrictEqual(sharder.shares, { a: 24 })
      assert.deepStrictEqual(counts(server), new Set([3]))
      assert.strictEqual((yield* a.manager.report).watches.find(({ plural }) => plural === "parts")?.objects, 72)
      assert.isUndefined(watchman.problem)
      assert.isEmpty(server.objects(Widget).filter(({ metadata }) => metadata.labels?.[sharder.drain] !== undefined))
      if (finalize) {
        for (const name of names) server.delete(Widget, name)
        yield* pass("3 seconds")
        assert.isEmpty(server.objects(Widget))
      }
      yield* a.stop
    }).pipe(silent, Effect.scoped)

  it.effect("shards get their own objects with their children, and no more", shares(false))
  it.effect("so do shards that clean up", shares(true))

  it.effect("objects from before the ring keep their children", () =>
    Effect.gen(function*() {
      const server = filled()
      for (const widget of server.objects(Widget)) {
        for (const part of ["x", "y"]) {
          server.put(Part, `${widget.metadata.name}-${part}`, {}, {
            ownerReferences: [controllerReference({ ...widget, kind: "Widget", apiVersion: "test.io/v1" }) as never]
          })
        }
      }
      const sharder = new Sharder(server, "widgets", Widget)
      const watchman = new Counting()
      yield* Effect.forkScoped(sharder.run)
      yield* replica(server, "a", [parts(watchman, "a", false)])
      yield* pass("10 seconds")
      assert.strictEqual(watchman.last.size, 24)
      assert.strictEqual(watchman.made, 0)
      assert.isTrue(server.objects(Part).every((part) => sharder.of(part) === "a"))
    }).pipe(silent, Effect.scoped))

  it.effect("a shard that has lost its lease stops working, and fails", () =>
    Effect.gen(function*() {
      const server = filled()
      const sharder = new Sharder(server, "widgets", Widget)
      const watchman = new Counting()
      yield* Effect.forkScoped(sharder.run)
      const a = yield* replica(server, "a", [parts(watchman, "a", false)])
      const b = yield* replica(server, "b", [parts(watchman, "b", false)])
      yield* pass("10 seconds")
      yield* a.cut(true)
      yield* pass("40 seconds")
      assert.deepStrictEqual(sharder.shares, { b: 24 })
      assert.deepStrictEqual(counts(server), new Set([2]))
      const failed = yield* Effect.flip(a.manager.failure)
      assert.strictEqual(
        failed.message,
        "shard a of ring widgets ended: a has lost its lease: another shard may own its objects in ring widgets now"
      )
      assert.isUndefined((yield* b.manager.report).failed)
      assert.isUndefined(watchman.problem)
    }).pipe(silent, Effect.scoped))

  it.effect("an object is handed back, whatever a predicate says, when the work on it has ended", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const drain = { "drain.alpha.sharding.timebertt.dev/widgets": "true" }
      const shard = { "shard.alpha.sharding.timebertt.dev/widgets": "a", mine: "yes" }
      server.put(Widget, "w", sized(1), { labels: shard })
      let runs = 0
      const slow = Controller.make("widgets", {
        for: Widget,
        predicate: ({ _tag }) => _tag === "Added",
        reconcile: () => Effect.as(Effect.andThen(Effect.sync(() => runs++), Effect.sleep("5 seconds")), Action.done)
      })
      yield* replica(server, "a", [slow])
      yield* pass("1 second")
      server.patch(Widget, "w", { metadata: { labels: drain } })
      yield* pass("2 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, { ...shard, ...drain })
      yield* pass("3 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, { mine: "yes" })
      yield* pass("1 minute")
      assert.strictEqual(runs, 1)
    }).pipe(silent, Effect.scoped))

  it.effect("an object of several controllers is handed back by the last of them, and none starts on it meanwhile", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const drain = { "drain.alpha.sharding.timebertt.dev/widgets": "true" }
      const journal = new Journal()
      for (const name of ["v", "w"]) server.put(Widget, name, sized(1), { labels: mine })
      const controllers = (["quick", "slow"] as const).map((who) =>
        Controller.make(who, {
          for: Widget,
          concurrency: 2,
          // One of them is not asked by the change that asks for the object.
          labels: who === "slow" ? { ...mine } : undefined,
          reconcile: ({ metadata: { name } }) =>
            Effect.gen(function*() {
              yield* journal.note(`${who} ${name}`)
              if (who === "slow" && name === "w") yield* Effect.sleep("5 seconds")
              yield* journal.note(`${who} ${name} ends`)
              return Action.done
            })
        })
      )
      yield* replica(server, "a", controllers)
      yield* pass("1 second")
      server.latency = ({ method }) => method === "PATCH" ? Effect.sleep("1 second") : Effect.void
      journal.clear()
      for (const name of ["v", "w"]) server.patch(Widget, name, { metadata: { labels: drain } })
      yield* pass("500 millis")
      // What is handed back already, though the answer is under way.
      assert.deepStrictEqual(server.get(Widget, "v")?.metadata.labels, {})
      yield* pass("2 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, { ...mine, ...drain })
      yield* pass("4 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, {})
      assert.deepStrictEqual(journal.words, ["slow w ends"])
      // It comes again, and is everybody's.
      server.patch(Widget, "w", { metadata: { labels: mine } })
      yield* pass("10 seconds")
      assert.sameMembers(journal.words.slice(1), ["quick w", "quick w ends", "slow w", "slow w ends"])
    }).pipe(silent, Effect.scoped))

  it.effect("an object of several controllers that no longer decodes is handed back when they have ended", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const drain = { "drain.alpha.sharding.timebertt.dev/widgets": "true" }
      server.put(Widget, "w", sized(1), { labels: mine })
      const slow = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.as(Effect.sleep("5 seconds"), Action.done)
      })
      yield* replica(server, "a", [slow])
      yield* pass("1 second")
      server.patch(Widget, "w", { spec: { size: "big" }, metadata: { labels: drain } })
      yield* pass("3 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, { ...mine, ...drain })
      yield* pass("3 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, {})
    }).pipe(silent, Effect.scoped))

  it.effect("the timeout of a controller is for its reconciles: admission does not count", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      const journal = new Journal()
      server.put(Widget, "w", sized(1), { labels: mine })
      // Another shard says that it has written what no watch here will ever show.
      const wrote = { "effect-operator.dev/wrote": JSON.stringify({ "Part.v1|||": "100000" }) }
      server.put(Lease, "z", { spec: { holderIdentity: "z", leaseDurationSeconds: 15 } }, {
        labels: { [Ring.label]: "widgets" },
        annotations: wrote
      })
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          watches: [Watch.cached(Part)],
          timeout: "5 seconds",
          reconcile: () => journal.note("begins").pipe(Effect.andThen(Effect.sleep("1 hour")), Effect.as(Action.done))
        })
      ])
      yield* pass("31 seconds")
      assert.deepStrictEqual(journal.words, ["begins"])
      yield* pass("6 seconds")
      assert.deepStrictEqual(journal.words, ["begins", "begins"], "which did not end in time")
    }).pipe(silent, Effect.scoped))

  it.effect("an object that does not decode is handed back too, though nobody reconciles it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      const drain = { "drain.alpha.sharding.timebertt.dev/widgets": "true" }
      for (const name of ["v", "w"]) server.put(Widget, name, { spec: { size: "big" } }, { labels: mine })
      let refused = 0
      server.fault = ({ method, path }) =>
        Effect.sync(() =>
          method === "PATCH" && path.endsWith("/widgets/w") && ++refused < 3
            ? refuse(500, "InternalError", "no")
            : undefined
        )
      yield* replica(server, "a", [parts(new Counting(), "a", false)])
      yield* pass("10 seconds")
      for (const name of ["v", "w"]) server.patch(Widget, name, { metadata: { labels: drain } })
      yield* pass("1 second")
      assert.deepStrictEqual(server.get(Widget, "v")?.metadata.labels, {})
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, { ...mine, ...drain })
      yield* pass("1 minute")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, {})
    }).pipe(silent, Effect.scoped))

  it.effect("nobody works on an object that only a late watch still shows", () =>
    Effect.gen(function*() {
      const drain = "drain.alpha.sharding.timebertt.dev/widgets"
      const happens: ReadonlyArray<(server: Server) => void> = [
        (server) => server.patch(Widget, "w", { metadata: { labels: others } }),
        (server) => server.patch(Widget, "w", { metadata: { labels: { [drain]: "true" } } }),
        (server) => server.delete(Widget, "w"),
        (server) => {
          server.delete(Widget, "w")
          server.put(Widget, "w", sized(1), { labels: mine })
        }
      ]
      for (const [what, happen] of happens.entries()) {
        const server = new Server(Widget, Part, Lease)
        server.put(Widget, "w", sized(1), { labels: mine })
        const watchman = new Counting()
        let listed = 0
        server.latency = (request) =>
          // The list is read before that, and answered after it.
          request.method === "GET" && request.path.endsWith("/widgets") && !isWatch(request)
            ? Effect.sync(() => {
              if (++listed > 1) return
              server.hold()
              happen(server)
            })
            : Effect.void
        const a = yield* replica(server, "a", [parts(watchman, "a", false)])
        yield* pass("20 seconds")
        assert.deepStrictEqual([listed, watchman.last.size], [1, 0], `case ${what}`)
        server.release()
        yield* pass("20 seconds")
        assert.strictEqual(watchman.last.size, what === 3 ? 1 : 0, `case ${what}`)
        yield* a.stop
      }
    }).pipe(silent, Effect.scoped))

  const looksForChildren = (request: Transport.Request) =>
    request.path.endsWith("/parts") && parameter(request, "labelSelector")?.includes("notin") === true

  it.effect("an object that was elsewhere during the search for its children has them searched for again", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      const widget = server.put(Widget, "w", sized(1), { labels: mine })
      const watchman = new Counting()
      let looked = 0
      server.latency = (request) =>
        looksForChildren(request) && ++looked === 1
          ? Effect.gen(function*() {
            server.patch(Widget, "w", { metadata: { labels: others } })
            server.put(Part, "w-b", {}, { labels: others, ownerReferences: [controllerReference(widget) as never] })
            yield* Effect.sleep("100 millis")
            server.patch(Widget, "w", { metadata: { labels: mine } })
            yield* Effect.sleep("100 millis")
          })
          : Effect.void
      yield* replica(server, "a", [parts(watchman, "a", false)])
      yield* pass("1 minute")
      assert.strictEqual(watchman.made, 0)
      assert.deepStrictEqual(server.objects(Part).map(({ metadata }) => metadata.labels), [mine])
    }).pipe(silent, Effect.scoped))

  it.effect("an object that returns as soon as it is handed back is reconciled, whatever a predicate says", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Lease)
      server.put(Widget, "w", sized(1), { labels: mine, generation: 1 })
      // As the webhook of a sharder does.
      server.fault = (request) =>
        Effect.sync(() => {
          if (request.method === "PATCH" && request.path.endsWith("/widgets/w")) {
            server.patch(Widget, "w", {
              metadata: { labels: { "drain.alpha.sharding.timebertt.dev/widgets": null } }
            })
            return { status: 200, headers: {}, body: server.get(Widget, "w") }
          }
          return undefined
        })
      const seen: Array<number> = []
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          predicate: Predicate.generationChanged,
          reconcile: ({ spec }) => Effect.as(Effect.sync(() => seen.push(spec.size)), Action.done)
        })
      ])
      yield* pass("1 second")
      server.patch(Widget, "w", {
        ...sized(2),
        metadata: { generation: 2, labels: { "drain.alpha.sharding.timebertt.dev/widgets": "true" } }
      })
      yield* pass("10 seconds")
      assert.deepStrictEqual(server.get(Widget, "w")?.metadata.labels, mine)
      assert.deepStrictEqual(seen, [1, 2])
    }).pipe(silent, Effect.scoped))

  it.effect("a server that does not list children is not asked over and over, even if the clock is set back", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      const server = filled()
      for (const name of names) server.patch(Widget, name, { metadata: { labels: mine } })
      const watchman = new Counting()
      server.fault = (request) =>
        Effect.sync(() => looksForChildren(request) ? refuse(403, "Forbidden", "parts is forbidden") : undefined)
      yield* Effect.provideService(replica(server, "a", [parts(watchman, "a", false)]), Clock.Clock, clock)
      yield* pass("1 minute")
      putBack(3_600_000)
      const asked = server.requests.filter(looksForChildren).length
      assert.isAtMost(asked, 8)
      assert.isAtLeast(asked, 4)
      server.fault = () => Effect.undefined
      yield* pass("1 minute")
      assert.strictEqual(watchman.last.size, 24)
    }).pipe(silent, Effect.scoped))

  for (const dies of [false, true]) {
    it.effect(`what another shard has ${dies ? "written before it died" : "just written"} is visible, though it is not a child and a watch is late`, () =>
      Effect.gen(function*() {
        const server = new Server(Widget, Part, Lease)
        const label = OwnerLabel.make("test.io/widget")
        let made = 0
        const making = Controller.make("widgets", {
          for: Widget,
          watches: [Watch.labelled(Part, label)],
          reconcile: Effect.fnUntraced(function*(widget) {
            const there = yield* Cache.list(Part, { labels: OwnerLabel.selector(label, widget) })
            if (there.length > 0) return Action.done
            const client = yield* KubeClient.KubeClient
            yield* client.create(Part, {
              metadata: { namespace, name: `part-${++made}`, ...OwnerLabel.metadata(label, widget) }
            })
            return Action.done
          })
        })
        const a = yield* replica(server, "a", [making])
        yield* Replicas.replica(Replicas.late(server, "/parts", dies ? "35 seconds" : "5 seconds"), [making], {
          namespace,
          name: "widgets",
          identity: "b",
          per: "ring"
        })
        yield* pass("40 seconds")
        server.put(Widget, "w", sized(1), { labels: mine })
        yield* pass(dies ? "5 seconds" : "100 millis")
        assert.strictEqual(made, 1)
        if (dies) {
          yield* a.cut(true)
          yield* pass("20 seconds")
        } else {
          server.patch(Widget, "w", { metadata: { labels: { "drain.alpha.sharding.timebertt.dev/widgets": "true" } } })
          yield* pass("100 millis")
          assert.isUndefined(server.get(Widget, "w")?.metadata.labels?.["shard.alpha.sharding.timebertt.dev/widgets"])
        }
        server.patch(Widget, "w", { metadata: { labels: others } })
        yield* pass("2 minutes")
        assert.strictEqual(made, 1)
      }).pipe(silent, Effect.scoped))
  }

  it.effect("an object that waits for the search for its children holds up no other", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      server.put(Widget, "old", sized(1), { labels: mine })
      server.latency = (request) => looksForChildren(request) ? Effect.sleep("5 seconds") : Effect.void
      const seen: Array<string> = []
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          owns: [Child],
          reconcile: ({ metadata: { name }, spec: { size } }) =>
            Effect.as(Effect.sync(() => seen.push(`${name} ${size}`)), Action.done)
        })
      ])
      yield* pass("6 seconds")
      server.put(Widget, "new", sized(1), { labels: mine })
      yield* pass("1 second")
      server.patch(Widget, "old", sized(2))
      yield* pass("1 second")
      assert.deepStrictEqual(seen, ["old 1", "old 2"])
      yield* pass("30 seconds")
      assert.deepStrictEqual(seen, ["old 1", "old 2", "new 1"])
    }).pipe(silent, Effect.scoped))

  it.effect("children get the label whichever part of the program creates them: a service of its own, a source", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      server.put(Widget, "w", sized(1), { labels: mine })
      const make = (widget: KubeObject.KubeObject, name: string) =>
        server.own.create(Part, { metadata: { name, namespace, ownerReferences: [controllerReference(widget)] } })
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          owns: [Child],
          sources: [Source.each("parts", Widget, (widget) => Effect.asVoid(make(widget, "of-a-source")))],
          reconcile: (widget) => Effect.as(Effect.ignore(make(widget, "of-a-service")), Action.done)
        })
      ])
      yield* pass("10 seconds")
      assert.deepStrictEqual(
        server.objects(Part).map(({ metadata: { labels, name } }) => [name, labels]).sort(),
        [["of-a-service", mine], ["of-a-source", mine]]
      )
    }).pipe(silent, Effect.scoped))

  it.effect("an object that is not a child gets no label, whoever creates it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Region, Lease)
      server.put(Widget, "w", sized(1), { labels: mine })
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          owns: [Child],
          reconcile: (widget) =>
            Effect.gen(function*() {
              const client = yield* KubeClient.KubeClient
              const { controller: _, ...owned } = controllerReference(widget)
              const strange = { ...controllerReference(widget), kind: "Gadget" }
              const references = { alone: undefined, owned: [owned], "of-another": [strange] }
              for (const [name, ownerReferences] of Object.entries(references)) {
                yield* Effect.ignore(client.create(Part, { metadata: { name, namespace, ownerReferences } }))
              }
              return Action.done
            })
        })
      ])
      yield* pass("10 seconds")
      assert.deepStrictEqual(
        server.objects(Part).map(({ metadata: { labels, name } }) => [name, labels]).sort(),
        [["alone", undefined], ["of-another", undefined], ["owned", undefined]]
      )
    }).pipe(silent, Effect.scoped))

  it.effect("a child that gets its owner back gets the label with it", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      server.put(Widget, "w", sized(1), { labels: mine })
      server.put(Part, "w", {}, { labels: { kept: "yes" } })
      yield* replica(server, "a", [
        Controller.make("widgets", {
          for: Widget,
          owns: [Part],
          reconcile: (widget) =>
            Effect.as(
              Sync.children(widget, [Part], [Sync.adopted(Sync.once(Sync.child(Part, { metadata: { name: "w" } })))]),
              Action.done
            )
        })
      ])
      yield* pass("10 seconds")
      const { labels, ownerReferences } = server.get(Part, "w")!.metadata
      assert.deepStrictEqual([labels, ownerReferences?.length], [{ kept: "yes", ...mine }, 1])
    }).pipe(silent, Effect.scoped))

  it.effect(
    "no two work on one object, and no child is created twice, whoever comes, stops and dies (10 random runs)",
    () =>
      Effect.gen(function*() {
        for (let seed = 1; seed <= 10; seed++) {
          const prng = new Prng(seed)
          const server = filled()
          const sharder = new Sharder(server, "widgets", Widget)
          const watchman = new Counting()
          const finalize = prng.chance(0.5)
          yield* seeded(
            seed,
            Effect.scoped(Effect.gen(function*() {
              yield* Effect.forkScoped(sharder.run)
              const running = new Map<string, Effect.Success<ReturnType<typeof replica>>>()
              for (let turn = 0; turn < 10; turn++) {
                const who = `r${seed}-${turn}`
                if (running.size === 0 || prng.chance(0.5)) {
                  running.set(who, yield* replica(server, who, [parts(watchman, who, finalize)]))
                } else {
                  const [name, gone] = prng.pick([...running])
                  running.delete(name)
                  if (prng.chance(0.5)) yield* gone.stop
                  else yield* gone.cut(true)
                }
                if (prng.chance(0.3)) server.hold()
                else server.release()
                yield* pass(prng.int(100, 20_000))
              }
              server.release()
              if (running.size === 0) {
                const who = `r${seed}-last`
                running.set(who, yield* replica(server, who, [parts(watchman, who, finalize)]))
              }
              yield* pass("2 minutes")
              assert.isUndefined(watchman.problem, `seed ${seed}`)
              assert.deepStrictEqual(counts(server), new Set([2]), `seed ${seed}`)
              assert.isTrue(Object.keys(sharder.shares).every((who) => running.has(who)), `seed ${seed}`)
              for (const { stop } of running.values()) yield* stop
            }))
          )
        }
      }).pipe(silent)
  )

  it("refuses by name what it cannot share out", () => {
    const attempt = (
      leaderElection: Partial<LeaderElection.Options>,
      controllers: ReadonlyArray<Controller.Controller> = []
    ) =>
      String(Effect.runSync(Effect.exit(Effect.scoped(Layer.build(
        Manager.layer(controllers, {
          leaderElection: { namespace: "ops", name: "ring", identity: "pod", ...leaderElection, per: "ring" }
        }).pipe(
          Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(new Server(Lease, Region).transport)))
        )
      )))))
    assert.include(
      attempt({ name: "My Ring" }),
      `Ring: ops/My Ring: name: "My Ring": names a ControllerRing`
    )
    assert.include(attempt({ identity: "p".repeat(64) }), `: names a Lease and is the value of a label`)
    const regions = Controller.make("regions", { for: Region, reconcile: () => Effect.succeed(Action.done) })
    assert.include(attempt({}, [regions]), "Ring: ring: controller regions: Region is cluster-scoped")
    const elsewhere = Cluster.on(Widget, Cluster.make("east"))
    const east = Controller.make("east", { for: elsewhere, reconcile: () => Effect.succeed(Action.done) })
    assert.include(
      attempt({}, [east]),
      "Ring: ring: controller east: Widget.v1.test.io@east: the sharder assigns only objects of its own cluster"
    )
  })
})
