import { KubeClient, Manager } from "@effect-operator/core"
import { Deployment } from "@effect-operator/k8s/kinds"
import { RbacProof, Simulation, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { operator } from "../src/main.ts"
import { controller } from "../src/website/reconciler.ts"
import { Website } from "../src/website/resource.ts"

const key = { namespace: "default", name: "sample" }

/** An in-memory cluster. Time passes only when the test says so. */
const cluster = TestCluster.layer({ resources: [Website] })

const scenario = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Website, { metadata: key, spec: { image: "nginx:1.29", replicas: 3 } })
  yield* TestClock.adjust("1 minute")
  const { status } = yield* client.get(Website, key)
  assert.strictEqual(status?.availableReplicas, 3)
  assert.strictEqual(status?.conditions?.[0]?.status, "True")

  yield* client.patch(Website, key, KubeClient.Patch.merge({ spec: { replicas: 1 } }))
  yield* TestClock.adjust("1 minute")
  assert.strictEqual((yield* client.get(Website, key)).status?.availableReplicas, 1)

  yield* client.delete(Website, key)
  yield* TestClock.adjust("1 minute")
  assert.deepStrictEqual((yield* client.listPage(Deployment, { namespace: key.namespace })).items, [])
})

it.effect("a Website has the Pods it asks for, and none once it is gone", () =>
  scenario.pipe(Effect.provide(Manager.layer([controller]).pipe(Layer.provideMerge(cluster)))))

it.effect("the permissions in the manifests are enough", () =>
  RbacProof.prove({ manifests: operator, operator: Manager.layer([controller]) }, scenario).pipe(
    Effect.provide(cluster)
  ))

/** There is a Deployment with this number of Pods, all of them available. */
const runs = (replicas: number): Simulation.Desired => (objects) =>
  objects.some((object) =>
    object.kind === Deployment.kind && (object as Deployment).status?.availableReplicas === replicas
  )

// Every single fault, as far as the budget allows: the process dies at a write, an answer is lost, a cache is behind, a
// Pod dies, … A failure prints what the operator saw and did, and a token that replays it.
Simulation.converges(it.live)({
  name: "website",
  resources: [Website],
  operator: Manager.layer([controller]),
  steps: [
    {
      name: "create",
      act: KubeClient.KubeClient.use((client) =>
        client.create(Website, { metadata: key, spec: { image: "nginx:1.29", replicas: 1 } })
      ),
      desired: runs(1)
    },
    {
      name: "scale",
      act: KubeClient.KubeClient.use((client) =>
        client.patch(Website, key, KubeClient.Patch.merge({ spec: { replicas: 2 } }))
      ),
      desired: runs(2)
    },
    { name: "delete", act: KubeClient.KubeClient.use((client) => client.delete(Website, key)) }
  ]
}, { depth: 1, budget: "5 seconds", pooled: true })
