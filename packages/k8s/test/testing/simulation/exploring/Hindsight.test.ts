import { Action, Cache, Controller, Manager, Watch } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

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

const hint = "a restart of the process at rest has the same result: without faults, it did not notice a change"

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

  it.live("where the run without faults has something of what was wanted before", () =>
    Effect.gen(function*() {
      const asking = Controller.make("asking", {
        for: B.Box,
        owns: [ConfigMap],
        reconcile: (box) =>
          Effect.gen(function*() {
            const size = String(box.spec.size)
            if (box.status?.count === box.spec.size) return Action.done
            const found = yield* Cache.get(ConfigMap, B.named("work"))
            const it = yield* B.client
            if (found === undefined) yield* it.create(ConfigMap, B.map("work", { size }, box))
            else if (found.data?.["size"] !== size) yield* it.patch(ConfigMap, found, B.merge({ data: { size } }))
            const answer = found?.data?.["answer"]
            if (answer !== undefined) yield* B.status(box, { count: box.spec.size, phase: answer })
            return Action.done
          })
      })
      const answering = Controller.make("answering", {
        for: ConfigMap,
        reconcile: (work) =>
          Effect.gen(function*() {
            const answer = `done ${work.data?.["size"]}`
            if (work.metadata.name !== "work" || work.data?.["answer"] === answer) return Action.done
            yield* Effect.sleep("2 seconds")
            return yield* B.done(B.client.use((it) => it.patch(ConfigMap, work, B.merge({ data: { answer } }))))
          })
      })
      const scenario = {
        name: "answers",
        resources: B.resources,
        operator: Manager.layer([asking, answering]),
        steps: B.sized(1, 2)
      }
      const options = { depth: 1, faults: ["lostAnswer"] } as const
      const { complaint } = yield* Effect.flip(Simulation.checkConvergence(scenario, options))
      assert.include(complaint, "Box.status.phase: \"done 2\" instead of \"done 1\"")
      assert.include(
        complaint,
        "taking all steps at once has the same result: it is the run without faults that is wrong"
      )
    }))
})
