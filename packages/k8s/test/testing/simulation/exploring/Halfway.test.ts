import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

/** Settings in which something is left of a smaller size while the size is four. */
const leaving = B.boxes((box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const { data } = (yield* B.cached("settings")) ?? {}
    const size = String(box.spec.size)
    if (data?.["size"] === size) return yield* B.done(Effect.void)
    const left = box.spec.size === 4 && data !== undefined ? { small: "yes" } : {}
    return yield* B.done(it.apply(ConfigMap, B.map("settings", { size, ...left }, box), { force: true }))
  }), { owns: [ConfigMap] })

const scenario: Simulation.Scenario = {
  name: "leaving",
  resources: B.resources,
  operator: leaving,
  steps: B.sized(1, 2, 3, 4, 5)
}

describe("Halfway", () => {
  const options = { depth: 1, interleavings: 0, shrinking: "0 seconds" } as const

  it.live("what a later step removes is told of the rest before it, also where others come first", () =>
    Effect.gen(function*() {
      for (const faults of [["crashAfter"], []] as const) {
        const { complaint, faults: met } = yield* Effect.flip(
          Simulation.checkConvergence(scenario, { ...options, faults })
        )
        assert.include(complaint, "small")
        assert.strictEqual(met, 0)
      }
    }))

  it.live("of several parts one judges it", () =>
    Effect.gen(function*() {
      const parts = yield* Effect.forEach([0, 1], (index) =>
        Effect.result(Simulation.checkConvergence(scenario, { ...options, faults: [], part: { index, of: 2 } })))
      assert.strictEqual(
        parts.filter(({ _tag }) =>
          _tag === "Failure"
        ).length,
        1
      )
    }))
})
