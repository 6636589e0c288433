/**
 * Random histories of own and others' writes, under every verb, and what is read of them from caches that lag.
 *
 * After each own write the state of the object is taken from the server at once. What is read from the cache from then
 * on is that state or a later one, however far behind the watches are; a read may wait for them, and ends when they go on.
 */
import { Cache, Informers, KubeClient, type KubeError, type KubeObject, Supervisor } from "@effect-operator/core"
import { compareResourceVersions } from "@effect-operator/core/KubeObject"
import type { Resource } from "@effect-operator/core"
import { ConfigMap, Deployment, Pod } from "@effect-operator/k8s/kinds"
import { assert } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Random, Stream } from "effect"

type Client = KubeClient.KubeClient["Service"]

/** Where a history happens. */
export interface Scene {
  /** The client under test, and that of others. */
  readonly own: Client
  readonly other: Client
  readonly namespace: string
  /** What the caches hold beside this namespace: everything, unless there are others about. */
  readonly selection: KubeClient.Selection
  /** The version of `policy` that evictions are asked for in. */
  readonly policy: "policy/v1" | "policy/v1beta1"
  /** Lets what is under way arrive. */
  readonly settle: Effect.Effect<unknown>
  /** Waits until something is so, as long as that may take. */
  readonly until: (holds: Effect.Effect<boolean>) => Effect.Effect<void>
}

/** How many verbs there are. */
export const verbs = 11

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
export const caches = Effect.fnUntraced(function*(client: Client, everything: KubeClient.Selection) {
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
  return { every: yield* reader(everything), web: yield* reader({ ...everything, labels: "app=web" }), informers }
})

export const read = <A, E, Id extends string>(reader: Cache.Reader, effect: Effect.Effect<A, E, Cache.Cached<Id>>) =>
  // The phantom requirement is what a controller discharges; here the reader itself is given.
  (effect as Effect.Effect<A, E>).pipe(Effect.provideService(Cache.CacheReader, reader))

const isWeb = (object: KubeObject.KubeObject): boolean => object.metadata.labels?.["app"] === "web"

/** One write of any verb, and the objects it concerns. */
const write = Effect.fnUntraced(
  function*({ namespace, policy }: Scene, client: Client, mine: boolean, wanted?: string) {
    const any = <A>(values: ReadonlyArray<A>) =>
      Effect.map(Random.nextIntBetween(0, values.length - 1), (i) => values[i]!)
    const resource = yield* any<Resource.Any>([ConfigMap, Deployment, Pod])
    const name = yield* any(["a", "b"])
    const app = yield* any(["web", "db"])
    const finalizers = (yield* Random.next) < 0.3 ? { finalizers: ["test.io/hold"] } : {}
    const metadata = { name, namespace, labels: { app }, ...finalizers }
    const body = resource.kind === "Deployment"
      ? { spec }
      : resource.kind === "Pod"
      ? { spec: containers }
      : { data: {} }
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
      evict: client.create(Pod, { apiVersion: policy, kind: "Eviction", metadata: ref } as never, {
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
  }
)

/** Runs one history; the verbs that did something. */
export const run = Effect.fnUntraced(function*(seed: number, scene: Scene) {
  const { namespace, other, own, settle } = scene
  // Something to write to.
  for (let i = 0; i < 12; i++) yield* write(scene, other, false, "create")
  const gate = yield* Latch.make(true)
  const { every, informers, web } = yield* caches(gated(own, gate), scene.selection)
  yield* settle
  const verbs = new Set<string>()
  for (let i = 0; i < 12; i++) {
    if ((yield* Random.next) < 0.5) yield* gate.close
    else yield* gate.open
    if ((yield* Random.next) < 0.4) yield* write(scene, other, false)
    const { about, before, done, verb } = yield* write(scene, own, true)
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
  const differing = Effect.forEach([ConfigMap, Deployment, Pod] as const, (resource: Resource.Any) =>
    Effect.all([
      Effect.map(Stream.runCollect(own.list(resource, { namespace })), (objects) => objects.map(identity).sort()),
      Effect.map(read(every, Cache.list(resource, { namespace })), (objects) => objects.map(identity).sort())
    ])).pipe(Effect.orDie)
  yield* scene.until(Effect.map(differing, (pairs) => pairs.every(([stored, found]) => stored.join() === found.join())))
  for (const [stored, found] of yield* differing) assert.deepStrictEqual(found, stored, `SEED=${seed}: in the end`)
  const unsettled = () => informers.active().flatMap(({ store }) => store.staleKeys())
  yield* scene.until(Effect.sync(() => unsettled().length === 0))
  assert.deepStrictEqual(unsettled(), [], `SEED=${seed}: in the end`)
  return verbs
})

const identity = ({ metadata }: KubeObject.KubeObject): string => `${metadata.name} ${metadata.resourceVersion}`
