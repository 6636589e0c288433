import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Box, planted } from "./Planted.ts"

/** Runs it and answers its failure; fails if it converges. */
const failing = (scenario: Simulation.Scenario, options: Simulation.Options = {}) =>
  Effect.flip(Simulation.checkConvergence(scenario, { depth: 1, ...options }))

describe("Simulation: planted bugs", () => {
  for (const { name, oracle, right, wrong } of planted) {
    it.live(`finds: ${name}`, () =>
      Effect.gen(function*() {
        const failure = yield* failing(wrong)
        assert.strictEqual(failure.oracle, oracle, failure.message)
        assert.isAtMost(failure.faults, 1)
        assert.include(failure.message, "Replay: kx1:")
      }))

    it.live(`is content with its corrected twin: ${name}`, () =>
      Effect.gen(function*() {
        const report = yield* Simulation.checkConvergence(right, { depth: 1, runs: 60 })
        assert.isAtLeast(report.run, 10)
      }))
  }
})

describe("Simulation", () => {
  const [bug] = planted

  it.live("replays a failure from its token, to the letter", () =>
    Effect.gen(function*() {
      const failure = yield* failing(bug!.wrong)
      const { replay } = failure
      const again = yield* failing(bug!.wrong, { replay })
      assert.strictEqual(again.message, failure.message)
      assert.deepStrictEqual(Simulation.story(bug!.wrong, replay), Simulation.story(bug!.wrong, replay))
    }))

  it.live("refuses a token of another scenario, or a broken one, and says why", () =>
    Effect.gen(function*() {
      const { replay } = yield* failing(bug!.wrong)
      const defect = (scenario: Simulation.Scenario, replay: string) =>
        Effect.map(Effect.exit(Simulation.checkConvergence(scenario, { replay })), String)
      assert.include(yield* defect(bug!.right, replay), "the token is of \"intermediate-wrong\"")
      assert.include(yield* defect(bug!.wrong, replay.slice(0, 12)), "cut, or changed")
      assert.include(yield* defect(bug!.wrong, "nonsense"), "must begin with kx1:")
    }))

  it.live("says how much it covered, and never calls a part the whole", () =>
    Effect.gen(function*() {
      const part = yield* Simulation.checkConvergence(bug!.right, { runs: 20 })
      assert.isFalse(part.exhaustive)
      assert.strictEqual(part.run, 20)
      assert.isAbove(part.points, 100)
      const found = Object.values(part.byFault).reduce((sum, { found }) => sum + found, 0)
      assert.strictEqual(found, part.points)
    }))

  it.live("names a program that is not the same twice", () =>
    Effect.gen(function*() {
      let n = 0
      const careless = Controller.make("careless", {
        for: Box,
        reconcile: () =>
          Effect.as(
            KubeClient.KubeClient.use((client) =>
              client.create(ConfigMap, { metadata: { namespace: "default", name: `chance-${n++}` } })
            ),
            Action.done
          )
      })
      const exit = yield* Effect.exit(Simulation.checkConvergence({
        name: "careless",
        resources: [Box],
        operator: Manager.layer([careless]),
        steps: bug!.wrong.steps.slice(0, 1)
      }))
      assert.include(String(exit), "two runs with the same seed differ")
    }))
})
