import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Planted } from "./Box.ts"

/** Every bug is found, by its oracle, with one fault at most; nobody complains about its twin. */
export const check = (title: string, planted: ReadonlyArray<Planted>): void => {
  describe(title, () => {
    for (const { faults = 1, name, options, oracle, right, wrong } of planted) {
      it.live(`finds: ${name}`, () =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(Simulation.checkConvergence(wrong, { depth: 1, ...options }))
          assert.strictEqual(failure.oracle, oracle, failure.message)
          assert.isAtMost(failure.faults, faults)
          assert.include(failure.message, `Replay: ${failure.replay}`)
        }))

      it.live(`is content with its corrected twin: ${name}`, () =>
        Effect.gen(function*() {
          const twin = { depth: 1, runs: 8, interleavings: 1, ...options } as const
          const { interleavings, points, run, runs } = yield* Simulation.checkConvergence(right, twin)
          // With several replicas, another order of tasks is among the eight.
          assert.strictEqual(run, Math.min(8 - interleavings, points))
          assert.isAtLeast(runs, run)
        }))
    }
  })
}
