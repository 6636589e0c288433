/** Own writes are read, under every verb, against a server with real semantics and with watches that lag. */
import { Cache, Informers, KubeClient, Projection, Supervisor } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { ApiServer, TestClient } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import * as Histories from "./Histories.ts"

const namespace = "default"
const server = TestClient.layer.pipe(Layer.provideMerge(ApiServer.ApiServer.layer), Layer.fresh)
const settle = Effect.repeat(TestClock.adjust(0), { times: 20 })

const inMemory = (seed: number) =>
  Effect.gen(function*() {
    const own = yield* KubeClient.KubeClient
    const api = yield* ApiServer.ApiServer
    const other = KubeClient.make({
      request: (request) => api.handle(request),
      stream: () => Effect.die("others do not watch here")
    })
    // Nothing is under way once everything has settled.
    const until = () => Effect.void
    return yield* Histories.run(seed, { own, other, namespace, selection: {}, policy: "policy/v1", settle, until })
  })

describe("read-your-writes against a server with real semantics", () => {
  it.effect("holds under every verb, with lagging watches, selectors and others' writes (30 random runs)", () =>
    Effect.gen(function*() {
      const first = Number(process.env["SEED"] ?? 1)
      const verbs = new Set<string>()
      for (
        let seed = first;
        seed < first + (process.env["SEED"] === undefined ? Number(process.env["RUNS"] ?? 30) : 1);
        seed++
      ) {
        const seen = yield* Effect.scoped(inMemory(seed)).pipe(Effect.provide(server), Random.withSeed(seed))
        for (const verb of seen) verbs.add(verb)
      }
      if (process.env["SEED"] === undefined) assert.strictEqual(verbs.size, Histories.verbs, [...verbs].join())
    }))
})

describe("a cache of metadata alone", () => {
  it.effect("holds what the server sends of it, and follows it", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const Head = Projection.metadata(ConfigMap)
      const supervisor = yield* Supervisor.make
      const context = yield* Layer.build(Informers.layer(supervisor))
      const informer = yield* Context.get(context, Informers.Informers).get({ resource: Head, namespace })
      yield* informer.synced
      const reader = Cache.makeReader([informer])
      const heads = () => Histories.read(reader, Cache.list(Head))
      yield* client.create(ConfigMap, { metadata: { name: "a", namespace, labels: { x: "y" } }, data: { big: "…" } })
      for (const _ of ["own write", "watched"]) {
        const [head] = yield* heads()
        assert.deepStrictEqual([head!.kind, head!.apiVersion, Object.keys(head!).length], ["ConfigMap", "v1", 3])
        assert.deepStrictEqual(head!.metadata.labels, { x: "y" })
        yield* settle
      }
      assert.strictEqual(informer.store.unconfirmed, 0)
      yield* client.delete(Head, { name: "a", namespace })
      assert.deepStrictEqual(yield* heads(), [])
      yield* Effect.ignore(client.get(Head, { name: "a", namespace }))
    }).pipe(Effect.provide(server)))
})
