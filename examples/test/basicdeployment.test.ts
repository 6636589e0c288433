import { KubeClient, Manager } from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Kubelet, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Random, Stream } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/basicdeployment/example.ts"
import { controllers, deployments, generationAnnotation, isReady } from "../src/basicdeployment/reconciler.ts"
import { BasicDeployment, BasicReplicaSet } from "../src/basicdeployment/resource.ts"
import * as Rollout from "../src/basicdeployment/rollout.ts"
import { all, assertQuiet, cluster, crashAtWrite, operated } from "./support/Operator.ts"

const key = { namespace: "default", name: "shop" }

const create = (spec: BasicDeployment["spec"]) =>
  KubeClient.KubeClient.use((client) => client.create(BasicDeployment, { metadata: key, spec }))

const change = (spec: Partial<BasicDeployment["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(BasicDeployment, key, KubeClient.Patch.merge({ spec })))

/** Exactly `replicas` Pods of the image run; the status says so; of the sets only that of the image has Pods. */
const assertRolledOut = Effect.fnUntraced(function*(image: string, replicas: number) {
  const client = yield* KubeClient.KubeClient
  const deployment = yield* client.get(BasicDeployment, key)
  const sets = yield* all(BasicReplicaSet)
  const pods = yield* all(Pod)
  assert.deepStrictEqual(
    pods.map(({ spec }) => spec.containers[0]?.image),
    Array.from({ length: replicas }, () => image)
  )
  assert.isTrue(pods.every(isReady))
  for (const set of sets) assert.strictEqual(set.spec.replicas, set.spec.image === image ? replicas : 0)
  const { conditions, ...status } = deployment.status!
  assert.deepStrictEqual(status, {
    ready: true,
    revision: status.revision,
    replicas,
    updatedReplicas: replicas,
    availableReplicas: replicas,
    observedGeneration: deployment.metadata.generation!
  })
  assert.strictEqual(conditions[0]?.message, `revision ${status.revision} is rolled out`)
  return { ...status, sets: sets.map(({ metadata }) => metadata.name).sort() }
})

it.effect("waits for the spec that its sets were made for, where the one it sees is older", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create({ replicas: 2, image: "a" })
    yield* TestClock.adjust("1 minute")
    yield* assertRolledOut("a", 2)
    const [set] = (yield* all(BasicReplicaSet)) as [BasicReplicaSet]
    const tell = (generation: number, replicas: number) =>
      client.patch(
        BasicReplicaSet,
        set.metadata,
        KubeClient.Patch.merge({
          metadata: { annotations: { [generationAnnotation]: `${generation}` } },
          spec: { replicas }
        })
      )
    // As a process would have left it that has seen the next spec.
    yield* tell(2, 1)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* client.get(BasicReplicaSet, set.metadata)).spec.replicas, 1)
    yield* change({ replicas: 3 })
    yield* TestClock.adjust("1 minute")
    yield* assertRolledOut("a", 3)
  }).pipe(Effect.provide(operated(example))))

it.effect("is ready once its set has answered the last spec, and no Pod of an older revision is asked for", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const ready = Effect.andThen(
      TestClock.adjust("1 second"),
      Effect.map(client.get(BasicDeployment, key), ({ status }) => status?.ready)
    )
    /** What the controller of the sets would say once it has done what the spec asks for. */
    const answer = Effect.fnUntraced(function*(name: string) {
      const { metadata: { generation }, spec: { replicas } } = yield* client.get(BasicReplicaSet, { ...key, name })
      const status = { replicas, activeReplicas: replicas, observedGeneration: generation }
      yield* client.patch(BasicReplicaSet, { ...key, name }, KubeClient.Patch.merge({ status }), {
        subresource: "status"
      })
    })
    yield* create({ replicas: 3, image: "a" })
    assert.isFalse(yield* ready)
    yield* answer("shop-1")
    assert.isTrue(yield* ready)
    yield* change({ replicas: 5 })
    assert.isFalse(yield* ready)
    yield* change({ replicas: 3 })
    assert.isFalse(yield* ready, "its three ready Pods are of the spec before the last")
    yield* answer("shop-1")
    assert.isTrue(yield* ready)

    yield* change({ image: "b" })
    for (const name of ["shop-2", "shop-2", "shop-1", "shop-2"]) {
      assert.isFalse(yield* ready)
      yield* answer(name)
    }
    assert.isFalse(yield* ready, "all three of the new ones are ready, and one of the old is left")
    assert.deepStrictEqual((yield* all(BasicReplicaSet)).map(({ spec }) => spec.replicas), [1, 3])
    yield* answer("shop-1")
    assert.isTrue(yield* ready)
  }).pipe(Effect.provide(
    Manager.layer([deployments]).pipe(Layer.provideMerge(TestCluster.layer({ resources: example.resources })))
  )))

it.effect("rolls out, scales, and keeps a history that it rolls back to", () =>
  Effect.gen(function*() {
    yield* create({ replicas: 3, image: "a" })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* assertRolledOut("a", 3)).revision, 1)
    yield* change({ image: "b" })
    yield* TestClock.adjust("1 minute")
    yield* change({ image: "c", replicas: 5 })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* assertRolledOut("c", 5), { revision: 3, sets: ["shop-1", "shop-2", "shop-3"] })
    yield* assertQuiet

    yield* change({ rollbackTo: 0 })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* assertRolledOut("b", 5), { revision: 4, sets: ["shop-1", "shop-2", "shop-3"] })
    yield* change({ rollbackTo: 1 })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* assertRolledOut("a", 5)).revision, 5)
    const [{ spec }] = (yield* all(BasicDeployment)) as [BasicDeployment]
    assert.deepStrictEqual(spec, { replicas: 5, image: "a" }, "the wish is gone once it is the spec")

    yield* change({ rollbackTo: 77 })
    yield* TestClock.adjust("1 minute")
    yield* assertRolledOut("a", 5)
    const events = yield* all(Event)
    assert.include(events.map(({ note }) => note), "there is no revision 77")
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("forgets revisions beyond the limit, and never the one in use", () =>
  Effect.gen(function*() {
    yield* create({ replicas: 2, image: "a", revisionHistoryLimit: 2 })
    for (const image of ["b", "c", "d", "a", "e"]) {
      yield* TestClock.adjust("1 minute")
      yield* change({ image })
    }
    yield* TestClock.adjust("1 minute")
    // "a" had been forgotten when it came back.
    assert.deepInclude(yield* assertRolledOut("e", 2), { revision: 6, sets: ["shop-4", "shop-5", "shop-6"] })
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("a rollout that cannot come up takes no ready Pod away, says why, and can be rolled back", () =>
  Effect.gen(function*() {
    yield* create({ replicas: 3, image: "good" })
    yield* TestClock.adjust("1 minute")
    yield* change({ image: "bad" })
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual((yield* all(Pod)).filter(isReady).length, 3)
    const [{ status }] = (yield* all(BasicDeployment)) as [BasicDeployment]
    assert.deepInclude(status!.conditions[0], {
      type: "Ready",
      status: "False",
      reason: "RollingOut",
      message: "shop-2: 0 of 3 ready; 3 of older revisions"
    })
    yield* change({ rollbackTo: 0 })
    yield* TestClock.adjust("10 minutes")
    yield* assertRolledOut("good", 3)
  }).pipe(Effect.provide(
    Manager.layer(controllers).pipe(Layer.provideMerge(
      TestCluster.layer({
        resources: example.resources,
        kubelet: { script: (_, { image }) => image === "bad" ? { ready: "100 days" } : undefined }
      })
    ))
  )))

it.effect("replaces Pods that die or are deleted; everything goes with the BasicDeployment", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create({ replicas: 3, image: "a" })
    yield* TestClock.adjust("1 minute")
    const [dies, goes] = yield* all(Pod)
    yield* Kubelet.fail(dies!)
    yield* client.delete(Pod, goes!)
    yield* TestClock.adjust("1 minute")
    yield* assertRolledOut("a", 3)
    yield* client.delete(BasicDeployment, key)
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([...yield* all(Pod), ...yield* all(BasicReplicaSet), ...yield* all(BasicDeployment)], [])
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("converges after a crash at any of its writes during a rollout", () =>
  Effect.gen(function*() {
    for (let n = 1; n <= 8; n++) {
      yield* Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Layer.build(Manager.layer(controllers))
          yield* create({ replicas: 2, image: "a" })
          yield* TestClock.adjust("1 minute")
        }))
        yield* change({ image: "b" })
        assert.strictEqual(yield* crashAtWrite(example, n, TestClock.adjust("1 minute")), n)
        assert.isAtLeast((yield* all(Pod)).filter(isReady).length, 2)
        yield* Effect.gen(function*() {
          yield* TestClock.adjust("2 minutes")
          yield* assertRolledOut("b", 2)
          yield* assertQuiet
        }).pipe(Effect.provide(Manager.layer(controllers)))
      }).pipe(Effect.provide(cluster(example)))
    }
  }))

/**
 * Follows the Pods, and fails when one that is ready goes although the promise needs it. The promise is what has been
 * reached once: Pods that are only wanted cannot be ready yet.
 */
const promise = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  const ready = new Map<string, boolean>()
  const broken: Array<string> = []
  let told = 0
  let wanted = 0
  let floor = 0
  let fewest = Infinity
  const count = () => [...ready.values()].filter(Boolean).length
  yield* Effect.forkScoped(Stream.runForEach(client.watch(Pod), (event) =>
    Effect.sync(() => {
      if (event.type !== "ADDED" && event.type !== "MODIFIED" && event.type !== "DELETED") return
      const { metadata } = event.object
      ready.set(metadata.uid, event.type !== "DELETED" && isReady(event.object))
      const now = count()
      if (now >= wanted) floor = wanted
      if (now < floor) broken.push(`${metadata.name}: ${now} ready, ${floor} promised`)
      fewest = Math.min(fewest, now - floor)
    })))
  return {
    broken,
    fewest: () => fewest,
    /** A person wants so many ready at least. Until the operator has seen it, the less of both wishes counts. */
    want: (least: number) => {
      told = least
      wanted = Math.min(wanted, least)
      floor = Math.min(floor, least)
    },
    seen: () => {
      wanted = told
    }
  }
})

const property = (seed: string, changes: number) =>
  Effect.gen(function*() {
    const { broken, fewest, seen, want } = yield* promise
    const [surge, unavailable] = yield* Effect.map(Random.nextIntBetween(0, 2), (i) =>
      ([[1, 0], [0, 2], [3, 1]] as const)[i]!)
    let replicas = 4
    let image = "a"
    yield* create({ replicas, image, maxSurge: surge, maxUnavailable: unavailable, revisionHistoryLimit: 4 })
    want(replicas - unavailable)
    yield* TestClock.adjust("1 second")
    seen()
    for (let i = 0; i < changes; i++) {
      const dice = yield* Random.nextIntBetween(0, 10)
      if (dice < 6) {
        yield* change({ image: image = "abcdefg"[yield* Random.nextIntBetween(0, 6)]! })
      } else if (dice < 9) {
        yield* change({ rollbackTo: 0 })
      } else {
        replicas = yield* Random.nextIntBetween(2, 7)
        want(replicas - unavailable)
        yield* change({ replicas })
      }
      // Often there is another change before anybody has seen this one.
      const pause = Math.max(0, yield* Random.nextIntBetween(-2000, 3000))
      if (pause === 0) {
        yield* Effect.yieldNow
      } else yield* TestClock.adjust(pause)
      assert.deepStrictEqual(broken, [], `seed ${seed}, change ${i}`)
    }
    yield* TestClock.adjust("3 minutes")
    const [{ spec }] = (yield* all(BasicDeployment)) as [BasicDeployment]
    const { sets } = yield* assertRolledOut(spec.image, replicas)
    assert.isAtMost(sets.length, 5, "the history is bounded")
    assert.strictEqual(fewest(), 0, "the promise was put to the test")
    yield* assertQuiet
  }).pipe(Effect.scoped, Effect.provide(operated(example)), Random.withSeed(seed))

it.effect("200 random changes and rollbacks never leave fewer ready than promised", () => property("1", 200))

it("a set counts for no more than it keeps, and nothing old shrinks before all have answered", () => {
  const set = (revision: number, image: string, replicas: number, active: number, answered = true) => ({
    name: `shop-${revision}`,
    image,
    revision,
    replicas,
    active,
    answered
  })
  const wish = { name: "shop", image: "b", replicas: 3 }
  const replicas = (...sets: ReadonlyArray<Rollout.Revision>) =>
    Rollout.next(wish, sets).map(({ replicas }) => replicas)
  assert.deepStrictEqual(replicas(set(1, "a", 3, 3)), [1, 3])
  assert.deepStrictEqual(replicas(set(1, "a", 3, 3), set(2, "b", 1, 1)), [1, 2])
  assert.deepStrictEqual(replicas(set(1, "a", 3, 3), set(2, "b", 1, 1, false)), [1, 3])
  assert.deepStrictEqual(replicas(set(1, "a", 1, 3), set(2, "b", 2, 2)), [3, 1])
  assert.deepStrictEqual(replicas(set(1, "a", 3, 0)), [1, 0], "what is not ready is no loss")
})
