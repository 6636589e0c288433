import { Manager } from "@effect-operator/core"
import { example as autoscaler } from "@effect-operator/examples/autoscaler/example"
import { Autoscaler } from "@effect-operator/examples/autoscaler/resource"
import type { Pod } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it as test } from "@effect/vitest"
import { Effect } from "effect"
import { scenarios } from "./support/Scenarios.ts"

const it = Simulation.extend(test)

const named = (name: string) => scenarios.find((scenario) => scenario.name === name)!

/** A sample of every kind of fault; `npm run simulate` runs all of them, and deeper. */
describe("simulated examples", () => {
  /** Runs, and kinds of faults there are at least: an operator that only reads meets fewer. */
  const samples = {
    "podset": [24, 16],
    "autoscaler": [24, 16],
    "autoscaler-observing": [12, 12],
    "kronjob": [16, 16],
    "kronjob-history": [8, 16],
    "database": [8, 16],
    "volumebackup": [16, 16],
    "basicdeployment": [12, 16],
    "contracts": [20, 16],
    "farm": [20, 10]
  } as const
  for (const [name, [runs, kinds]] of Object.entries(samples)) {
    it.live(`${name} converges whatever goes wrong`, () =>
      Effect.gen(function*() {
        const report = yield* Simulation.checkConvergence(named(name), { depth: 1, runs, interleavings: 2 })
        assert.strictEqual(report.runs, runs)
        assert.isAtLeast(Object.keys(report.byFault).length, kinds)
      }), { timeout: 60_000 })
  }

  it.live("an Autoscaler that is gone is not made Pods for, whatever a cache says of it", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(named("autoscaler"), {
        depth: 1,
        faults: ["travelRestart"],
        interleavings: 0
      })
      assert.isTrue(report.exhaustive)
    }), { timeout: 60_000 })

  it.live("a Database draws no second password where a cache has not seen the first", () =>
    Effect.gen(function*() {
      const database = named("database")
      const report = yield* Simulation.checkConvergence({ ...database, steps: database.steps.slice(0, 1) }, {
        depth: 1,
        faults: ["staleRestart", "oldRestart"],
        interleavings: 0
      })
      assert.isTrue(report.exhaustive)
    }), { timeout: 60_000 })

  it.live("a PodSet converges whatever sizes it is given, one after the other", () =>
    Effect.gen(function*() {
      const options = { depth: 1, runs: 12, interleavings: 1, stories: 3 } as const
      const report = yield* Simulation.checkConvergence(named("podset-drawn"), options)
      assert.strictEqual(report.stories, 3)
      assert.strictEqual(report.runs, 12)
    }))

  it.effect.converges("any Autoscaler, any fault", {
    resource: Autoscaler,
    operator: Manager.layer(autoscaler.controllers),
    desired: (wanted, objects) => {
      const pods = objects.filter((object): object is Pod => object.kind === "Pod")
      return pods.length === (wanted?.spec.desiredReplicas ?? 0) &&
        pods.every(({ metadata, spec }) =>
          metadata.namespace === wanted?.spec.targetNamespace && spec.containers[0]?.image === wanted.spec.image
        )
    }
  }, { depth: 1, runs: 24, interleavings: 1, stories: 4 })

  it.live("the naive autoscaler does not: a Pod that nobody wrote down", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Simulation.checkConvergence(named("naive-autoscaler")))
      assert.strictEqual(failure.oracle, "desired state")
      assert.strictEqual(failure.faults, 1)
      assert.include(failure.message, "the process dies after it, before the answer")
    }))
})
