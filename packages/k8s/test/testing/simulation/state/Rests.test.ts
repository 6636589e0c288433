import { Simulation } from "@effect-operator/k8s/testing"
import * as Rests from "@effect-operator/k8s/testing/simulation/state/Rests"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"

describe("what there is at a rest, for a person", () => {
  it("the statuses of custom resources, and how many other objects there are of each kind the story has brought", () => {
    const run = Simulation.record({
      name: "rests",
      resources: B.resources,
      operator: B.boxes(B.pods),
      steps: [...B.sized(2, 0), ...B.deleted]
    })
    assert.strictEqual(Rests.statusesAfter(run, "size 2"), " (Box box: status none; objects: 2 Pod)")
    assert.strictEqual(Rests.statusesAfter(run, "size 0"), " (Box box: status none; objects: 0 Pod)")
    assert.strictEqual(Rests.statusesAfter(run, "delete"), " (objects: 0 Pod)")
  })
})
