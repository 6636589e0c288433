import { Cache, Watch } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "./planted/Box.ts"

/** Keeps a copy of what people have written down, and is woken by the Box alone. */
const copying = B.boxes((box) =>
  Effect.gen(function*() {
    const settings = yield* Cache.get(ConfigMap, B.named("settings"))
    yield* B.status(box, { count: box.spec.size })
    return yield* B.done(B.keep(box, "copy", settings?.data ?? {}))
  }), { watches: [Watch.cached(ConfigMap)] })

const settled = (colour: string, act: (data: object) => Effect.Effect<unknown, any, any>) => ({
  name: colour,
  act: act({ data: { colour } }) as B.Steps[number]["act"]
})

const steps: B.Steps = [
  settled("red", (data) => B.client.use((it) => it.create(ConfigMap, { metadata: B.named("settings"), ...data }))),
  ...B.sized(1, 2),
  settled("blue", (data) => B.client.use((it) => it.patch(ConfigMap, B.named("settings"), B.merge(data))))
]

const told = (operator: Simulation.Operator, fault: Simulation.FaultKind, replay?: string) =>
  Effect.flip(
    Simulation.checkConvergence({ name: "hindsight", resources: B.resources, operator, steps }, {
      depth: 1,
      faults: [fault],
      replay
    })
  )

const hint = "the same comes of starting the process again at rest: without faults it had not noticed a change"

describe("Hindsight", () => {
  it.live("where the run without faults has missed something that is told, and again by its token", () =>
    Effect.gen(function*() {
      const { complaint, oracle, replay } = yield* told(copying, "restarted")
      assert.strictEqual(oracle, "same end state")
      assert.include(complaint, hint)
      assert.strictEqual((yield* told(copying, "restarted", replay)).complaint, complaint)
    }))

  it.live("not where a fault has done harm", () =>
    Effect.gen(function*() {
      const counting = B.boxes((box) =>
        box.status?.count === box.spec.size
          ? B.done(Effect.void)
          : B.done(Effect.andThen(
            B.status(box, { count: box.spec.size }),
            B.keep(box, "copy", { size: String(box.spec.size) })
          ))
      )
      const { complaint, oracle } = yield* told(counting, "crashAfter")
      assert.strictEqual(oracle, "same end state")
      assert.notInclude(complaint, hint)
    }))
})
