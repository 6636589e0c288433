import { Cluster, KubeClient, type Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Deployment } from "../../src/kinds/index.ts"
import { External, TestCluster } from "../../src/testing/index.ts"

const labels = { app: "web" }
const key = { namespace: "default", name: "web" }

/** Makes a Deployment, whose Pod needs some time until it is ready, and returns the uid. */
const deploy = (client: KubeClient.Client, kind: Resource.Resource<Deployment> = Deployment) =>
  Effect.map(
    client.create(kind, {
      metadata: key,
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } }
      }
    }),
    ({ metadata }) => metadata.uid
  )

const ready = (client: KubeClient.Client, kind: Resource.Resource<Deployment> = Deployment) =>
  Effect.map(client.get(kind, key), ({ status }) => status?.readyReplicas)

describe("several clusters in a test", () => {
  it.effect("live in the same time, and give their objects different uids", () =>
    Effect.gen(function*() {
      const home = yield* KubeClient.KubeClient
      const other = Context.get(yield* Layer.build(TestCluster.layer()), KubeClient.KubeClient)
      assert.notStrictEqual(yield* deploy(home), yield* deploy(other))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([yield* ready(home), yield* ready(other)], [1, 1])
    }).pipe(Effect.provide(TestCluster.layer())))

  it.effect("also if neither was made within the other", () =>
    Effect.gen(function*() {
      const home = yield* Layer.build(TestCluster.layer())
      const other = Context.get(yield* Layer.build(TestCluster.layer()), KubeClient.KubeClient)
      yield* Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        yield* deploy(client)
        yield* deploy(other)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual([yield* ready(client), yield* ready(other)], [1, 1])
      }).pipe(Effect.provide(home))
    }))

  const east = Cluster.make("east")

  it.effect("as those that one client reaches", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const EastDeployment = Cluster.on(Deployment, east)
      yield* deploy(client)
      yield* deploy(client, EastDeployment)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([yield* ready(client), yield* ready(client, EastDeployment)], [1, 1])
    }).pipe(Effect.provide(
      Cluster.layer([[east, TestCluster.layer()]]).pipe(Layer.provideMerge(TestCluster.layer()))
    )))
})

describe("what is outside of a cluster", () => {
  const cluster = TestCluster.layer()
  for (const test of ["one test", "another"]) {
    it.effect(`is that of ${test}`, () =>
      Effect.gen(function*() {
        const bought = yield* External.state("bought", () => new Set<string>())
        assert.strictEqual(bought.size, 0)
        bought.add(test)
        assert.strictEqual((yield* External.state("bought", () => new Set())).size, 1)
      }).pipe(Effect.provide(cluster)))
  }
})
