import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { scenarios } from "./support/Scenarios.ts"

const named = (name: string) => scenarios.find((scenario) => scenario.name === name)!

/** A sample of every kind of fault; `npm run simulate` runs all of them, and deeper. */
describe("simulated examples", () => {
  // An operator that only reads meets fewer kinds of fault.
  const faults = { podset: 16, autoscaler: 16, basicdeployment: 16, contracts: 16, farm: 10 }
  for (const [name, kinds] of Object.entries(faults)) {
    it.live(`${name} converges whatever goes wrong`, () =>
      Effect.gen(function*() {
        const report = yield* Simulation.checkConvergence(named(name), { depth: 1, runs: 40, interleavings: 2 })
        assert.strictEqual(report.run, 40)
        assert.isAtLeast(Object.keys(report.byFault).length, kinds)
      }))
  }

  it.live("a PodSet converges whatever sizes it is given, one after the other", () =>
    Effect.gen(function*() {
      const options = { depth: 1, runs: 12, interleavings: 1, stories: 3 } as const
      const report = yield* Simulation.checkConvergence(named("podset-drawn"), options)
      assert.strictEqual(report.stories, 3)
      assert.strictEqual(report.runs, 12)
    }))

  it.live("the naive autoscaler does not: a Pod that nobody wrote down", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Simulation.checkConvergence(named("naive-autoscaler")))
      assert.strictEqual(failure.oracle, "desired state")
      assert.strictEqual(failure.faults, 1)
      assert.include(failure.message, "the process dies after it, before the answer")
    }))
})
