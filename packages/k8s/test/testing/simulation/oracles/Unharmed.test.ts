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
  it.live("of one that comes again, that it lacks what it would have the first time", () =>
    Effect.gen(function*() {
      const operator = B.remembering(() => new Set<string>(), (known) =>
        B.boxes((box) =>
          known.has(box.metadata.name)
            ? Effect.succeed(Action.done)
            : Effect.tap(
              B.done(B.keep(box, "settings", { size: String(box.spec.size) })),
              () => Effect.sync(() => known.add(box.metadata.name))
            )
        ))
      const again = [...B.sized(1), ...B.deleted, { name: "again", act: B.write(1) }]
      const scenario = { name: "again", resources: B.resources, operator, steps: again }
      const { complaint, oracle } = yield* Effect.flip(Simulation.checkConvergence(scenario, { runs: 0 }))
      assert.strictEqual(oracle, "other custom resources are unaffected")
      assert.strictEqual(
        complaint,
        "Box box is created again after its deletion, and lacks what it has in the end if it is created only then (is " +
          "something remembered by its name that is true of the first one only?): ConfigMap default/settings"
      )
    }))

  it.live("without an object that comes and goes nobody asks for it again, as nothing was changed by that", () =>
    Effect.gen(function*() {
      const steps = [...B.sized(1, 1), ...B.deleted, ...B.sized(3)]
      const scenario = { name: "asked-again", resources: B.resources, operator: small, steps }
      const { runs } = yield* Simulation.checkConvergence(scenario, { runs: 0 })
      assert.isAtLeast(runs, 0)
    }))
})
