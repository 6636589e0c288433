import { ApiService } from "@effect-operator/k8s"
import { RbacProof, TestApiServices, TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { manifests, operatorOf } from "../src/Example.ts"
import { examples } from "../src/examples.ts"
import * as Steps from "../src/Steps.ts"

/** Examples whose story needs nothing but a cluster, and whether it uses every permission that is declared. */
const told: Readonly<Record<string, boolean>> = {
  autoscaler: true,
  podset: true,
  basicdeployment: false,
  kronjob: false,
  farm: true
}

describe("under the permissions of its manifests, as its own service account", () => {
  for (const example of examples.filter(({ name }) => name in told)) {
    it.effect(`${example.name} converges`, () =>
      Effect.gen(function*() {
        const subject = { manifests: manifests(example), operator: operatorOf(example) }
        // Who registers it is not the operator.
        if (example.serves !== undefined) {
          const { api, server: { service } } = example.serves
          yield* ApiService.install(api, { service, localhost: true })
        }
        const steps = Steps.perform(example.story, {
          look: Steps.listed(example.follows),
          every: "1 second",
          within: "2 minutes",
          pass: TestClock.adjust
        })
        // The aggregator looks at its backends from time to time.
        const story = Effect.andThen(TestClock.adjust("1 minute"), steps)
        const { missing, unused } = yield* RbacProof.prove(subject, story)
        assert.deepStrictEqual(missing, [])
        if (told[example.name]) assert.deepStrictEqual(unused, [])
      }).pipe(
        Effect.provide(Layer.provideMerge(TestApiServices.layer, TestCluster.layer({ resources: example.resources })))
      ), 30_000)
  }
})
