import { Cache, type Informers, OwnerLabel, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { informing } from "./support/Informing.ts"
import { Part, Secret } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { Server } from "./support/Server.ts"
import { settle } from "./support/Time.ts"

/** A reader over informers of the given selections, all filled. */
const reading = Effect.fnUntraced(function*(server: Server, ...selections: ReadonlyArray<Informers.Options>) {
  const { informers } = yield* informing(server)
  const used: Array<Informers.Informer> = []
  for (const selection of selections) used.push(yield* informers.get(selection))
  yield* settle
  return { reader: Cache.makeReader(used), used }
})

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  objects.map(({ metadata }) => metadata.name).sort()

const owner = { apiVersion: "test.io/v1", kind: "Widget", name: "w", uid: "w1", controller: true }

const populated = () => {
  const server = new Server(Part, Secret)
  server.put(Part, "a", { spec: { role: "front" } }, { labels: { app: "web", tier: "x" } })
  server.put(Part, "b", {}, { labels: { app: "web", tier: "y" }, ownerReferences: [owner] })
  server.put(Part, "c", {}, { namespace: "other", labels: { app: "db" }, ownerReferences: [owner] })
  server.put(Part, "d", {}, { namespace: "other" })
  return server
}

describe("Cache", () => {
  it.effect("gets by key, or by an object with that key", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader } = yield* reading(server, { resource: Part })
      assert.deepStrictEqual(reader.get(Part, { name: "a", namespace: "default" }), server.get(Part, "a"))
      assert.deepStrictEqual(reader.get(Part, server.get(Part, "a")!), server.get(Part, "a"))
      assert.isUndefined(reader.get(Part, { name: "a", namespace: "other" }))
      assert.isUndefined(reader.get(Part, { name: "z", namespace: "default" }))
    }))

  const questions: ReadonlyArray<readonly [Cache.ListOptions, ReadonlyArray<string>]> = [
    [{}, ["a", "b", "c", "d"]],
    [{ namespace: "default" }, ["a", "b"]],
    [{ namespace: "nowhere" }, []],
    [{ labels: "app=web" }, ["a", "b"]],
    [{ labels: { app: "web", tier: "y" } }, ["b"]],
    [{ labels: [{ operator: "in", key: "app", values: ["db", "none"] }] }, ["c"]],
    [{ labels: "!app" }, ["d"]],
    [{ labels: "app!=web" }, ["c", "d"]],
    [{ labels: "tier" }, ["a", "b"]],
    [{ owner: "w1" }, ["b", "c"]],
    [{ owner: "w1", namespace: "other" }, ["c"]],
    [{ owner: "w1", labels: "app=web" }, ["b"]],
    [{ owner: "nobody" }, []],
    [{ filter: ({ metadata }) => metadata.name > "b" }, ["c", "d"]],
    [{ namespace: "other", filter: ({ metadata }) => metadata.labels === undefined }, ["d"]]
  ]
  for (const indexed of [[], ["app", "tier"]]) {
    it.effect(`lists what matches all conditions, ${indexed.length === 0 ? "without" : "with"} label indexes`, () =>
      Effect.gen(function*() {
        const { reader } = yield* reading(populated(), { resource: Part, indexedLabels: indexed })
        for (const [question, answer] of questions) {
          assert.deepStrictEqual(names(reader.list(Part, question)), answer, JSON.stringify(question))
        }
      }))
  }

  it.effect("an index returns what a scan returns, whatever the query (5,000 random queries, seed 1)", () =>
    Effect.gen(function*() {
      const random = new Prng(1)
      const server = new Server(Part)
      for (let i = 0; i < 60; i++) {
        server.put(Part, `p${i}`, {}, {
          namespace: random.pick(["default", "other"]),
          labels: Object.fromEntries(
            ["app", "tier"].filter(() => random.chance(0.7)).map((key) => [key, random.pick(["x", "y", ""])])
          ),
          ownerReferences: ["w1", "w2"].filter(() => random.chance(0.4)).map((uid) => ({ ...owner, uid }))
        })
      }
      const { reader: scans } = yield* reading(server, { resource: Part })
      const { reader: indexes } = yield* reading(server, { resource: Part, indexedLabels: ["app", "tier"] })
      for (let i = 0; i < 5000; i++) {
        const question: Cache.ListOptions = {
          ...(random.chance(0.5) ? { namespace: random.pick(["default", "other", "none"]) } : {}),
          ...(random.chance(0.4) ? { owner: random.pick(["w1", "w2", "w3"]) } : {}),
          ...(random.chance(0.7)
            ? { labels: random.pick(["app=x", "app=,tier=y", "tier!=x", "app,tier in (x,y)", "!app", "tier=z", ""]) }
            : {})
        }
        const wanted = server.objects(Part).filter(({ metadata }) =>
          (question.namespace === undefined || metadata.namespace === question.namespace) &&
          (question.owner === undefined || metadata.ownerReferences?.some(({ uid }) => uid === question.owner) === true)
        )
        const scanned = names(scans.list(Part, question))
        assert.deepStrictEqual(names(indexes.list(Part, question)), scanned, JSON.stringify(question))
        if (question.labels === undefined) assert.deepStrictEqual(scanned, names(wanted), JSON.stringify(question))
      }
    }))

  it.effect("an owner may be given as the object", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader } = yield* reading(server, { resource: Part })
      const widget = {
        apiVersion: "test.io/v1",
        kind: "Widget",
        metadata: { ...server.get(Part, "a")!.metadata, uid: "w1" }
      }
      assert.deepStrictEqual(names(reader.list(Part, { owner: widget })), ["b", "c"])
    }))

  it.effect("several selections of one kind are read as one, each object once", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader } = yield* reading(
        server,
        { resource: Part, labels: "app=web" },
        { resource: Part, labels: "tier=y" },
        { resource: Part, namespace: "other" }
      )
      assert.deepStrictEqual(names(reader.list(Part, {})), ["a", "b", "c", "d"])
      assert.deepStrictEqual(names(reader.list(Part, { namespace: "default" })), ["a", "b"])
      assert.strictEqual(reader.get(Part, { name: "d", namespace: "other" })?.metadata.name, "d")
    }))

  it.effect("of an object that is in several selections, the newest state is read", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader, used } = yield* reading(
        server,
        { resource: Part, labels: "app=web" },
        { resource: Part, labels: "tier" }
      )
      server.hold()
      const changed = server.patch(Part, "a", { spec: { role: "back" } })
      for (const order of [[0, 1], [1, 0]]) {
        const both = Cache.makeReader(order.map((i) => used[i]!))
        used[1]!.store.apply([{ type: "MODIFIED", object: changed }])
        assert.deepStrictEqual(both.get(Part, { name: "a", namespace: "default" }), changed)
        assert.deepInclude(both.list(Part, { namespace: "default" }), changed)
      }
      assert.isDefined(reader)
    }))

  it.effect("reading an undeclared kind is a defect that says what to do", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader } = yield* reading(server, { resource: Part, namespace: "default" })
      assert.throws(
        () => reader.list(Secret, {}),
        /Secret\.v1 is not cached: add it to the controller's owns or watches/
      )
      const missing = /Part\.v1 is cached in default, not in namespace other: add it to the watch's namespaces/
      assert.throws(() => reader.list(Part, { namespace: "other" }), missing)
      assert.throws(() => reader.get(Part, { name: "c", namespace: "other" }), missing)
      assert.deepStrictEqual(names(reader.list(Part, {})), ["a", "b"])
      assert.throws(() => reader.list(Part, { labels: "a b" }), /Cache: labels: "a b": /)
    }))

  it.effect("the Effects read through the reader in context", () =>
    Effect.gen(function*() {
      const server = populated()
      const { reader } = yield* reading(server, { resource: Part })
      // The phantom requirement is what `Controller.make` discharges; here the reader itself is given.
      const run = <A>(effect: Effect.Effect<A, never, Cache.Cached<"Part.v1">>) =>
        (effect as Effect.Effect<A>).pipe(Effect.provideService(Cache.CacheReader, reader))
      assert.deepStrictEqual(yield* run(Cache.get(Part, { name: "a", namespace: "default" })), server.get(Part, "a"))
      const front = Cache.list(Part, { filter: ({ spec }) => spec?.role === "front" })
      assert.deepStrictEqual(names(yield* run(front)), ["a"])
    }))

  it.effect("own writes are seen at once by get and list, with selectors and indexes, and remain visible", () =>
    Effect.gen(function*() {
      const label = OwnerLabel.make("test.io/owner")
      const { indexedLabels, labels } = Watch.labelled(Part, label)
      const server = new Server(Part)
      const { reader } = yield* reading(server, { resource: Part, labels, indexedLabels })
      const client = server.own
      server.hold()
      const widget = server.put(Part, "w")
      const meta = OwnerLabel.metadata(label, widget)
      const mine = () => names(reader.list(Part, { labels: OwnerLabel.selector(label, widget) }))
      yield* client.create(Part, { metadata: { name: "p", namespace: "default", ...meta } })
      assert.deepStrictEqual(mine(), ["p"])
      yield* client.delete(Part, { name: "p", namespace: "default" })
      assert.deepStrictEqual(mine(), [])
      yield* client.create(Part, { metadata: { name: "p", namespace: "default", ...meta }, spec: { role: "again" } })
      for (let rv = 10; rv <= server.rv; rv++) {
        server.release(rv)
        yield* settle
        assert.deepStrictEqual(mine(), ["p"])
        assert.strictEqual((reader.get(Part, { name: "p", namespace: "default" }) as Part).spec?.role, "again")
      }
    }))
})
