import { Action, Cache, Controller, KubeClient, KubeError, Manager, Watch } from "@effect-operator/core"
import { PodEviction } from "@effect-operator/k8s"
import { ConfigMap, Pod, PodDisruptionBudget } from "@effect-operator/k8s/kinds"
import { TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "web" }
const labels = { app: "web" }

const running = KubeClient.KubeClient.use((client) =>
  client.create(Pod, { metadata: { ...key, labels }, spec: { containers: [{ name: "a", image: "a" }] } })
).pipe(Effect.tap(() => TestClock.adjust("1 minute")))

describe("PodEviction", () => {
  it.effect("evicts the Pod that it is given, unless a budget needs it, and none that has come in its place", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const pod = yield* running
      const budget = { metadata: key, spec: { minAvailable: 1, selector: { matchLabels: labels } } }
      yield* client.create(PodDisruptionBudget, budget)
      yield* TestClock.adjust("1 minute")
      const refused = yield* PodEviction.evict(pod)
      assert.strictEqual(refused._tag, "Disallowed")
      assert.include(refused._tag === "Disallowed" ? refused.message : "", "disruption budget")
      yield* client.delete(PodDisruptionBudget, key)
      assert.strictEqual((yield* PodEviction.evict(pod, { gracePeriodSeconds: 5 }))._tag, "Evicted")
      assert.strictEqual((yield* client.get(Pod, key)).metadata.deletionGracePeriodSeconds, 5)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* PodEviction.evict(pod))._tag, "Gone")
      const later = yield* running
      assert.strictEqual((yield* PodEviction.evict(pod))._tag, "Gone")
      assert.isUndefined((yield* client.get(Pod, later)).metadata.deletionTimestamp)
      assert.strictEqual((yield* PodEviction.evict(key))._tag, "Evicted")
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("that a server is too busy is no answer of a budget", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const reason = new KubeError.TooManyRequests({ message: "too many requests, please try again later", code: 429 })
      const busy = {
        ...client,
        create: () => Effect.fail(KubeError.make({ verb: "create", resource: "pods" }, reason))
      }
      const error = yield* PodEviction.evict(key).pipe(
        Effect.provideService(KubeClient.KubeClient, KubeClient.KubeClient.of(busy)),
        Effect.flip
      )
      assert.strictEqual(error.reason, reason)
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("the cache of who evicts shows it at the next read", () => {
    const seen: Array<boolean> = []
    const controller = Controller.make("draining", {
      for: ConfigMap,
      watches: [Watch.cached(Pod)],
      reconcile: Effect.fnUntraced(function*() {
        const pod = yield* Cache.get(Pod, key)
        if (pod === undefined) return Action.done
        yield* PodEviction.evict(pod)
        seen.push((yield* Cache.get(Pod, key))?.metadata.deletionTimestamp !== undefined)
        return Action.done
      })
    })
    return Effect.gen(function*() {
      yield* running
      yield* KubeClient.KubeClient.use((client) => client.create(ConfigMap, { metadata: key }))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen, [true])
    }).pipe(Effect.provide(Manager.layer([controller]).pipe(Layer.provideMerge(TestCluster.layer()))))
  })
})
