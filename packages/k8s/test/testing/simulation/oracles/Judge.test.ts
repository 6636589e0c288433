import { ConfigMap } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { judge } from "@effect-operator/k8s/testing/simulation/oracles/Judge"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"

const never = { name: "never content", judge: () => "no" }

/** What is said of the run in which the second step does not wait for the first request that writes. */
const said = (second: Simulation.Scenario["steps"]) => {
  const scenario: Simulation.Scenario = {
    name: "judge",
    resources: B.resources,
    operator: B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) }))),
    steps: [...B.sized(1), ...second]
  }
  const reference = Reference.of(scenario, whole(scenario), 1)
  const write = reference.recording.entries.find((entry) => entry._tag === "Call" && entry.request.method === "POST")
  assert(write?._tag === "Call")
  const plan = { points: [{ _tag: "Call", at: write.n, fault: "hurried" } as const], interleaving: 0 }
  const run = Run.run(scenario, plan, { seed: 1, quiet: 60_000 })
  assert.deepStrictEqual(run.hurried, [1])
  return judge([never], run, reference)?.oracle
}

describe("Judge", () => {
  it("nothing is said where a step was not waited for that works on what the operator has made", () => {
    const act = B.client.use((it) => B.unlessGone(it.delete(ConfigMap, B.named("settings"))))
    assert.isUndefined(said([{ name: "tidy up", act }]))
    assert.strictEqual(said(B.sized(2)), never.name)
  })
})
