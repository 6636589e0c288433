import { Action } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { patient } from "@effect-operator/k8s/testing/simulation/running/Patience"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Layer, Schedule } from "effect"
import * as B from "../planted/Box.ts"

const restOf = (reconcile: B.Reconcile, rest?: Duration.Input) => {
  const scenario: Simulation.Scenario = {
    name: "rest",
    resources: B.resources,
    operator: B.boxes(reconcile),
    steps: B.sized(1, 2),
    rest
  }
  return patient(scenario, whole(scenario), 1).rest
}

const ageOf = ({ metadata: { creationTimestamp } }: KubeObject) =>
  Effect.map(Clock.currentTimeMillis, (now) => now - Date.parse(creationTimestamp))

/** Settings are there when the Box is so old. */
const after = (millis: number): B.Reconcile => (box) =>
  Effect.flatMap(ageOf(box), (age) =>
    age < millis
      ? Effect.succeed(Action.requeueAfter(millis - age))
      : B.done(B.keep(box, "settings", { size: String(box.spec.size) })))

describe("Patience", () => {
  it("who works at once, or within a minute, is waited for as ever", () => {
    assert.isUndefined(restOf(after(0)))
    assert.isUndefined(restOf(after(50_000)))
  })

  it("who works later by himself is waited for, and a minute longer", () => {
    assert.approximately(Number(restOf(after(90_000))), 150_000, 1_000)
    assert.approximately(Number(restOf(after(290_000))), 350_000, 1_000)
  })

  it("so is who works after a minute, or almost: he may be a little later than that", () => {
    assert.approximately(Number(restOf(after(60_000))), 120_000, 1_000)
    assert.approximately(Number(restOf(after(58_000))), 118_000, 1_000)
  })

  it("so is who waits for some time after what he did last, which is over where people have waited for long", () => {
    const sparing: B.Reconcile = (box) =>
      Effect.gen(function*() {
        const settings = yield* B.cached("settings")
        const made = Number(settings?.data?.["made"] ?? "-Infinity")
        const now = yield* Clock.currentTimeMillis
        if (settings?.data?.["size"] === String(box.spec.size)) return Action.done
        if (now - made < 180_000) return Action.requeueAfter(180_000 - (now - made))
        return yield* B.done(B.keep(box, "settings", { size: String(box.spec.size), made: String(now) }))
      })
    assert.approximately(Number(restOf(sparing)), 180_000, 2_000)
  })

  it("not who works later than in five minutes, nor who never rests", () => {
    assert.isUndefined(restOf(after(400_000)))
    const restless: B.Reconcile = (box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const data = { now: String(yield* Clock.currentTimeMillis) }
        yield* it.apply(ConfigMap, B.map("clock", data, box), { force: true })
        return Action.requeueAfter("2 minutes")
      })
    assert.isUndefined(restOf(restless))
  })

  it.live("who is refused again and again what somebody has taken has come to rest", () =>
    Effect.gen(function*() {
      const labels = { by: "boxes" }
      const turn = Effect.gen(function*() {
        const it = yield* B.client
        const { items } = yield* it.listPage(B.Box)
        const made = yield* it.listPage(ConfigMap, { namespace: "default", labels })
        for (const box of items) {
          if (made.items.some(({ metadata }) => metadata.name === "settings")) continue
          const { data, metadata } = B.map("settings", { size: String(box.spec.size) }, box)
          yield* B.unlessThere(it.create(ConfigMap, { metadata: { ...metadata, labels }, data }))
        }
      })
      const scenario: Simulation.Scenario = {
        name: "taken",
        resources: B.resources,
        operator: Layer.effectDiscard(
          Effect.forkScoped(Effect.repeat(Effect.ignore(turn), Schedule.spaced("20 seconds")))
        ),
        steps: B.sized(1)
      }
      const { run } = yield* Simulation.checkConvergence(scenario, { depth: 1, faults: ["orphaned"], interleavings: 0 })
      assert.strictEqual(run, 1)
    }))

  it("people may say themselves how long they wait", () => {
    assert.strictEqual(restOf(after(90_000), "4 minutes"), "4 minutes")
  })
})
