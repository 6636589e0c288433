/** The cache beside a real API server: what its own writes and those of others make of it. */
import { Cache, Informers, KubeClient, Supervisor } from "@effect-operator/core"
import { ConfigMap, Namespace } from "@effect-operator/k8s/kinds"
import { assert, layer } from "@effect/vitest"
import { Cause, Clock, Context, Effect, Exit, Layer, Random } from "effect"
import { clientLayer, Envtest, layerOptions } from "../../src/testing/Envtest.ts"
import { connect } from "../support/liveServer.ts"
import * as Histories from "./Histories.ts"

const Plane = Layer.provideMerge(clientLayer, layerOptions({ controllerManager: false }))

const settle = Effect.sleep("20 millis")

/** Waits until something is so, for ten seconds at most: what then is not so is for the test to tell. */
const until = Effect.fnUntraced(function*(holds: Effect.Effect<boolean>) {
  const end = (yield* Clock.currentTimeMillis) + 10_000
  while (!(yield* holds) && (yield* Clock.currentTimeMillis) < end) yield* settle
})

/** A client of its own: what it writes, the caches of the other do not hear of. */
const stranger = Effect.gen(function*() {
  const { clusterConfig } = yield* Envtest
  return (yield* connect(clusterConfig)).client
})

/** A namespace that nobody else writes to. */
const makeNamespace = (name: string) =>
  KubeClient.KubeClient.use((client) => client.create(Namespace, { metadata: { name } }))

layer(Plane, { timeout: "2 minutes", excludeTestServices: true })("Cache beside a real API server", (it) => {
  it.effect("reads its own writes under every verb, with lagging watches, selectors and others' writes", () =>
    Effect.gen(function*() {
      const own = yield* KubeClient.KubeClient
      const other = yield* stranger
      const verbs = new Set<string>()
      const first = Number(process.env["SEED"] ?? 1)
      for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 25 : 1); seed++) {
        const namespace = `history-${seed}`
        yield* makeNamespace(namespace)
        const scene = {
          own,
          other,
          namespace,
          selection: { namespace },
          policy: "policy/v1beta1",
          settle,
          until
        } as const
        const seen = yield* Effect.scoped(Histories.run(seed, scene)).pipe(Random.withSeed(seed))
        for (const verb of seen) verbs.add(verb)
      }
      if (process.env["SEED"] === undefined) assert.strictEqual(verbs.size, Histories.verbs, [...verbs].join())
    }))

  it.effect("awaitObserved waits for what somebody else has written, and says what did not come", () =>
    Effect.scoped(Effect.gen(function*() {
      const namespace = "observed"
      yield* makeNamespace(namespace)
      const other = yield* stranger
      const supervisor = yield* Supervisor.make
      const context = yield* Layer.build(Informers.layer(supervisor))
      const informer = yield* Context.get(context, Informers.Informers).get({ resource: ConfigMap, namespace })
      yield* informer.synced
      const read = Histories.read
      const reader = Cache.makeReader([informer])
      const observed = (observation: Cache.Observation<ConfigMap>) =>
        read(reader, Cache.awaitObserved(ConfigMap, observation, "10 seconds"))
      const ref = { namespace, name: "a" }
      const data = Effect.map(read(reader, Cache.get(ConfigMap, ref)), (object) => object?.data)

      const created = yield* other.create(ConfigMap, { metadata: ref, data: { n: "1" } })
      yield* observed(created)
      assert.deepStrictEqual(yield* data, { n: "1" })

      const patched = yield* other.patch(ConfigMap, ref, KubeClient.Patch.merge({ data: { n: "2" } }))
      yield* observed({ resourceVersion: patched.metadata.resourceVersion, namespace })
      assert.deepStrictEqual(yield* data, { n: "2" })

      yield* other.patch(ConfigMap, ref, KubeClient.Patch.merge({ data: { n: "3" } }))
      yield* observed({ object: ref, where: (object) => object?.data?.["n"] === "3" })
      assert.deepStrictEqual(yield* data, { n: "3" })

      yield* other.delete(ConfigMap, ref)
      yield* observed({ object: ref, where: (object) => object === undefined })
      assert.isUndefined(yield* data)

      const missing = Cache.awaitObserved(
        ConfigMap,
        { object: ref, where: (object) => object !== undefined },
        "1 second"
      )
      const exit = yield* Effect.exit(read(reader, missing))
      assert.match(
        Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "seen",
        /NotObserved: Cache: ConfigMap\.v1: the awaited state of observed\/a was not seen within 1s/
      )
    })))
})
