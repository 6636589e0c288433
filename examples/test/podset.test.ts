import { KubeClient } from "@effect-operator/core"
import { controllerOf, isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/podset/example.ts"
import { PodSet } from "../src/podset/resource.ts"
import { keepsPods } from "./support/KeepsPods.ts"
import { all, assertQuiet, operated } from "./support/Operator.ts"

const key = { namespace: "default", name: "sample" }

const create = (replicas: number) =>
  KubeClient.KubeClient.use((client) => client.create(PodSet, { metadata: key, spec: { replicas } }))

const scale = (replicas: number) =>
  KubeClient.KubeClient.use((client) => client.patch(PodSet, key, KubeClient.Patch.merge({ spec: { replicas } })))

/** Exactly `count` Pods as the PodSet wants them, nothing else, and the status names them. */
const assertSettled = Effect.fnUntraced(function*(count: number) {
  const client = yield* KubeClient.KubeClient
  const podset = yield* client.get(PodSet, key)
  const pods = yield* all(Pod)
  assert.strictEqual(pods.length, count)
  for (const pod of pods) {
    assert.strictEqual(pod.status?.phase, "Running")
    assert.isFalse(isTerminating(pod))
    assert.match(pod.metadata.name, /^sample-pod-[a-z0-9]{5}$/)
    assert.deepStrictEqual(pod.metadata.labels, { app: "sample", version: "v0.1" })
    assert.deepStrictEqual(controllerOf(pod)?.uid, podset.metadata.uid)
    assert.deepStrictEqual(pod.spec.containers[0]?.command, ["sleep", "3600"])
  }
  assert.deepStrictEqual(podset.status, {
    readyReplicas: count,
    podNames: pods.map(({ metadata }) => metadata.name).sort()
  })
})

keepsPods({ example, create, scale, assertSettled, writesOfFour: 5 })

it.effect("puts its status right when somebody else has changed it", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create(2)
    yield* TestClock.adjust("10 seconds")
    const wrong = KubeClient.Patch.merge({ status: { readyReplicas: 9 } })
    yield* client.patch(PodSet, key, wrong, { subresource: "status" })
    yield* TestClock.adjust("10 seconds")
    yield* assertSettled(2)
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("its Pods go with it", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create(3)
    yield* TestClock.adjust("10 seconds")
    yield* client.delete(PodSet, key)
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* all(Pod), [])
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))
