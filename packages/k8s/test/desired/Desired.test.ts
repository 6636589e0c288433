/** The helpers for desired state against a server with real server-side apply: whole operators in virtual time. */
import {
  Action,
  Adoption,
  Controller,
  CustomResource,
  KubeClient,
  type KubeError,
  Manager,
  Projection,
  Resource,
  ServerSideApply,
  Sync,
  Watch
} from "@effect-operator/core"
import { controllerOf, controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment, Pod, Service } from "@effect-operator/k8s/kinds"
import { ApiServer, TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"

const Site = CustomResource.make({
  group: "desired.example.com",
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({ replicas: Schema.Int, pages: Schema.Array(Schema.String) }),
  status: Schema.Struct({ ready: Schema.Boolean })
})
type Site = typeof Site.Type

const cluster = TestCluster.layer({ resources: [Site] })
const client = KubeClient.KubeClient
const key = { namespace: "default", name: "blog" }

const children = (site: Site) => [
  Sync.child(Deployment, {
    metadata: { name: site.metadata.name },
    spec: {
      replicas: site.spec.replicas,
      selector: { matchLabels: { app: site.metadata.name } },
      template: {
        metadata: { labels: { app: site.metadata.name } },
        spec: { containers: [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }] }] }
      }
    }
  }),
  Sync.child(Service, {
    metadata: { name: site.metadata.name },
    spec: { selector: { app: site.metadata.name }, ports: [{ port: 80 }] }
  }),
  ...site.spec.pages.map((page) => Sync.child(ConfigMap, { metadata: { name: `page-${page}` }, data: { page } }))
]

const sites = Controller.make("sites", {
  for: Site,
  owns: [Deployment, Service, ConfigMap],
  reconcile: (site) => Effect.as(Sync.children(site, [Deployment, Service, ConfigMap], children(site)), Action.done)
})

const operated = Manager.layer([sites]).pipe(Layer.provideMerge(cluster))

const create = (replicas: number, pages: ReadonlyArray<string>) =>
  client.use((client) => client.create(Site, { metadata: key, spec: { replicas, pages } }))

const all = <A extends typeof ConfigMap | typeof Deployment | typeof Service>(resource: A) =>
  client.use((client) => Stream.runCollect(client.list(resource as typeof ConfigMap, { namespace: "default" }))).pipe(
    Effect.map((objects) => objects.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt"))
  )

/** Requests that write one of the children, by verb and kind. */
const writes = Effect.map(
  ApiServer.ApiServer.use(({ requestCounts }) => requestCounts),
  (counts) =>
    Object.fromEntries(
      Object.entries(counts).filter(([request]) =>
        /^(?:create|patch|apply|update|delete) (?:deployments\.apps|services|configmaps)$/.test(request)
      )
    )
)

const total = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((sum, count) => sum + count, 0)

describe("Sync", () => {
  it.effect("creates what is wanted, with defaults of the server, and then sends nothing more", () =>
    Effect.gen(function*() {
      yield* create(2, ["a", "b"])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(total(yield* writes) >= 4, true)
      const [service] = yield* all(Service)
      const site = yield* client.use((client) => client.get(Site, key))
      assert.strictEqual(controllerOf(service!)?.uid, site.metadata.uid)
      const before = yield* writes
      // Everything is looked at again and again.
      for (let i = 0; i < 5; i++) {
        yield* client.use((client) =>
          client.patch(Site, key, KubeClient.Patch.merge({ metadata: { annotations: { n: String(i) } } }))
        )
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(yield* writes, before)
    }).pipe(Effect.provide(operated)))

  /** Caches that do without some of what is wanted, and a change that they do not show. */
  const blind = {
    fields: { part: Projection.without(ConfigMap, "head", ["data.page"]), change: { data: { page: "2" } } },
    annotations: {
      part: Projection.metadata(ConfigMap, { annotations: () => false }),
      change: { metadata: { annotations: { page: "2" } } }
    }
  }
  for (const [what, { change, part }] of Object.entries(blind)) {
    const Head = part as Resource.Any as typeof ConfigMap
    it.effect(`puts right what somebody changed though the cache does not show it (${what}), and is quiet else`, () =>
      Effect.gen(function*() {
        yield* create(1, [])
        yield* TestClock.adjust("1 minute")
        const wanted = yield* client.use((client) => client.get(ConfigMap, key))
        const before = total(yield* writes)
        const patch = KubeClient.Patch.merge(change)
        yield* client.use((client) => client.patch(ConfigMap, key, patch))
        yield* TestClock.adjust("1 minute")
        const { data, metadata } = yield* client.use((client) => client.get(ConfigMap, key))
        assert.deepStrictEqual([data, metadata.annotations], [wanted.data, wanted.metadata.annotations])
        assert.strictEqual(total(yield* writes), before + 2, "the change, and what puts it right")
        yield* TestClock.adjust("1 day")
        assert.strictEqual(total(yield* writes), before + 2)
      }).pipe(Effect.provide(
        Manager.layer([Controller.make("heads", {
          for: Site,
          owns: [Head],
          reconcile: (site) => {
            const metadata = { name: site.metadata.name, annotations: { page: "1" } }
            return Effect.as(
              Sync.children(site, [Head], [Sync.child(Head, { metadata, data: { page: "1" } })]),
              Action.done
            )
          }
        })]).pipe(Layer.provideMerge(cluster))
      )))
  }

  it.effect("two controllers of a kind that prune each other's children are slowed down, each", () => {
    const pruning = (name: string) =>
      Controller.make(name, {
        for: Site,
        owns: [ConfigMap],
        reconcile: (site) =>
          Effect.as(Sync.children(site, [ConfigMap], [Sync.child(ConfigMap, { metadata: { name } })]), Action.done)
      })
    return Effect.gen(function*() {
      yield* create(1, [])
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(total(yield* writes), 150)
      yield* TestClock.adjust("1 hour")
      assert.isAtMost(total(yield* writes), 600)
    }).pipe(
      Effect.provide(
        Manager.layer([pruning("one"), pruning("two")]).pipe(
          Layer.provideMerge(cluster),
          Layer.provideMerge(Logger.layer([]))
        )
      )
    )
  })

  it.effect("puts right exactly what somebody changed, with one request", () =>
    Effect.gen(function*() {
      yield* create(2, ["a"])
      yield* TestClock.adjust("10 seconds")
      const before = total(yield* writes)
      yield* client.use((client) =>
        client.patch(
          ConfigMap,
          { namespace: "default", name: "page-a" },
          KubeClient.Patch.merge({ data: { page: "hacked" } })
        )
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(
        (yield* client.use((client) => client.get(ConfigMap, { namespace: "default", name: "page-a" }))).data?.["page"],
        "a"
      )
      assert.strictEqual(total(yield* writes), before + 2, "the change, and the one that undoes it")
      // What nobody asked for is nobody's business.
      yield* client.use((client) =>
        client.patch(
          ConfigMap,
          { namespace: "default", name: "page-a" },
          KubeClient.Patch.merge({ data: { other: "x" } })
        )
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(total(yield* writes), before + 3)
      yield* client.use((client) => client.delete(Service, key))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* all(Service)).length, 1, "made anew")
    }).pipe(Effect.provide(operated)))

  it.effect("changes and removes what is not wanted any more, and nothing else", () =>
    Effect.gen(function*() {
      yield* client.use((client) =>
        client.create(ConfigMap, { metadata: { namespace: "default", name: "mine" }, data: {} })
      )
      yield* create(1, ["a", "b", "c"])
      yield* TestClock.adjust("10 seconds")
      yield* client.use((client) =>
        client.patch(Site, key, KubeClient.Patch.merge({ spec: { replicas: 3, pages: ["c", "d"] } }))
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual((yield* all(ConfigMap)).map(({ metadata }) => metadata.name).sort(), [
        "mine",
        "page-c",
        "page-d"
      ])
      const deployment = yield* client.use((client) => client.get(Deployment, key))
      assert.strictEqual(deployment.spec?.replicas, 3)
    }).pipe(Effect.provide(operated)))

  it.effect("does not take what another controls, and says whose it is", () =>
    Effect.gen(function*() {
      const other = yield* client.use((client) =>
        client.create(ConfigMap, { metadata: { namespace: "default", name: "owner" } })
      )
      yield* client.use((client) =>
        client.create(ConfigMap, {
          metadata: { namespace: "default", name: "page-a", ownerReferences: [controllerReference(other)] },
          data: { page: "theirs" }
        })
      )
      yield* create(1, ["a"])
      yield* TestClock.adjust("10 seconds")
      const page = yield* client.use((client) => client.get(ConfigMap, { namespace: "default", name: "page-a" }))
      assert.deepStrictEqual(page.data, { page: "theirs" })
    }).pipe(Effect.provide(operated)))

  const foreign = (adopt: boolean) => {
    const wish = (site: Site) => Sync.child(ConfigMap, { metadata: { name: site.metadata.name }, data: { a: "1" } })
    const taking = Controller.make("sites", {
      for: Site,
      owns: [ConfigMap],
      reconcile: (site) => {
        const child = wish(site)
        return Effect.as(Sync.children(site, [ConfigMap], [adopt ? Sync.adopted(child) : child]), Action.done)
      }
    })
    return Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      yield* it.create(ConfigMap, { metadata: key, data: { mine: "yes" } }, { fieldManager: "kubectl-create" })
      yield* create(1, [])
      yield* TestClock.adjust("10 seconds")
      return yield* it.get(ConfigMap, key)
    }).pipe(Effect.provide(Manager.layer([taking]).pipe(Layer.provideMerge(cluster))))
  }

  it.effect("leaves alone what somebody else has made and no controller has, unless it is to be adopted", () =>
    Effect.gen(function*() {
      const left = yield* foreign(false)
      assert.deepStrictEqual([left.data, left.metadata.ownerReferences], [{ mine: "yes" }, undefined])
      const taken = yield* foreign(true)
      assert.deepStrictEqual([taken.data, controllerOf(taken)?.kind], [{ a: "1", mine: "yes" }, "Site"])
    }))

  describe("where the watch is filtered by labels", () => {
    const labels = { "desired.example.com/managed": "yes" }
    const filtered = (adopt: boolean) =>
      Controller.make("sites", {
        for: Site,
        watches: [Watch.owned(ConfigMap, Site, { labels })],
        reconcile: (site) => {
          const child = Sync.child(ConfigMap, { metadata: { name: site.metadata.name, labels }, data: { a: "1" } })
          return Effect.as(Sync.children(site, [ConfigMap], [adopt ? Sync.adopted(child) : child]), Action.done)
        }
      })
    /** What becomes of a ConfigMap that the watch leaves out, and whether it outlives the Site. */
    const unseen = (adopt: boolean, made: Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>) =>
      Effect.gen(function*() {
        const kube = yield* client
        yield* made
        return yield* Effect.gen(function*() {
          yield* create(1, [])
          yield* TestClock.adjust("10 seconds")
          const { data, metadata } = yield* kube.get(ConfigMap, key)
          yield* kube.delete(Site, key)
          yield* TestClock.adjust("1 minute")
          const left = yield* Effect.exit(kube.get(ConfigMap, key))
          return { data, controller: controllerOf({ metadata } as never)?.kind, outlives: Exit.isSuccess(left) }
        }).pipe(Effect.provide(Manager.layer([filtered(adopt)])))
      }).pipe(Effect.provide(cluster))
    const somebodys = client.use((client) => client.create(ConfigMap, { metadata: key, data: { a: "theirs" } }))

    it.effect("leaves alone what somebody else has made, unless it is to be adopted", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* unseen(false, somebodys), {
          data: { a: "theirs" },
          controller: undefined,
          outlives: true
        })
        assert.deepStrictEqual(yield* unseen(true, somebodys), {
          data: { a: "1" },
          controller: "Site",
          outlives: false
        })
      }))

    it.effect("does not take what another controls, adopted or not", () =>
      Effect.gen(function*() {
        const theirs = Effect.gen(function*() {
          const kube = yield* client
          const owner = yield* kube.create(ConfigMap, { metadata: { namespace: "default", name: "owner" } })
          yield* kube.create(ConfigMap, {
            metadata: { ...key, ownerReferences: [controllerReference(owner)] },
            data: { a: "theirs" }
          })
        })
        for (const adopt of [false, true]) {
          assert.deepStrictEqual(yield* unseen(adopt, theirs), {
            data: { a: "theirs" },
            controller: "ConfigMap",
            outlives: true
          })
        }
      }))

    it.effect("does not take what somebody made in the place of a child that went", () =>
      Effect.gen(function*() {
        const kube = yield* client
        yield* create(1, [])
        yield* TestClock.adjust("10 seconds")
        yield* kube.delete(ConfigMap, key)
        yield* somebodys
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual((yield* kube.get(ConfigMap, key)).data, { a: "theirs" })
      }).pipe(Effect.provide(Manager.layer([filtered(false)]).pipe(Layer.provideMerge(cluster)))))
  })

  it.effect("makes a child once, and leaves it as it is, whatever is wanted since", () =>
    Effect.gen(function*() {
      let drawn = 0
      const drawing = Controller.make("drawing", {
        for: Site,
        owns: [ConfigMap],
        reconcile: (site) => {
          const wish = Sync.child(ConfigMap, {
            metadata: { name: site.metadata.name },
            data: { drawn: String(++drawn) }
          })
          return Effect.as(Sync.children(site, [ConfigMap], [Sync.once(wish)]), Action.done)
        }
      })
      const kube = yield* client
      const made = () =>
        Effect.map(kube.get(ConfigMap, key), (found) => [found.data?.["drawn"], controllerOf(found)?.name])
      const change = (body: object) => kube.patch(ConfigMap, key, KubeClient.Patch.merge(body))
      yield* create(1, [])
      yield* Effect.gen(function*() {
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* made(), ["1", "blog"])
        yield* change({ metadata: { ownerReferences: null } })
        yield* TestClock.adjust("10 seconds")
        assert.isAbove(drawn, 1)
        assert.deepStrictEqual(yield* made(), ["1", "blog"])
        yield* kube.patch(Site, key, KubeClient.Patch.merge({ spec: { replicas: 2 } }))
        yield* change({ data: { drawn: "by hand" } })
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* made(), ["by hand", "blog"])
        const before = drawn
        yield* kube.delete(ConfigMap, key)
        yield* TestClock.adjust("10 seconds")
        assert.isAbove(Number((yield* made())[0]), before)
      }).pipe(Effect.provide(Manager.layer([drawing])))
      const [last] = yield* made()
      // Another process draws another one, and does not use it.
      yield* TestClock.adjust("10 seconds").pipe(Effect.provide(Manager.layer([drawing])))
      assert.deepStrictEqual(yield* made(), [last, "blog"])
    }).pipe(Effect.provide(cluster)))

  it.effect("makes no child once that somebody else has, unless it is to be adopted: then it is owned, and left as it is", () =>
    Effect.gen(function*() {
      const kube = yield* client
      const taking = (adopt: boolean) =>
        Controller.make("taking", {
          for: Site,
          owns: [ConfigMap],
          reconcile: (site) => {
            const wish = Sync.once(Sync.child(ConfigMap, { metadata: { name: "blog" }, data: { a: "1" } }))
            return Effect.as(Sync.children(site, [ConfigMap], [adopt ? Sync.adopted(wish) : wish]), Action.done)
          }
        })
      yield* kube.create(ConfigMap, { metadata: key, data: { mine: "yes" } }, { fieldManager: "kubectl-create" })
      yield* create(1, [])
      for (const adopt of [false, true]) {
        yield* TestClock.adjust("10 seconds").pipe(Effect.provide(Manager.layer([taking(adopt)])))
        const { data, metadata } = yield* kube.get(ConfigMap, key)
        assert.deepStrictEqual([data, metadata.ownerReferences?.length ?? 0], [{ mine: "yes" }, adopt ? 1 : 0])
      }
    }).pipe(Effect.provide(cluster)))

  describe("children that do not decode any more", () => {
    const declare = <Spec extends CustomResource.AnySchema>(spec: Spec) =>
      CustomResource.make({ group: "desired.example.com", version: "v1", kind: "Page", spec })
    const Stored = declare(Schema.Struct({ lines: Schema.Int }))
    const Page = declare(Schema.Struct({ lines: Schema.Int.check(Schema.isLessThanOrEqualTo(10)) }))
    const pages = Controller.make("pages", {
      for: Site,
      owns: [Page],
      reconcile: (site) => {
        const wanted = site.spec.pages.map((name) => Sync.child(Page, { metadata: { name }, spec: { lines: 1 } }))
        return Effect.as(Sync.children(site, [Page], wanted), Action.done)
      },
      finalize: (site) => Effect.map(Sync.remove(site, [Page]), (gone) => gone ? Action.done : Action.awaitChange)
    })

    it.effect("are put right where they are wanted, and go where they are not", () =>
      Effect.gen(function*() {
        const kube = yield* client
        const lines = Effect.map(
          kube.listPage(Stored, { namespace: "default" }),
          ({ items }) => items.map(({ metadata: { name }, spec }) => `${name}: ${spec.lines}`)
        )
        const tooLong = (name: string) =>
          kube.patch(Stored, { namespace: "default", name }, KubeClient.Patch.merge({ spec: { lines: 11 } }))
        const want = (pages: ReadonlyArray<string>) =>
          kube.patch(Site, key, KubeClient.Patch.merge({ spec: { pages } }))
        yield* create(1, ["a", "b"])
        yield* TestClock.adjust("10 seconds")
        yield* tooLong("a")
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* lines, ["a: 1", "b: 1"])
        yield* Effect.all([tooLong("a"), tooLong("b"), want(["b"])])
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* lines, ["b: 1"])
        yield* Effect.all([tooLong("b"), kube.delete(Site, key)])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* lines, [])
        yield* Effect.flip(kube.get(Site, key))
      }).pipe(Effect.provide(
        Manager.layer([pages]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Site, Stored] })))
      )))
  })

  it.effect("of two calls that take each other's children away the log says what to do", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const apart = Controller.make("apart", {
        for: Site,
        owns: [ConfigMap],
        reconcile: Effect.fnUntraced(function*(site) {
          for (const name of ["one", "two"]) {
            yield* Sync.children(site, [ConfigMap], [Sync.child(ConfigMap, { metadata: { name } })])
          }
          return Action.done
        })
      })
      yield* create(1, [])
      yield* TestClock.adjust("10 seconds").pipe(
        Effect.provide(Manager.layer([apart]).pipe(Layer.provideMerge(logger)))
      )
      const [told] = lines.filter((line) => line.startsWith("hot loop"))
      assert.include(
        told,
        "it deletes ConfigMap default/one, which it has just written: pass all wanted children of a kind"
      )
    }).pipe(Effect.provide(cluster)))

  it.effect("makes nothing that its parent cannot own, and says what to do instead", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const elsewhere = Controller.make("elsewhere", {
        for: Site,
        owns: [ConfigMap],
        reconcile: (site) => {
          const children = [Sync.child(ConfigMap, { metadata: { namespace: "kube-public", name: "notes" } })]
          return Sync.children(site, [ConfigMap], children).pipe(
            Effect.catchDefect((defect) => Effect.sync(() => said.push((defect as Error).message))),
            Effect.as(Action.done)
          )
        }
      })
      yield* Effect.gen(function*() {
        yield* create(1, [])
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(said, [
          "Sync: ConfigMap kube-public/notes: Site default/blog cannot own it: it is not in its namespace, so the " +
          "garbage collector would delete it: apply it with an OwnerLabel, and clean up in finalize"
        ])
        const made = yield* Effect.exit(
          client.use((client) => client.get(ConfigMap, { namespace: "kube-public", name: "notes" }))
        )
        assert.isTrue(Exit.isFailure(made))
      }).pipe(Effect.provide(Manager.layer([elsewhere])))
    }).pipe(Effect.provide(cluster)))

  it.effect("asks the server for a child once before it is made, and then never", () =>
    Effect.gen(function*() {
      yield* create(1, ["a", "b"])
      yield* TestClock.adjust("10 seconds")
      for (let i = 0; i < 3; i++) {
        yield* client.use((client) =>
          client.patch(Site, key, KubeClient.Patch.merge({ metadata: { annotations: { n: String(i) } } }))
        )
        yield* TestClock.adjust("1 minute")
      }
      const counts = yield* ApiServer.ApiServer.use(({ requestCounts }) => requestCounts)
      assert.deepStrictEqual([counts["get configmaps"], counts["patch configmaps"]], [2, 2])
    }).pipe(Effect.provide(operated)))

  it.effect("takes back a child that has lost its owner", () =>
    Effect.gen(function*() {
      yield* create(1, ["a"])
      yield* TestClock.adjust("10 seconds")
      const page = { namespace: "default", name: "page-a" }
      yield* client.use((client) =>
        client.patch(ConfigMap, page, KubeClient.Patch.merge({ metadata: { ownerReferences: null } }))
      )
      yield* TestClock.adjust("10 seconds")
      const found = yield* client.use((client) => client.get(ConfigMap, page))
      assert.strictEqual(controllerOf(found)?.kind, "Site")
    }).pipe(Effect.provide(operated)))

  it.effect("makes stages in order, and takes kinds away in reverse", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const staged = Controller.make("staged", {
        for: Site,
        owns: [ConfigMap, Service],
        reconcile: (site) =>
          Effect.gen(function*() {
            const outcome = yield* Sync.stages(site, [ConfigMap, Service], [
              [Sync.child(ConfigMap, { metadata: { name: "settings" } }, ({ data }) => data?.["checked"] === "yes")],
              [Sync.child(Service, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } })]
            ])
            journal.push(outcome.ready ? "ready" : `waits for ${outcome.waitingFor.join()}`)
            return Action.done
          }),
        finalize: (site) =>
          Effect.map(Sync.remove(site, [ConfigMap, Service]), (gone) =>
            gone ? Action.done : Action.requeueAfter("1 second"))
      })
      yield* Effect.gen(function*() {
        yield* create(1, [])
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* all(Service)).length, 1 - 1)
        assert.strictEqual(journal.at(-1), "waits for ConfigMap default/settings")
        yield* client.use((client) =>
          client.patch(
            ConfigMap,
            { namespace: "default", name: "settings" },
            KubeClient.Patch.merge({ data: { checked: "yes" } })
          )
        )
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(journal.at(-1), "ready")
        assert.strictEqual((yield* all(Service)).length, 1)
        yield* client.use((client) =>
          client.delete(Site, key)
        )
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual([yield* all(Service), yield* all(ConfigMap)], [[], []])
      }).pipe(Effect.provide(Manager.layer([staged])))
    }).pipe(Effect.provide(cluster)))

  it.effect("a child that is being deleted is not ready, and the next stage waits until it is made again", () =>
    Effect.gen(function*() {
      const kube = yield* client
      const staged = Controller.make("staged", {
        for: Site,
        owns: [ConfigMap, Service],
        reconcile: (site) =>
          Effect.as(
            Sync.stages(site, [ConfigMap, Service], [
              [Sync.once(Sync.child(ConfigMap, { metadata: { name: "settings", finalizers: ["test.io/slow"] } }))],
              site.spec.replicas < 2
                ? []
                : [Sync.child(Service, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } })]
            ]),
            Action.done
          )
      })
      yield* Effect.gen(function*() {
        yield* create(1, [])
        yield* TestClock.adjust("10 seconds")
        const settings = { namespace: "default", name: "settings" }
        yield* kube.delete(ConfigMap, settings)
        yield* kube.patch(Site, key, KubeClient.Patch.merge({ spec: { replicas: 2 } }))
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* all(Service), [])
        yield* kube.patch(ConfigMap, settings, KubeClient.Patch.merge({ metadata: { finalizers: null } }))
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual((yield* all(ConfigMap)).map(({ metadata }) => metadata.deletionTimestamp), [undefined])
        assert.lengthOf(yield* all(Service), 1)
      }).pipe(Effect.provide(Manager.layer([staged])))
    }).pipe(Effect.provide(cluster)))

  it.effect("takes away only what its parent controls, each once, and waits for what is slow to go", () =>
    Effect.gen(function*() {
      const kube = yield* client
      const removed: Array<boolean> = []
      const owning = Controller.make("owning", {
        for: Site,
        owns: [ConfigMap, Service],
        reconcile: (site) =>
          Effect.as(
            Sync.children(site, [ConfigMap, Service], [
              Sync.child(ConfigMap, { metadata: { name: "settings" } }),
              Sync.child(Service, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } })
            ]),
            Action.done
          ),
        finalize: (site) =>
          Effect.map(Sync.remove(site, [ConfigMap, Service]), (gone) => {
            removed.push(gone)
            return gone ? Action.done : Action.awaitChange
          })
      })
      yield* Effect.gen(function*() {
        const site = yield* create(1, [])
        yield* TestClock.adjust("10 seconds")
        const { controller: _, ...reference } = controllerReference(site)
        const friend = { namespace: "default", name: "friend" }
        const other = yield* kube.create(ConfigMap, { metadata: { namespace: "default", name: "other" } })
        const { controller: __, ...toOther } = controllerReference(other)
        yield* kube.create(ConfigMap, { metadata: { ...friend, ownerReferences: [reference, toOther] } })
        const slow = (finalizers: ReadonlyArray<string>) =>
          kube.patch(Service, { ...key, name: "web" }, KubeClient.Patch.merge({ metadata: { finalizers } }))
        yield* slow(["example.com/slow"])
        yield* TestClock.adjust("10 seconds")
        yield* kube.delete(Site, key)
        yield* TestClock.adjust("10 seconds")
        // Seen again while it waits.
        yield* kube.patch(Site, key, KubeClient.Patch.merge({ metadata: { annotations: { again: "yes" } } }))
        yield* TestClock.adjust("10 seconds")
        assert.isAbove(removed.length, 1)
        assert.isFalse(removed.includes(true))
        assert.strictEqual((yield* writes)["delete services"], 1)
        assert.deepStrictEqual((yield* all(ConfigMap)).map(({ metadata }) => metadata.name).sort(), [
          "friend",
          "other",
          "settings"
        ])
        yield* slow([])
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(removed.at(-1), true)
        yield* Effect.flip(kube.get(Site, key))
        assert.deepStrictEqual((yield* all(ConfigMap)).map(({ metadata }) => metadata.name).sort(), ["friend", "other"])
      }).pipe(Effect.provide(Manager.layer([owning])))
    }).pipe(Effect.provide(cluster)))
})

describe("ServerSideApply.apply", () => {
  it.effect("sends again what is wanted differently, and what was made anew under the same name", () =>
    Effect.gen(function*() {
      let wanted = "1"
      const config = Controller.make("config", {
        for: Site,
        owns: [ConfigMap],
        reconcile: () =>
          Effect.as(ServerSideApply.apply(ConfigMap, { metadata: key, data: { v: wanted } }), Action.done),
        sources: []
      })
      yield* Effect.gen(function*() {
        const poke = (n: number) =>
          client.use((client) =>
            client.patch(Site, key, KubeClient.Patch.merge({ metadata: { annotations: { n: String(n) } } }))
          )
        yield* create(1, [])
        yield* TestClock.adjust("1 second")
        const first = total(yield* writes)
        yield* poke(1)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(total(yield* writes), first)
        wanted = "2"
        yield* poke(2)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(total(yield* writes), first + 1)
        yield* client.use((client) => client.delete(ConfigMap, key))
        yield* poke(3)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual((yield* client.use((client) => client.get(ConfigMap, key))).data, { v: "2" })
      }).pipe(Effect.provide(Manager.layer([config])))
    }).pipe(Effect.provide(cluster)))
})

describe("ServerSideApply.apply of a kind whose Schema transforms", () => {
  const Appointment = CustomResource.make({
    group: "desired.example.com",
    version: "v1",
    kind: "Appointment",
    spec: Schema.Struct({ at: Schema.Date, size: Schema.NumberFromString, room: Schema.String })
  })
  const at = new Date("2026-01-02T03:04:05Z")
  const calendars = Controller.make("calendars", {
    for: ConfigMap,
    watches: [Watch.make(Appointment, { map: ({ metadata }) => [metadata] })],
    reconcile: ({ metadata: { name, namespace } }) =>
      name === key.name
        ? Effect.as(
          ServerSideApply.apply(Appointment, { metadata: { name, namespace }, spec: { at, size: 3 } }),
          Action.done
        )
        : Effect.succeed(Action.done)
  })

  it.effect("stores what the Schema encodes, and puts right what somebody changed", () =>
    Effect.gen(function*() {
      const kube = yield* client
      yield* kube.create(Appointment, { metadata: key, spec: { at: new Date(0), size: 1, room: "theirs" } })
      yield* kube.create(ConfigMap, { metadata: key })
      yield* TestClock.adjust("10 seconds")
      const stored = Effect.map(kube.get(Resource.unstructured(Appointment), key), (object) =>
        (object as { readonly spec?: unknown }).spec)
      const wanted = { at: "2026-01-02T03:04:05.000Z", size: "3", room: "theirs" }
      assert.deepStrictEqual(yield* stored, wanted)
      yield* kube.patch(Appointment, key, KubeClient.Patch.merge({ spec: { at: "2027-01-01T00:00:00.000Z" } }))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* stored, wanted)
    }).pipe(Effect.provide(
      Manager.layer([calendars]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Appointment] })))
    )))
})

describe("Adoption.claim", () => {
  const pod = (name: string, labels: Readonly<Record<string, string>>) => ({
    metadata: { namespace: "default", name, labels },
    spec: { containers: [{ name: "c", image: "i" }] }
  })

  it.effect("adopts what matches and is nobody's, releases what does not match any more, leaves others alone", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<string>> = []
      const adopting = Controller.make("adopting", {
        for: Site,
        watches: [],
        owns: [Pod],
        reconcile: (site) =>
          Effect.gen(function*() {
            const pods = yield* Adoption.claim({ resource: Site, object: site }, Pod, { app: "web" })
            seen.push(pods.map(({ metadata }) => metadata.name).sort())
            return Action.requeueAfter("1 second")
          })
      })
      yield* Effect.gen(function*() {
        const kube = yield* client
        const other = yield* kube.create(ConfigMap, { metadata: { namespace: "default", name: "other" } })
        yield* kube.create(Pod, pod("free", { app: "web" }))
        yield* kube.create(Pod, pod("stranger", { app: "db" }))
        const theirs = pod("theirs", { app: "web" })
        yield* kube.create(Pod, {
          ...theirs,
          metadata: { ...theirs.metadata, ownerReferences: [controllerReference(other)] }
        })
        const site = yield* create(1, [])
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(seen.at(-1), ["free"])
        assert.strictEqual(
          controllerOf(yield* kube.get(Pod, { namespace: "default", name: "free" }))?.uid,
          site.metadata.uid
        )
        assert.isUndefined(controllerOf(yield* kube.get(Pod, { namespace: "default", name: "stranger" })))
        yield* kube.patch(
          Pod,
          { namespace: "default", name: "free" },
          KubeClient.Patch.merge({ metadata: { labels: { app: "old" } } })
        )
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(seen.at(-1), [])
        assert.isUndefined(controllerOf(yield* kube.get(Pod, { namespace: "default", name: "free" })))
        assert.strictEqual(
          controllerOf(yield* kube.get(Pod, { namespace: "default", name: "theirs" }))?.uid,
          other.metadata.uid
        )
      }).pipe(Effect.provide(Manager.layer([adopting])))
    }).pipe(Effect.provide(cluster)))
})
