import { Action } from "@effect-operator/core"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

/** Has settings for a small Box, and leaves a large one as it is. */
const small = B.boxes((box) =>
  box.spec.size > 2 ? Effect.succeed(Action.done) : B.done(B.keep(box, "settings", { size: String(box.spec.size) }))
)

describe("Unharmed", () => {
  it.live("without an object that comes and goes nobody asks for it again, as nothing was changed by that", () =>
    Effect.gen(function*() {
      const steps = [...B.sized(1, 1), ...B.deleted, ...B.sized(3)]
      const scenario = { name: "asked-again", resources: B.resources, operator: small, steps }
      const { runs } = yield* Simulation.checkConvergence(scenario, { runs: 0 })
      assert.isAtLeast(runs, 0)
    }))
})
