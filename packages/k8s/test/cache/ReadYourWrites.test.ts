/**
 * Own writes are read, under every verb, against a server with real semantics and with watches that lag.
 *
 * After each own write the state of the object is taken from the server at once. What is read from the cache from then
 * on is that state or a later one, however far behind the watches are; a read may wait for them, and ends when they go on.
 */
import {
  Cache,
  Informers,
  KubeClient,
  type KubeError,
  type KubeObject,
  Projection,
  Supervisor
} from "@effect-operator/core"
import { compareResourceVersions } from "@effect-operator/core/KubeObject"
import type { Resource } from "@effect-operator/core"
import { ConfigMap, Deployment, Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, TestClient } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Random, Stream } from "effect"
import { TestClock } from "effect/testing"

type Client = KubeClient.KubeClient["Service"]

const namespace = "default"
const server = TestClient.layer.pipe(Layer.provideMerge(ApiServer.ApiServer.layer), Layer.fresh)
const settle = Effect.repeat(TestClock.adjust(0), { times: 20 })

/** A client whose watches deliver only while the gate is open. */
const gated = (client: Client, gate: Latch.Latch): Client => ({
  ...client,
  watch: (resource, options) => Stream.tap(client.watch(resource, options), () => gate.await)
})

const spec = {
  replicas: 1,
  selector: { matchLabels: { app: "web" } },
  template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } }
}
const containers = { containers: [{ name: "c", image: "i" }], nodeName: "n", terminationGracePeriodSeconds: 30 }

/** A cache of every object and one of those labelled app=web, read as one each. */
const caches = Effect.fnUntraced(function*(client: Client) {
  const supervisor = yield* Supervisor.make
  const context = yield* Layer.build(
    Informers.layer(supervisor).pipe(Layer.provide(Layer.succeed(KubeClient.KubeClient, client)))
  )
  const informers = Context.get(context, Informers.Informers)
  const reader = (selection: KubeClient.Selection) =>
    Effect.map(
      Effect.forEach([ConfigMap, Deployment, Pod], (resource) => informers.get({ ...selection, resource })),
      Cache.makeReader
    )
  return { every: yield* reader({}), web: yield* reader({ labels: "app=web" }), informers }
})

const read = <A, E, Id extends string>(reader: Cache.Reader, effect: Effect.Effect<A, E, Cache.Cached<Id>>) =>
  // The phantom requirement is what a controller discharges; here the reader itself is given.
  (effect as Effect.Effect<A, E>).pipe(Effect.provideService(Cache.CacheReader, reader))

const isWeb = (object: KubeObject.KubeObject): boolean => object.metadata.labels?.["app"] === "web"

/** Writes that may fail because of who came first: that is of no interest here. */
const tried = <A>(write: Effect.Effect<A, KubeError.KubeError>) => Effect.ignore(write)

/** One write of any verb, and the objects it concerns. */
const write = Effect.fnUntraced(function*(client: Client, mine: boolean, wanted?: string) {
  const any = <A>(values: ReadonlyArray<A>) =>
    Effect.map(Random.nextIntBetween(0, values.length - 1), (i) => values[i]!)
  const resource = yield* any<Resource.Any>([ConfigMap, Deployment, Pod])
  const name = yield* any(["a", "b"])
  const app = yield* any(["web", "db"])
  const finalizers = (yield* Random.next) < 0.3 ? { finalizers: ["test.io/hold"] } : {}
  const metadata = { name, namespace, labels: { app }, ...finalizers }
  const body = resource.kind === "Deployment" ? { spec } : resource.kind === "Pod" ? { spec: containers } : { data: {} }
  const ref = { name, namespace }
  const value = String(yield* Random.nextIntBetween(0, 99))
  const merge = (patch: object, options?: KubeClient.WriteOptions) =>
    client.patch(resource, ref, KubeClient.Patch.merge(patch), options)
  const writes: Record<string, Effect.Effect<unknown, KubeError.KubeError>> = {
    create: client.create(resource, { metadata, ...body } as never),
    generate: client.create(
      resource,
      { metadata: { ...metadata, name: undefined, generateName: `${name}-` }, ...body } as never
    ),
    patch: merge({ metadata: { labels: { app }, annotations: { value } } }),
    release: merge({ metadata: { finalizers: null } }),
    replace: Effect.flatMap(
      client.get(resource, ref),
      (object) => client.replace(resource, { ...object, metadata: { ...object.metadata, annotations: { value } } })
    ),
    apply: client.apply(resource, { metadata: { ...ref, annotations: { value } } } as never, { force: true }),
    status: merge({ metadata: { annotations: { value } }, status: {} }, { subresource: "status" }),
    delete: client.delete(resource, ref, { gracePeriodSeconds: 30 }),
    // What somebody else makes of a collection is the same as what they make of its objects.
    deleteCollection: client.deleteCollection(resource, { namespace, labels: `app=${app}` }),
    evict: client.create(Pod, { apiVersion: "policy/v1", kind: "Eviction", metadata: ref } as never, {
      subresource: "eviction"
    }),
    scale: Effect.flatMap(
      client.get(Deployment, ref, { subresource: "scale" }),
      (scale) =>
        client.replace(Deployment, { ...scale, spec: { replicas: Number(value) } } as never, { subresource: "scale" })
    )
  }
  const verb = wanted ?? (yield* any(Object.keys(writes)))
  const about = verb === "evict" ? Pod : verb === "scale" ? Deployment : resource
  const before = mine ? yield* Stream.runCollect(client.list(about, { namespace })) : []
  const result = yield* Effect.result(writes[verb]!)
  return { verb, about, before, done: result._tag === "Success" }
})

const run = Effect.fnUntraced(function*(seed: number) {
  const own = yield* KubeClient.KubeClient
  const api = yield* ApiServer.ApiServer
  const other = KubeClient.make({
    request: (request) => api.handle(request),
    stream: () => Effect.die("others do not watch here")
  })
  // Something to write to.
  for (let i = 0; i < 12; i++) yield* write(other, false, "create")
  const gate = yield* Latch.make(true)
  const { every, informers, web } = yield* caches(gated(own, gate))
  yield* settle
  const verbs = new Set<string>()
  for (let i = 0; i < 12; i++) {
    if ((yield* Random.next) < 0.5) yield* gate.close
    else yield* gate.open
    if ((yield* Random.next) < 0.4) yield* write(other, false)
    const { about, before, done, verb } = yield* write(own, true)
    if (!done) continue
    verbs.add(verb)
    // Nothing came in between: what differs now is what the own write did.
    const after = new Map((yield* Stream.runCollect(own.list(about, { namespace }))).map((o) => [o.metadata.name, o]))
    const was = new Map(before.map(({ metadata }) => [metadata.name, metadata.resourceVersion]))
    for (const name of new Set([...was.keys(), ...after.keys()])) {
      const state = after.get(name)
      if (state?.metadata.resourceVersion === was.get(name)) continue
      const key = { name, namespace }
      const fibers = yield* Effect.forEach(
        [every, web],
        (reader) => Effect.forkChild(read(reader, Cache.get(about, key)))
      )
      const lists = yield* Effect.forkChild(read(every, Cache.list(about, { namespace })))
      if ((yield* Random.next) < 0.5) yield* settle
      yield* gate.open
      yield* settle
      const [all, labelled] = [yield* Fiber.join(fibers[0]!), yield* Fiber.join(fibers[1]!)]
      const listed = (yield* Fiber.join(lists)).find((object) => object.metadata.name === key.name)
      const where = `SEED=${seed} step ${i}: ${verb} ${about.kind} ${key.name}`
      // Of a deletion without an answer that shows it: that it was accepted. What was terminating may stay a moment.
      const doomed = verb === "evict" || verb === "deleteCollection"
      const isNoOlder = (what: string, found: KubeObject.KubeObject) => {
        if (doomed) return assert.isDefined(found.metadata.deletionTimestamp, `${where}: ${what} shows it alive`)
        assert.isDefined(state, `${where}: ${what} shows what is gone`)
        const age = compareResourceVersions(found.metadata.resourceVersion, state!.metadata.resourceVersion)
        assert.isAtLeast(age, 0, `${where}: ${what} is older than the write`)
      }
      for (const [what, found] of [["get", all], ["list", listed]] as const) {
        if (found !== undefined) isNoOlder(what, found)
        else if (!doomed) assert.isUndefined(state, `${where}: ${what} misses it`)
      }
      if (labelled !== undefined) {
        isNoOlder("the selection", labelled)
        assert.isTrue(doomed || isWeb(state!), `${where}: shows what left the selection`)
      } else if (state !== undefined && isWeb(state)) {
        assert.isTrue(doomed || verb === "scale", `${where}: missing under the selector`)
      }
    }
  }
  yield* gate.open
  yield* settle
  for (const resource of [ConfigMap, Deployment, Pod] as const) {
    const expected = (yield* Stream.runCollect(own.list(resource as Resource.Any, { namespace }))).map(identity)
    const found = (yield* read(every, Cache.list(resource as Resource.Any, { namespace }))).map(identity)
    assert.sameMembers(found, [...expected], `SEED=${seed}: in the end`)
  }
  const unsettled = informers.active().flatMap(({ store }) => store.staleKeys())
  assert.deepStrictEqual(unsettled, [], `SEED=${seed}: in the end`)
  return verbs
})

const identity = ({ metadata }: KubeObject.KubeObject): string => `${metadata.name} ${metadata.resourceVersion}`

describe("read-your-writes against a server with real semantics", () => {
  it.effect(
    "holds under every verb, with lagging watches, selectors and others' writes (30 random runs)",
    () =>
      Effect.gen(function*() {
        const first = Number(process.env["SEED"] ?? 1)
        const verbs = new Set<string>()
        for (
          let seed = first;
          seed < first + (process.env["SEED"] === undefined ? Number(process.env["RUNS"] ?? 30) : 1);
          seed++
        ) {
          const seen = yield* Effect.scoped(run(seed)).pipe(Effect.provide(server), Random.withSeed(seed))
          for (const verb of seen) verbs.add(verb)
        }
        if (process.env["SEED"] === undefined) assert.strictEqual(verbs.size, 11, [...verbs].join())
      }),
    600_000
  )
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
      const heads = () => read(reader, Cache.list(Head))
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
      yield* tried(client.get(Head, { name: "a", namespace }))
    }).pipe(Effect.provide(server)))
})
