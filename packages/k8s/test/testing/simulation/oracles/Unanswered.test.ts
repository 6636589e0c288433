import { Action } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

const zones = External.state("zones", () => new Set(["a", "b"]))

/** A map for the Box as long as there are zones, which are asked for by a call of that name. */
const zoned = (call: string, isEmpty: boolean): Simulation.Scenario => ({
  name: "zoned",
  resources: B.resources,
  operator: B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const asked = External.call(call, () => "nobody answers", Effect.map(zones, (all) => [...all]))
      const all = yield* isEmpty ? Effect.orElseSucceed(asked, () => []) : asked
      if (all.length > 0) return yield* B.done(B.keep(box, "zones", { size: String(box.spec.size) }))
      yield* B.unlessGone(it.delete(ConfigMap, B.named("zones")))
      return Action.requeueAfter("5 seconds")
    })
  ),
  steps: B.sized(1, 2)
})

const options: Simulation.Options = { depth: 1, faults: ["externalFails"], interleavings: 0 }

const complaintOf = (scenario: Simulation.Scenario, more: Simulation.Options = {}) =>
  Simulation.checkConvergence(scenario, { ...options, ...more }).pipe(
    Effect.as(undefined),
    Effect.catch(({ complaint, oracle }) => Effect.succeed(`${oracle}: ${complaint}`))
  )

describe("a failed read is not an empty one", () => {
  it.live("what was there before the step does not go and come, as a list outside fails", () =>
    Effect.gen(function*() {
      assert.include(
        yield* complaintOf(zoned("list zones", true)),
        "a failed read is not an empty one: ConfigMap zones is removed after the outside call \"list zones\" failed"
      )
      assert.isUndefined(yield* complaintOf(zoned("list zones", false)))
    }))

  it.live("nor where faults of several steps share a run", () =>
    Effect.gen(function*() {
      const more = { pooled: true, faults: ["externalFails", "serverError"] } as const
      assert.include(yield* complaintOf(zoned("list zones", true), more), "a failed read is not an empty one")
      assert.isUndefined(yield* complaintOf(zoned("list zones", false), more))
    }))

  it.live("who tries something out has its answer when that fails", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* complaintOf(zoned("probe", true)))
    }))
})
