import { ApiService } from "@effect-operator/k8s"
import { RbacProof, TestApiServices, TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { manifests, operatorOf } from "../src/Example.ts"
import { examples } from "../src/examples.ts"
import * as Steps from "../src/Steps.ts"

/** What is declared and no step of the story needs: what keeps no more than so many, or tidies up after others. */
const unneeded: Readonly<Record<string, ReadonlyArray<string>>> = {
  basicdeployment: ["delete basicreplicasets"],
  kronjob: ["delete jobs"],
  volumebackup: ["delete persistentvolumeclaims", "delete pods", "delete jobs"]
}

describe("under the permissions of its manifests, as its own service account", () => {
  for (const example of examples) {
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
        assert.deepStrictEqual(unused.map(({ resource, verb }) => `${verb} ${resource}`), unneeded[example.name] ?? [])
      }).pipe(
        Effect.provide(Layer.provideMerge(TestApiServices.layer, TestCluster.layer(example)))
      ))
  }
})
