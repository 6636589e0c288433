import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it as base } from "@effect/vitest"
import { Effect } from "effect"
import * as Methods from "../../../../src/testing/simulation/story/Methods.ts"
import { planted } from "../Planted.ts"
import * as B from "../planted/Box.ts"

const it = Simulation.extend(base)

const { name: _, ...corrected } = planted[0]!.right

describe("it.effect.converges", () => {
  it.effect.converges("a scenario", corrected, { depth: 1, runs: 3, interleavings: 0 })

  it.effect.converges("an operator of a kind", {
    resource: B.Box,
    operator: corrected.operator,
    cluster: corrected.cluster
  }, { depth: 1, runs: 3, interleavings: 0, stories: 1 })

  it.effect("leaves `it` what it was", () =>
    Effect.sync(() => assert.isUndefined(Reflect.get(base.effect, "converges"))))

  it("an operator of a kind is a scenario of drawn stories", () => {
    const subject = {
      resource: B.Box,
      resources: [B.Box],
      operator: corrected.operator,
      without: ["restarted" as const]
    }
    const scenario = Methods.scenarioOf("boxes", subject)
    assert.deepStrictEqual(scenario.resources, [B.Box, B.Box])
    assert.strictEqual(scenario.draws?.resource, B.Box)
    assert.deepInclude(scenario, { name: "boxes", steps: [], without: ["restarted"] })
  })
})
