import { Action, Cache } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { alike } from "@effect-operator/k8s/testing/simulation/Alike"
import * as Reference from "@effect-operator/k8s/testing/simulation/Reference"
import { whole } from "@effect-operator/k8s/testing/simulation/Story"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "./planted/Box.ts"

const said = (operator: Simulation.Operator, steps: B.Steps): string | undefined => {
  const scenario = { name: "alike", resources: B.resources, operator, steps }
  const reference = Reference.of(scenario, whole(scenario), 1, false)
  return alike.judge(reference.recording, reference)
}

/** A ConfigMap that says the size, under a generated name: one for each, or one for all that `are` found. */
const noting = (found: (box: B.Box) => Effect.Effect<ReadonlyArray<ConfigMap>, unknown, any>, more = Action.done) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      if ((yield* found(box)).length > 0) return more
      const { data, metadata } = B.map("box-", { size: String(box.spec.size) }, box)
      const { name: generateName, ...rest } = metadata
      yield* it.create(ConfigMap, { data, metadata: { ...rest, generateName } })
      return Action.done
    })
  )

const all = () => Cache.list(ConfigMap, { namespace: "default" })
const own = (box: B.Box) => Cache.list(ConfigMap, { owner: box })

describe("Alike", () => {
  it("says who has nothing, as it takes what another has for its own", () => {
    assert.strictEqual(
      said(noting(all), B.sized(1)),
      "Box box has 1 of kind ConfigMap; another one like it, box-too, has 0, and nobody is told " +
        "(one takes for its own what the other has: by a label that both share, say)"
    )
    assert.isUndefined(said(noting(own), B.sized(1)))
  })

  it("nothing where that is told", () => {
    const telling = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const { data, metadata: { name: generateName, ...metadata } } = B.map("box-", {}, box)
        const maps = yield* all()
        const mine = yield* own(box)
        if (maps.length === 0) yield* it.create(ConfigMap, { data, metadata: { ...metadata, generateName } })
        yield* B.status(box, { phase: maps.length > mine.length ? "Waiting" : "Ready" })
        return Action.done
      })
    )
    assert.isUndefined(said(telling, B.sized(1)))
  })

  it("nothing of what is a history of what was asked for, nor of what has a name of the program's own", () => {
    const history = noting((box) =>
      Effect.map(own(box), (maps) => maps.filter(({ data }) => data?.["size"] === String(box.spec.size)))
    )
    assert.isUndefined(said(history, B.sized(1, 2)))
    assert.isUndefined(said(B.boxes((box) => B.done(B.keep(box, "box-settings", {}))), B.sized(1)))
  })
})
