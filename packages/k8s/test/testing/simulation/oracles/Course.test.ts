import { calmStart, course } from "@effect-operator/k8s/testing/simulation/oracles/Course"
import type { Point } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import { calls } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { tell, whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"
import { planted as manners } from "../planted/Manners.ts"

describe("a restart changes nothing", () => {
  it("says nothing of a step that is taken as the process starts again", () => {
    const scenario = {
      name: "start",
      resources: B.resources,
      operator: B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) }))),
      steps: B.sized(1, 2)
    }
    const told = tell(scenario, whole(scenario))
    const live = (...points: ReadonlyArray<Point>) => Run.run(told, { points, interleaving: 0 }, { seed: 1 })
    const restarted: Point = { _tag: "Step", at: 1, fault: "restarted" }
    const first = calls(live(restarted)).find(({ life }) => life === 2)!
    const run = live(restarted, { _tag: "Call", at: first.n, fault: "hurried" })
    assert.strictEqual(run.met, 2)
    assert.isUndefined(calmStart.judge(run, {} as never))
  })
})

describe("owner references are kept", () => {
  it("hands down what it has made for a part, whoever has taken the part from its owner meanwhile", () => {
    const { right, wrong } = manners.find(({ name }) => name.includes("hands what it has made"))!
    const judged = (scenario: typeof right, fault?: Point["fault"]) => {
      const told = tell(scenario, whole(scenario))
      const live = (points: ReadonlyArray<Point>) => Run.run(told, { points, interleaving: 0 }, { seed: 1 })
      const made = calls(live([])).find(({ object, request }) =>
        request.method === "POST" && object?.metadata.name === "part-1"
      )!
      const run = live(fault === undefined ? [] : [{ _tag: "Call", at: made.n, fault } as Point])
      assert.strictEqual(run.met, fault === undefined ? 0 : 1)
      return course.find(({ name }) => name === "owner references are kept")!.judge(run, {} as never)
    }
    assert.include(judged(wrong), "ConfigMap settings-1 loses the reference to its owner Box box")
    assert.isUndefined(judged(right))
    assert.isUndefined(judged(right, "orphaned"))
  })
})
