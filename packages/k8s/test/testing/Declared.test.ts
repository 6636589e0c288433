import { Action, Controller, CustomResource, CustomResourceVersions, KubeClient, Manager } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation, TestCluster, TestWebhooks } from "@effect-operator/k8s/testing"
import * as Webhook from "@effect-operator/k8s/Webhook"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"

const common = { group: "example.com", kind: "Shelf", status: Schema.Struct({ seen: Schema.Int }) } as const

const V1 = CustomResource.make({ ...common, version: "v1", spec: Schema.Struct({ size: Schema.Int }) })
const V2 = CustomResource.make({
  ...common,
  version: "v2",
  spec: Schema.Struct({ limits: Schema.Struct({ size: Schema.Int }) })
})

const Shelves = CustomResourceVersions.make({
  steps: [
    CustomResourceVersions.between(V1, V2, {
      up: ({ spec, status }) => ({ spec: { limits: spec }, status }),
      down: ({ spec, status }) => ({ spec: { size: spec.limits.size }, status })
    })
  ]
})

const key = { namespace: "default", name: "a" }

const keeps = Controller.make("keeps", {
  for: V2,
  owns: [ConfigMap],
  reconcile: Effect.fnUntraced(function*(shelf) {
    const client = yield* KubeClient.KubeClient
    const { size } = shelf.spec.limits
    yield* client.apply(ConfigMap, {
      metadata: { ...key, ownerReferences: [controllerReference(shelf)] },
      data: { size: String(size) }
    })
    if (shelf.status?.seen !== size) {
      yield* client.patch(V2, key, KubeClient.Patch.merge({ status: { seen: size } }), { subresource: "status" })
    }
    return Action.done
  })
})

const create = KubeClient.KubeClient.use((client) => client.create(V1, { metadata: key, spec: { size: 3 } }))

describe("Declared", () => {
  it.effect("all versions of a kind are there, and the server converts by what is declared", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* create
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* client.get(V2, key)).spec, { limits: { size: 3 } })
      const { spec, status } = yield* client.get(V1, key)
      assert.deepStrictEqual([spec, status], [{ size: 3 }, { seen: 3 }], "told in the other version")
    }).pipe(
      Effect.provide(Manager.layer([keeps]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Shelves] }))))
    ))

  it.effect("an operator that installs its own conversion is asked from then on", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      let asked = 0
      const conversion = Webhook.conversion(V2, {
        convert: (object, desired) =>
          Effect.fromResult(CustomResourceVersions.convert(Shelves, object, desired)).pipe(
            Effect.tap(() => Effect.sync(() => asked += 1))
          )
      })
      const service = { namespace: "operators", name: "shelves" }
      yield* create
      assert.strictEqual(asked, 0)
      yield* Layer.build(
        Webhook.layer([conversion], { name: "shelves", service }).pipe(Layer.provide(TestWebhooks.layer))
      )
      yield* Webhook.install([conversion], { name: "shelves", reachable: { service } })
      assert.deepStrictEqual((yield* client.get(V1, key)).spec, { size: 3 })
      assert.isAbove(asked, 0)
    }).pipe(Effect.provide(TestCluster.layer({ resources: [Shelves] }))))

  it.effect("a scenario may be told in one version, and lived through in another", () => {
    const scenario: Simulation.Scenario = {
      name: "shelves",
      resources: [Shelves],
      operator: Manager.layer([keeps]),
      steps: [
        { name: "create", act: create },
        {
          name: "resize",
          act: KubeClient.KubeClient.use((client) =>
            client.patch(V1, key, KubeClient.Patch.merge({ spec: { size: 5 } }))
          ),
          desired: (objects) =>
            objects.some((object) => object.kind === "ConfigMap" && (object as ConfigMap).data?.["size"] === "5")
        }
      ]
    }
    return Effect.map(Simulation.checkConvergence(scenario, { seed: 1, depth: 1, runs: 1_000 }), (report) => {
      assert.isTrue(report.exhaustive)
      assert.isAbove(report.points, 50)
    })
  })
})
