import { Action } from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { surplus } from "@effect-operator/k8s/testing/simulation/oracles/Surplus"
import { type CallFault, none } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import { calls } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import * as B from "../planted/Box.ts"

const repeat = { times: 3, schedule: Schedule.spaced("1 second") }

const once = B.boxes((box) => Effect.flatMap(B.living(box), (pods) => B.asMany(box, pods)))

const again = B.boxes((box) =>
  Effect.flatMap(B.living(box), (pods) => B.asMany(box, pods, (create) => Effect.retry(create, repeat)))
)

const create = (box: B.Box) => B.client.use((it) => it.create(Pod, B.podOf(box, { generateName: "box-" })))

/** What is said of the run in which something goes wrong with the first request about Pods, and with some that follow. */
const said = (
  operator: Simulation.Operator,
  steps: B.Steps,
  faults: ReadonlyArray<CallFault>,
  method: "POST" | "DELETE" = "POST"
) => {
  const scenario = { name: "surplus", resources: B.resources, operator, steps }
  const reference = Reference.of(scenario, whole(scenario), 1, false)
  const first =
    calls(reference.recording).find(({ request }) => request.method === method && request.path.includes("/pods"))!.n
  const points = faults.map((fault, index) => ({ _tag: "Call" as const, at: first + index, fault }))
  const run = Run.run(scenario, { ...none, points }, { seed: 1 })
  assert.strictEqual(run.met, faults.length)
  return surplus.judge(run, reference)
}

describe("Surplus", () => {
  it("says what was made too many, and taken away again", () => {
    assert.match(
      said(again, B.sized(2), ["lostAnswer"]) ?? "",
      /^there are 3 of kind Pod for a moment; without faults, there are never more than 2; the operator created Pod box-\w+(, Pod box-\w+)* and deletes it again$/
    )
    assert.isUndefined(said(once, B.sized(2), ["lostAnswer"]))
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
    assert.isUndefined(said(sparing, B.sized(2, 1), ["lostAnswer"]))
  })

  it("nothing of what has failed, is replaced, and is cleared away only then", () => {
    assert.isUndefined(said(once, B.sized(2), ["podFailed"]))
  })

  it("nothing of who was shown an old cluster", () => {
    assert.isUndefined(said(once, B.sized(2), ["staleRestart"]))
  })

  it("nothing of who meets two faults at once: the watch may be the second", () => {
    assert.isUndefined(said(again, B.sized(2), ["lostAnswer", "lostAnswer"]))
  })

  it("nothing of who makes more than one for one that has failed", () => {
    const careful = B.boxes((box) =>
      Effect.flatMap(B.living(box), (pods) => {
        const failed = pods.filter(B.isFailed).length
        const spare = failed > 0 && pods.length < 2 * box.spec.size ? failed : 0
        return B.asMany({ ...box, spec: { ...box.spec, size: box.spec.size + spare } }, pods)
      })
    )
    assert.isUndefined(said(careful, B.sized(2), ["podFailed"]))
  })

  it("nothing of the next one, under another name, while the last one could not be deleted", () => {
    const staged = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const [prepared] = (yield* B.living(box)).filter(({ metadata }) => metadata.generateName === "prepare-")
        const [main] = (yield* B.living(box)).filter(({ metadata }) => metadata.generateName === "box-")
        if (prepared === undefined && main === undefined) {
          yield* it.create(Pod, B.podOf(box, { generateName: "prepare-" }))
          return Action.requeueAfter("1 minute")
        }
        if (main === undefined) yield* Effect.ignore(it.delete(Pod, prepared!))
        if (main === undefined) yield* create(box)
        else if (prepared !== undefined) yield* B.unlessGone(it.delete(Pod, prepared))
        return Action.done
      })
    )
    assert.isUndefined(said(staged, B.sized(1), ["serverError"], "DELETE"))
  })
})
