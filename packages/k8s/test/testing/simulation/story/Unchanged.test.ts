import { Action, CelRule, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { Simulation } from "@effect-operator/k8s/testing"
import * as Unchanged from "@effect-operator/k8s/testing/simulation/story/Unchanged"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as B from "../planted/Box.ts"

const Shop = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Shop",
  spec: Schema.Struct({
    size: Schema.Int,
    image: Schema.optionalKey(Schema.String),
    zone: Schema.NonEmptyString.pipe(CelRule.rules(CelRule.immutable())),
    opening: Schema.Struct({ days: Schema.Array(Schema.String), hour: Schema.Int })
  })
})

const key = { namespace: "default", name: "a" }
const spec = { size: 1, zone: "a", opening: { days: ["Monday"], hour: 8 } }
const patch = (spec: object) => B.client.use((it) => it.patch(Shop, key, KubeClient.Patch.merge({ spec })))

const scenario = (...steps: B.Steps): Simulation.Scenario => ({
  name: "shops",
  resources: [Shop, B.Box],
  operator: Manager.layer([
    Controller.make("shops", {
      for: Shop,
      // A Box is made, and stays as it is: nobody's step has to do with it.
      reconcile: () => Effect.as(B.unlessThere(B.write(1)), Action.done)
    })
  ]),
  steps: [{ name: "create", act: B.client.use((it) => it.create(Shop, { metadata: key, spec })) }, ...steps]
})

const bigger: B.Steps[number] = { name: "bigger", act: patch({ size: 2, opening: { hour: 9 } }) }
const unchanged = (scenario: Simulation.Scenario) => Unchanged.fields(scenario, Simulation.record(scenario))

describe("Unchanged", () => {
  it("names each field that no step changes, but those that cannot be", () => {
    assert.deepStrictEqual(unchanged(scenario(bigger)), ["Shop.spec.image", "Shop.spec.opening.days"])
    const other = { name: "other", act: patch({ image: "x", opening: { days: [] } }) }
    assert.deepStrictEqual(unchanged(scenario(bigger, other)), [])
  })

  it("another object with other values is no change", () => {
    const another = {
      name: "another",
      act: B.client.use((it) => it.create(Shop, { metadata: { ...key, name: "b" }, spec: { ...spec, size: 7 } }))
    }
    assert.include(unchanged(scenario(another)), "Shop.spec.size")
  })

  it.live("is part of what is said of the coverage", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(scenario(bigger), { depth: 1, runs: 2 })
      assert.deepStrictEqual(report.unchanged, ["Shop.spec.image", "Shop.spec.opening.days"])
      assert.include(Simulation.summary(report), "no step changes Shop.spec.image, Shop.spec.opening.days")
      assert.deepStrictEqual(Simulation.together([report, { ...report, unchanged: [] }]).unchanged, [])
    }))
})
