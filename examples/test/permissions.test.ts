import { KubeClient, type KubeObject, Manager } from "@effect-operator/core"
import { RbacProof, TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Example, manifests } from "../src/Example.ts"
import { examples } from "../src/examples.ts"

/** The story of an example in virtual time: step after step, each until the cluster is as it should be. */
const tell = Effect.fnUntraced(function*({ follows, name, story }: Example) {
  const client = yield* KubeClient.KubeClient
  const look = Effect.map(
    Effect.forEach(follows, (resource) => Stream.runCollect(client.list(resource))),
    (lists): ReadonlyArray<KubeObject.KubeObject> => lists.flat()
  )
  for (const { act, done, title } of story) {
    const before = yield* look
    yield* act
    let converged = false
    for (let second = 0; second < 120 && !converged; second++) {
      yield* TestClock.adjust("1 second")
      converged = done(yield* look, before)
    }
    assert.isTrue(converged, `${name}: ${title}`)
  }
})

/** Examples whose story needs nothing but a cluster, and whether it uses every permission that is declared. */
const told: Readonly<Record<string, boolean>> = {
  autoscaler: true,
  podset: true,
  basicdeployment: false,
  kronjob: false
}

describe("under the permissions of its manifests, as its own service account", () => {
  for (const example of examples.filter(({ name }) => name in told)) {
    it.effect(`${example.name} converges`, () =>
      Effect.gen(function*() {
        const subject = { manifests: manifests(example), operator: Manager.layer(example.controllers) }
        const { missing, unused } = yield* RbacProof.prove(subject, tell(example))
        assert.deepStrictEqual(missing, [])
        if (told[example.name]) assert.deepStrictEqual(unused, [])
      }).pipe(Effect.provide(TestCluster.layer({ resources: example.resources }))), 30_000)
  }
})
