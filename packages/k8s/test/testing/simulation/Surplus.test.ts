import { Action } from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { none, type Plan } from "@effect-operator/k8s/testing/simulation/Fault"
import * as Reference from "@effect-operator/k8s/testing/simulation/Reference"
import * as Run from "@effect-operator/k8s/testing/simulation/Run"
import { whole } from "@effect-operator/k8s/testing/simulation/Story"
import { surplus } from "@effect-operator/k8s/testing/simulation/Surplus"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import * as B from "./planted/Box.ts"

const repeat = { times: 3, schedule: Schedule.spaced("1 second") }

const once = B.boxes((box) => Effect.flatMap(B.living(box), (pods) => B.asMany(box, pods)))

const again = B.boxes((box) =>
  Effect.flatMap(B.living(box), (pods) => B.asMany(box, pods, (create) => Effect.retry(create, repeat)))
)

const create = (box: B.Box) => B.client.use((it) => it.create(Pod, B.podOf(box, { generateName: "box-" })))

/** What is said of the run in which something goes wrong when the first Pod is made. */
const said = (operator: Simulation.Operator, steps: B.Steps, fault: "lostAnswer" | "podFailed" | "staleRestart") => {
  const scenario = { name: "surplus", resources: B.resources, operator, steps }
  const reference = Reference.of(scenario, whole(scenario), 1, false)
  const at = reference.recording.entries.find((entry) =>
    entry._tag === "Call" && entry.request.method === "POST" && entry.request.path.endsWith("/pods")
  )
  const plan: Plan = {
    ...none,
    points: [{ _tag: "Call", at: at?._tag === "Call" ? at.n : 0, fault }]
  }
  return surplus.judge(Run.run(scenario, plan, { seed: 1 }), reference)
}

describe("Surplus", () => {
  it("says what was made too many, and taken away again", () => {
    assert.match(
      said(again, B.sized(2), "lostAnswer") ?? "",
      /^there are 3 of kind Pod for a moment, never more than 2 without faults; the operator has made Pod box-\w+(, Pod box-\w+)* and deletes it again$/
    )
    assert.isUndefined(said(once, B.sized(2), "lostAnswer"))
  })

  it("nothing of what stays until the next step: others tell that", () => {
    const sparing = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const pods = yield* B.living(box)
        for (let i = pods.length; i < box.spec.size; i++) yield* Effect.retry(create(box), repeat)
        if (box.metadata.generation !== 1) {
          for (const pod of pods.slice(box.spec.size)) yield* B.unlessGone(it.delete(Pod, pod))
        }
        return Action.done
      })
    )
    assert.isUndefined(said(sparing, B.sized(2, 1), "lostAnswer"))
  })

  it("nothing of what has failed, is replaced, and is cleared away only then", () => {
    assert.isUndefined(said(once, B.sized(2), "podFailed"))
  })

  it("nothing of who was shown an old cluster", () => {
    assert.isUndefined(said(once, B.sized(2), "staleRestart"))
  })
})
