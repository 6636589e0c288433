import {
  Action,
  Adoption,
  Cache,
  Cluster,
  Controller,
  KubeClient,
  KubeObject,
  Manager,
  Sync,
  Watch
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Logger, Scope, Stream } from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { Journal } from "./support/Operating.ts"
import { isWatch, Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const east = Cluster.make("east")
const EastPart = Cluster.on(Part, east)
const EastWidget = Cluster.on(Widget, east)

const clientOf = (server: Server) => Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport))
const part = (name: string) => ({ metadata: { name, namespace: "default" } })

const twoClusters = (home: Server, away: Server) =>
  Cluster.layer([[east, clientOf(away)]]).pipe(Layer.provide(clientOf(home)))

describe("Cluster", () => {
  it.effect("each kind goes to its cluster, for every verb", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Part), new Server(Part)]
      const context = yield* Layer.build(twoClusters(home, away))
      const client = Context.get(context, KubeClient.KubeClient)
      yield* client.create(Part, part("here"))
      yield* client.create(EastPart, part("there"))
      yield* client.patch(EastPart, part("there").metadata, KubeClient.Patch.merge({ spec: { role: "x" } }))
      assert.deepStrictEqual(home.objects(Part).map(({ metadata }) => metadata.name), ["here"])
      assert.deepStrictEqual(away.objects(Part).map(({ spec }) => spec?.role), ["x"])
      const { items } = yield* client.listPage(EastPart, {})
      assert.deepStrictEqual(items.map(({ metadata }) => metadata.name), ["there"])
      const missing = yield* Effect.flip(client.get(EastPart, part("here").metadata))
      assert.strictEqual(missing.reason._tag, "NotFound")
      yield* client.delete(EastPart, part("there").metadata)
      assert.deepStrictEqual([home.objects(Part).length, away.objects(Part).length], [1, 0])
      assert.deepStrictEqual(Context.get(context, Cluster.Clusters).names(), ["east"])
    }))

  it.effect("requests for a subresource, and watches, go to the cluster of their kind", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Part), new Server(Part)]
      const client = Context.get(yield* Layer.build(twoClusters(home, away)), KubeClient.KubeClient)
      const { metadata } = part("a")
      yield* Effect.exit(client.connect(EastPart, metadata, { subresource: "eviction", method: "POST", body: {} }))
      yield* Effect.forkChild(Stream.runDrain(client.lines(EastPart, metadata, { subresource: "log" })))
      yield* settle
      assert.deepStrictEqual(home.requests, [])
      assert.deepStrictEqual(away.requests.map(({ path }) => path.split("/").at(-1)), ["eviction", "log"])
      const west = Cluster.on(Part, Cluster.make("west"))
      const failure = yield* Effect.flip(client.connect(west, metadata, { subresource: "log" }))
      assert.include(failure.message, "there is no client for cluster west")
      assert.include(
        (yield* Effect.flip(Stream.runDrain(client.lines(west, metadata, { subresource: "log" })))).message,
        "there is no client for cluster west"
      )
      assert.deepStrictEqual(home.requests, [])
    }))

  it.effect("an observer is notified of writes under the kind's own id, once", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Part), new Server(Part)]
      const client = Context.get(yield* Layer.build(twoClusters(home, away)), KubeClient.KubeClient)
      const told: Array<string> = []
      const observed: Array<string> = []
      yield* client.observe(({ resource }) => void observed.push(resource.id))
      yield* client.create(EastPart, part("a")).pipe(
        Effect.provideService(KubeClient.Writing, {
          permit: () => undefined,
          wrote: ({ resource }) => void told.push(resource.id)
        })
      )
      yield* client.create(Part, part("a"))
      assert.deepStrictEqual(told, ["Part.v1@east"])
      assert.deepStrictEqual(observed, ["Part.v1@east", "Part.v1"])
    }))

  it.effect("a request for a kind of an unknown cluster is never answered by another", () =>
    Effect.gen(function*() {
      const home = new Server(Part)
      const plain = KubeClient.make(home.transport)
      const { client } = Cluster.router(plain)
      for (const strict of [plain, client]) {
        for (
          const call of [
            strict.create(EastPart, part("a")),
            strict.listPage(EastPart),
            strict.get(EastPart, part("a").metadata)
          ] as ReadonlyArray<Effect.Effect<unknown, Error>>
        ) assert.include((yield* Effect.flip(call)).message, "cluster east")
      }
      assert.strictEqual(home.requests.length, 0)
    }))

  it.effect("a controller watches another cluster, reads its own writes there, and is woken by it", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Widget, Part), new Server(Part)]
      home.put(Widget, "a", { spec: { size: 2 } })
      const journal = new Journal()
      const controller = Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(EastPart, { map: ({ metadata }) => [{ namespace: "default", name: metadata.name }] })],
        reconcile: ({ metadata }) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            if ((yield* Cache.list(EastPart)).length === 0) yield* client.create(EastPart, part(metadata.name))
            yield* journal.note(`${metadata.name} sees ${(yield* Cache.list(EastPart)).length}`)
            return Action.done
          })
      })
      const manager = yield* Layer.build(Manager.layer([controller]).pipe(Layer.provide(twoClusters(home, away))))
      yield* settle
      assert.strictEqual(journal.words[0], "a sees 1")
      assert.deepStrictEqual([home.objects(Part).length, away.objects(Part).length], [0, 1])
      const before = journal.words.length
      away.patch(Part, "a", { spec: { role: "changed" } })
      yield* settle
      assert.strictEqual(journal.words.length, before + 1)
      const { watches } = yield* Context.get(manager, Manager.Manager).report
      assert.deepStrictEqual(watches.map(({ cluster, resource }) => [resource, cluster]), [
        ["Widget.v1.test.io", undefined],
        ["Part.v1@east", "east"]
      ])
    }))

  it.effect("the same kind in two clusters is two kinds, and a controller of one ignores the other", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Widget), new Server(Widget)]
      home.put(Widget, "h", { spec: { size: 1 } })
      away.put(Widget, "e", { spec: { size: 1 } })
      const journal = new Journal()
      const note = (where: string) => ({ metadata }: Widget) =>
        Effect.as(journal.note(`${where} ${metadata.name}`), Action.done)
      yield* Layer.build(
        Manager.layer([
          Controller.make("home", { for: Widget, reconcile: note("home") }),
          Controller.make("east", { for: EastWidget, reconcile: note("east") })
        ]).pipe(Layer.provide(twoClusters(home, away)))
      )
      yield* settle
      assert.sameMembers([...journal.words], ["home h", "east e"])
    }))

  it.effect("a cluster that is added later is watched from then on, and one that is removed degrades only its own watches", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(Widget), new Server(Part)]
      home.put(Widget, "a", { spec: { size: 1 } })
      away.put(Part, "p", {})
      const journal = new Journal()
      const context = yield* Layer.build(Cluster.layer().pipe(Layer.provide(clientOf(home))))
      const clusters = Context.get(context, Cluster.Clusters)
      const controllers = [
        Controller.make("widgets", {
          for: Widget,
          reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
        }),
        Controller.make("parts", {
          for: EastPart,
          reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
        })
      ] as const
      const built = yield* Layer.build(
        Manager.layer(controllers).pipe(Layer.provide(Layer.succeedContext(context)))
      )
      const manager = Context.get(built, Manager.Manager)
      yield* pass("5 seconds")
      assert.deepStrictEqual(journal.words, ["a"])
      const scope = yield* Scope.make()
      yield* Scope.provide(clusters.add(east, KubeClient.make(away.transport)), scope)
      yield* pass("1 minute")
      assert.deepStrictEqual(journal.words, ["a", "p"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(away.watches, [], "what is read from it ends with it")
      yield* pass("1 minute")
      const { watches } = yield* manager.report
      assert.deepStrictEqual(watches.map(({ resource, status }) => [resource, status._tag]), [
        ["Widget.v1.test.io", "Live"],
        ["Part.v1@east", "Degraded"]
      ])
    }))

  it.effect("a cluster added under an earlier name may be another one: it is listed again", () =>
    Effect.gen(function*() {
      const [home, first, second] = [new Server(Widget), new Server(Part), new Server(Part)]
      first.put(Part, "old")
      second.put(Part, "young")
      second.advance(1000)
      const context = yield* Layer.build(Cluster.layer().pipe(Layer.provide(clientOf(home))))
      const clusters = Context.get(context, Cluster.Clusters)
      const journal = new Journal()
      const controller = Controller.make("parts", {
        for: EastPart,
        reconcile: () =>
          Effect.gen(function*() {
            yield* journal.note((yield* Cache.list(EastPart)).map(({ metadata }) => metadata.name).join())
            return Action.done
          })
      })
      const scope = yield* Scope.make()
      yield* Scope.provide(clusters.add(east, KubeClient.make(first.transport)), scope)
      yield* Layer.build(Manager.layer([controller]).pipe(Layer.provide(Layer.succeedContext(context))))
      yield* pass("1 second")
      yield* Scope.close(scope, Exit.void)
      first.put(Part, "too late")
      yield* pass("1 second")
      yield* clusters.add(east, KubeClient.make(second.transport))
      yield* pass("1 minute")
      second.put(Part, "later")
      yield* pass("1 second")
      assert.deepStrictEqual(journal.words, ["old", "young", "young,later"])
      // A watch that ends by itself goes on from where it was, as ever.
      const lists = second.requests.filter((request) => request.method === "GET" && !isWatch(request)).length
      second.watches[0]!.end()
      second.put(Part, "at last")
      yield* pass("1 minute")
      assert.strictEqual(journal.words.at(-1), "young,later,at last")
      assert.strictEqual(
        second.requests.filter((request) => request.method === "GET" && !isWatch(request)).length,
        lists
      )
    }).pipe(Effect.provide(Logger.layer([]))))

  const refusals: Record<string, (widget: Widget) => Effect.Effect<unknown, unknown, any>> = {
    "a child of Sync": (widget) =>
      Sync.children(widget, [EastPart], [Sync.child(EastPart, { metadata: { name: "p" } })]),
    "one made once": (widget) =>
      Sync.children(widget, [EastPart], [
        Sync.once(Sync.adopted(Sync.child(EastPart, { metadata: { name: "orphan" } })))
      ]),
    "an orphan": (widget) => Adoption.claim({ resource: Widget, object: widget }, EastPart, { app: "web" }),
    "what is made by hand": (widget) =>
      KubeClient.KubeClient.use((client) =>
        client.create(EastPart, {
          metadata: { name: "p", namespace: "default", ownerReferences: [KubeObject.controllerReference(widget)] }
        })
      )
  }
  for (const [what, write] of Object.entries(refusals)) {
    it.effect(`nothing is owned across clusters, where the garbage collector would delete it: ${what}`, () =>
      Effect.gen(function*() {
        const [home, away] = [new Server(Widget, Part), new Server(Part)]
        home.put(Widget, "a", { spec: { size: 2 } })
        away.put(Part, "orphan", {}, { labels: { app: "web" } })
        const told: Array<string> = []
        const logger = Logger.make(({ cause }) => void told.push(Cause.pretty(cause)))
        const controller = Controller.make("widgets", {
          for: Widget,
          watches: [Watch.cached(EastPart)],
          reconcile: (widget) => Effect.as(write(widget), Action.done)
        }) as Controller.Controller
        yield* Layer.build(Manager.layer([controller]).pipe(Layer.provide(twoClusters(home, away)))).pipe(
          Effect.provide(Logger.layer([logger]))
        )
        yield* settle
        assert.deepStrictEqual(away.requests.filter(({ method }) => method !== "GET"), [])
        assert.include(told.join("\n"), "Part.v1@east: Widget default/a cannot own it: it is not in its cluster")
      }))
  }

  it.effect("an object owns objects in the same cluster", () =>
    Effect.gen(function*() {
      const [home, away] = [new Server(), new Server(Widget, Part)]
      const owner = away.put(Widget, "a", { spec: { size: 2 } })
      away.put(Part, "orphan", {}, { labels: { app: "web" } })
      const controller = Controller.make("widgets", {
        for: EastWidget,
        owns: [EastPart],
        reconcile: (widget) =>
          Effect.gen(function*() {
            yield* Adoption.claim({ resource: EastWidget, object: widget }, EastPart, { app: "web" })
            const ownerReferences = [KubeObject.controllerReference(widget)]
            const made = { name: "p", namespace: "default", labels: { app: "web" }, ownerReferences }
            if ((yield* Cache.get(EastPart, made)) === undefined) {
              yield* KubeClient.KubeClient.use((client) => client.create(EastPart, { metadata: made }))
            }
            return Action.done
          })
      })
      yield* Layer.build(Manager.layer([controller]).pipe(Layer.provide(twoClusters(home, away))))
      yield* settle
      assert.deepStrictEqual(
        away.objects(Part).map(({ metadata: { name, ownerReferences } }) => [name, ownerReferences?.[0]?.uid]),
        [["orphan", owner.metadata.uid], ["p", owner.metadata.uid]]
      )
    }))

  it("refuses an invalid name, and ownership across clusters", () => {
    assert.throws(() => Cluster.make("East!"), /must consist of lower-case/)
    const owning = () =>
      Controller.make("w", { for: Widget, owns: [EastPart], reconcile: () => Effect.succeed(Action.done) })
    assert.throws(owning, /owner references do not cross clusters/)
  })

  it("reading an undeclared kind of another cluster does not compile", () => {
    const reads = Controller.make("w", {
      for: Widget,
      watches: [Watch.cached(Part)],
      reconcile: () => Effect.as(Cache.list(EastPart), Action.done)
    })
    const server = new Server(Widget)
    // @ts-expect-error: Part.v1 is declared, Part.v1@east is not
    // @effect-diagnostics-next-line missingEffectContext:off
    const program: Effect.Effect<never, unknown> = Manager.launch(
      Manager.layer([reads]).pipe(Layer.provide(clientOf(server)))
    )
    assert.isDefined(program)
  })
})
