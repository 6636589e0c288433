import { Controller, Manager } from "@effect-operator/core"
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
        [{ depth: 9 }, "depth: 9: 1, 2 or 3 faults in a run"],
        [{ runs: -1 }, "runs: -1: a number from 0"],
        [{ stories: 0 }, "stories: 0: a number from 1"],
        [{ seed: 0.5 }, "seed: 0.5: a whole number"],
        [{ budget: "soon" }, "budget: \"soon\": a duration, such as \"20 seconds\""],
        [{ faults: ["crashAfter", "crashed"] }, "faults: \"crashed\": the name of a fault: crashBefore, crashAfter,"]
      ]
      for (const [given, told] of options) assert.include(yield* said({}, given), told)
      const scenarios: ReadonlyArray<readonly [given: object, told: string]> = [
        [{ operator: undefined }, "operator: undefined: a layer, or a function that gives one"],
        [{ replicas: 0 }, "replicas: 0: a number of processes from 1"],
        [{ without: ["nope"] }, "without: \"nope\": the name of a fault"],
        [{ rest: "long" }, "rest: \"long\": a duration"],
        [{ steps: [{ name: "a", act: () => Effect.void }] }, "step \"a\": act: a function: an effect"]
      ]
      for (const [given, told] of scenarios) assert.include(yield* said(given), told)
    }))

  it.live("a step that cannot be done without faults is told, not passed over", () =>
    Effect.gen(function*() {
      const act = B.client.use((it) => it.create(ConfigMap, { metadata: B.named("A_b") }))
      const told = yield* said({ steps: [...B.sized(1), { name: "settings", act }, ...B.deleted] })
      assert.include(
        told,
        "sound scenario: step \"settings\" cannot be done, without any fault: KubeError: create configmaps"
      )
      const late = { name: "late", act: Effect.andThen(Effect.sleep("10 seconds"), act) }
      assert.include(yield* said({ steps: [late] }), "step \"late\" cannot be done")
      assert.isUndefined(yield* said({ steps: [...B.sized(1), { name: "settings", act: Effect.flip(act) }] }))
    }))

  it.live("a desired that says neither true nor false is told where there is no fault", () =>
    Effect.gen(function*() {
      const desired = () => undefined as unknown as boolean
      const told = yield* said({ steps: [{ ...B.sized(1)[0]!, desired }] })
      assert.include(told, "sound scenario: the desired of step \"size 1\" gave undefined: it has to say true or false")
    }))

  it.live("an operator that does not start is told of by what it ends with", () =>
    Effect.gen(function*() {
      const failing = Layer.effectDiscard(Effect.die(new Error("no credentials")))
      assert.include(
        yield* said({ operator: failing }),
        "keeps running: the process ended by itself: Error: no credentials"
      )
      assert.include(yield* said({ operator: () => undefined }), "the function that is the operator gave undefined")
      const manager = () =>
        Manager.layer([Controller.make("boxes", { for: B.Box, reconcile: () => B.done(Effect.void) })])
      assert.isUndefined(yield* said({ operator: manager }))
    }))
})
