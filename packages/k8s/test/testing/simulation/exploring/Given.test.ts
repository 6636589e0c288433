import { Controller, Manager } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer } from "effect"
import * as B from "../planted/Box.ts"

const sound: Simulation.Scenario = {
  name: "given",
  resources: B.resources,
  operator: B.boxes(() => B.done(Effect.void)),
  steps: [...B.sized(1), ...B.deleted]
}

/** What an exploration ends with, in its own words. */
const said = (scenario: object, options: object = {}) =>
  Effect.map(
    Effect.exit(Simulation.checkConvergence({ ...sound, ...scenario } as Simulation.Scenario, {
      depth: 1,
      runs: 1,
      interleavings: 0,
      ...options
    })),
    (exit) => exit._tag === "Success" ? undefined : (Cause.squash(exit.cause) as Error).message.split("\n")[0]
  )

describe("Given", () => {
  it.live("what cannot be meant is told by its name and value, and what it is to be", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* said({}))
      const options: ReadonlyArray<readonly [given: object, told: string]> = [
        [{ depth: 9 }, "depth: 9: must be 1, 2 or 3"],
        [{ runs: -1 }, "runs: -1: must be a whole number from 0"],
        [{ stories: 0 }, "stories: 0: must be a whole number from 1"],
        [{ seed: 0.5 }, "seed: 0.5: must be a whole number"],
        [{ budget: "soon" }, "budget: \"soon\": must be a duration, such as \"20 seconds\""],
        [
          { faults: ["crashAfter", "crashed"] },
          "faults: \"crashed\": must be the name of a fault: crashBefore, crashAfter,"
        ]
      ]
      for (const [given, told] of options) assert.include(yield* said({}, given), told)
      const scenarios: ReadonlyArray<readonly [given: object, told: string]> = [
        [{ operator: undefined }, "operator: undefined: must be a layer, or a function that returns one"],
        [{ replicas: 0 }, "replicas: 0: must be a whole number from 1"],
        [{ without: ["nope"] }, "without: \"nope\": must be the name of a fault"],
        [{ rest: "long" }, "rest: \"long\": must be a duration"],
        [{ steps: [{ name: "a", act: () => Effect.void }] }, "step \"a\": act: a function: must be an effect"]
      ]
      for (const [given, told] of scenarios) assert.include(yield* said(given), told)
    }))

  it.live("a step that cannot be done without faults is told, not passed over", () =>
    Effect.gen(function*() {
      const act = B.client.use((it) => it.create(ConfigMap, { metadata: B.named("A_b") }))
      const told = yield* said({ steps: [...B.sized(1), { name: "settings", act }, ...B.deleted] })
      assert.include(
        told,
        "valid scenario: step \"settings\" fails without any fault: KubeError: create configmaps"
      )
      const late = { name: "late", act: Effect.andThen(Effect.sleep("10 seconds"), act) }
      assert.include(yield* said({ steps: [late] }), "step \"late\" fails without any fault")
      assert.isUndefined(yield* said({ steps: [...B.sized(1), { name: "settings", act: Effect.flip(act) }] }))
    }))

  it.live("what people do is waited for, however long it takes, and told if it does not end", () =>
    Effect.gen(function*() {
      const late = { name: "late", act: Effect.andThen(Effect.sleep("6 hours"), B.write(2)) }
      const desired = (objects: ReadonlyArray<KubeObject>) => objects.some((one) => (one as B.Box).spec?.size === 2)
      const steps = [{ ...late, desired }, ...B.deleted]
      assert.isUndefined(yield* said({ steps }))
      assert.isUndefined(yield* said({ steps: [...B.sized(1), ...steps] }, { runs: 12, window: 1 }))
      assert.include(
        yield* said({ steps: [{ name: "endless", act: Effect.never }] }),
        "valid scenario: step \"endless\" does not end"
      )
    }))

  it.live("a desired that says neither true nor false is told where there is no fault", () =>
    Effect.gen(function*() {
      const desired = () => undefined as unknown as boolean
      const told = yield* said({ steps: [{ ...B.sized(1)[0]!, desired }] })
      assert.include(
        told,
        "valid scenario: `desired` of step \"size 1\" returned undefined: it must return true or false"
      )
    }))

  it.live("an operator that does not start is told of by what it ends with", () =>
    Effect.gen(function*() {
      const failing = Layer.effectDiscard(Effect.die(new Error("no credentials")))
      assert.include(
        yield* said({ operator: failing }),
        "keeps running: the process exited by itself: Error: no credentials"
      )
      assert.include(
        yield* said({ operator: () => undefined }),
        "the function `operator` of the scenario returned undefined"
      )
      const manager = () =>
        Manager.layer([Controller.make("boxes", { for: B.Box, reconcile: () => B.done(Effect.void) })])
      assert.isUndefined(yield* said({ operator: manager }))
    }))
})
