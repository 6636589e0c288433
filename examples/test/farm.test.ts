import { Informers, KubeClient, Resource, Supervisor } from "@effect-operator/core"
import { ApiService } from "@effect-operator/k8s"
import { Namespace, Pod } from "@effect-operator/k8s/kinds"
import { TestApiServices, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { farm, server } from "../src/farm/api.ts"
import { FarmPod, Llama } from "../src/farm/resource.ts"
import { all } from "./support/Operator.ts"

const cluster = Layer.provideMerge(TestApiServices.layer, TestCluster.layer())

/** A life of the operator's process, registered with the cluster. */
const live = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(
    Layer.fresh(ApiService.layer(farm, { ...server, localhost: true })),
    scope
  )
  yield* TestClock.adjust("1 minute")
  return { end: Scope.close(scope, Exit.void), server: Context.get(context, ApiService.ApiServiceServer) }
})

const key = { namespace: "default", name: "kusco" }

const run = (name: string, containers: number) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace: "default", name },
      spec: { containers: Array.from({ length: containers }, (_, i) => ({ name: `c${i}`, image: "pause" })) }
    })
  )

const remove = (name: string) =>
  KubeClient.KubeClient.use((client) => client.delete(Pod, { namespace: "default", name }, { gracePeriodSeconds: 0 }))

const farmPods = Effect.map(
  all(FarmPod),
  (pods) => Object.fromEntries(pods.map(({ metadata: { name }, spec }) => [name, spec.containers]))
)

it.effect("llamas live in the operator's memory, under the rules of their Schema and of the farm", () =>
  Effect.gen(function*() {
    const { server } = yield* live
    assert.strictEqual((yield* server.status).trouble, undefined)
    const client = yield* KubeClient.KubeClient
    assert.deepStrictEqual((yield* all(Llama)).map(({ metadata: { name } }) => name), ["dolly", "paco"])
    const made = yield* client.create(Llama, { metadata: key, spec: { weight: 142, height: 1.2 } })
    assert.strictEqual(made.metadata.generation, 1)
    const grown = yield* client.patch(Llama, key, KubeClient.Patch.merge({ spec: { height: 1.25 } }))
    assert.deepStrictEqual(grown.spec, { weight: 142, height: 1.25 })
    const shrunk = yield* Effect.flip(client.patch(Llama, key, KubeClient.Patch.merge({ spec: { height: 1 } })))
    assert.include(shrunk.message, "a llama does not shrink")
    const air = { metadata: { ...key, name: "air" }, spec: { weight: 0, height: 1 } }
    const light = yield* Effect.flip(client.create(Resource.unstructured(Llama), air))
    assert.include(light.message, "spec.weight: Invalid value: 0")
    yield* client.delete(Llama, key)
    assert.lengthOf(yield* all(Llama), 2)
  }).pipe(Effect.provide(cluster)))

it.effect("every Pod is a FarmPod, as long as it is there, and belongs to it", () =>
  Effect.gen(function*() {
    yield* run("early", 1)
    yield* live
    assert.deepStrictEqual(yield* farmPods, { "farm-early": 1 })
    yield* run("barn", 2)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* farmPods, { "farm-barn": 2, "farm-early": 1 })
    const [pod] = yield* all(Pod)
    const [barn] = yield* all(FarmPod)
    assert.deepInclude(barn!.metadata.ownerReferences![0], { kind: "Pod", name: "barn", uid: pod!.metadata.uid })
    assert.strictEqual(barn!.metadata.creationTimestamp, pod!.metadata.creationTimestamp)
    yield* remove("early")
    yield* remove("barn")
    yield* run("barn", 3)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* farmPods, { "farm-barn": 3 })
    const client = yield* KubeClient.KubeClient
    const refused = yield* Effect.flip(client.delete(FarmPod, { namespace: "default", name: "farm-barn" }))
    assert.include(refused.message, "delete is not supported")
  }).pipe(Effect.provide(cluster)))

it.effect("clients go on over a restart of the operator, and are told what happened meanwhile", () =>
  Effect.gen(function*() {
    const first = yield* live
    yield* run("barn", 2)
    yield* TestClock.adjust("1 second")
    const informers = Context.get(
      yield* Layer.build(Informers.layer(yield* Supervisor.make)),
      Informers.Informers
    )
    const known = yield* informers.get({ resource: FarmPod })
    yield* known.synced
    const names = () => [...known.store.values()].map(({ metadata: { name } }) => name).sort()
    assert.deepStrictEqual(names(), ["farm-barn"])

    yield* first.end
    yield* TestClock.adjust("1 minute")
    const client = yield* KubeClient.KubeClient
    const gone = yield* Effect.flip(client.listPage(FarmPod))
    assert.strictEqual(gone.reason._tag, "NotFound", "the operator took its registration with it")
    yield* remove("barn")
    yield* run("stable", 1)
    yield* live
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(names(), ["farm-stable"])
  }).pipe(Effect.provide(cluster)))

it.effect("a namespace that goes takes its llamas with it", () =>
  Effect.gen(function*() {
    yield* live
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name: "meadow" } })
    yield* client.create(Llama, { metadata: { namespace: "meadow", name: "a" }, spec: { weight: 1, height: 1 } })
    yield* client.delete(Namespace, { name: "meadow" })
    yield* TestClock.adjust("2 minutes")
    assert.lengthOf(yield* all(Llama), 2)
    const left = yield* Effect.flip(client.get(Namespace, { name: "meadow" }))
    assert.strictEqual(left.reason._tag, "NotFound")
  }).pipe(Effect.provide(cluster)))
