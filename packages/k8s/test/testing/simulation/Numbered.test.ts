import { Action, Cache } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "./planted/Box.ts"

/** Makes ConfigMaps one after the other, under names that were never given before, with what `name` makes of the number. */
const numbering = (name: (n: number) => string) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const maps = yield* Cache.list(ConfigMap, { owner: box })
      for (const extra of maps.slice(box.spec.size)) yield* B.unlessGone(it.delete(ConfigMap, extra))
      if (maps.length >= box.spec.size) return Action.done
      const next = box.status?.count ?? 0
      yield* B.status(box, { count: next + 1 })
      yield* B.unlessThere(it.create(ConfigMap, B.map(name(next), {}, box)))
      return Action.requeue
    }), { owns: [ConfigMap] })

const explored = (operator: Simulation.Operator) =>
  Simulation.checkConvergence({ name: "numbering", resources: B.resources, operator, steps: B.sized(2) }, {
    depth: 1,
    faults: ["crashAfter"],
    interleavings: 0,
    shrinking: "0 seconds"
  })

describe("Numbered", () => {
  it.live("a number that names are made of may leave one out", () =>
    Effect.gen(function*() {
      const { run } = yield* explored(numbering((n) => `box-${n}`))
      assert.isAbove(run, 0)
    }))

  it.live("a number that counts something else may not", () =>
    Effect.gen(function*() {
      const { complaint } = yield* Effect.flip(explored(numbering((n) => (n % 2 === 0 ? "even" : "odd"))))
      assert.include(complaint, "Box.status.count")
    }))
})
