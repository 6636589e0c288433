import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { Envtest, layerOptions } from "../../src/testing/Envtest.ts"
import * as Plan from "./Plan.ts"
import * as Rotation from "./Rotation.ts"
import * as Run from "./Run.ts"
import * as Subject from "./Subject.ts"

/** How long plans are begun, in milliseconds. */
const budget = 40_000

layer(layerOptions({ controllerManager: false }), { timeout: "2 minutes", excludeTestServices: true })(
  "fault plans against a real API server",
  (it) => {
    it.effect("leave nothing lost, doubled, hidden or behind", () =>
      Effect.gen(function*() {
        const { clusterConfig, token } = yield* Envtest
        const subject = yield* Subject.remote(clusterConfig, Redacted.value(token))
        const first = Number(process.env["SEED"] ?? 1)
        const seeds = Array.from({ length: process.env["SEED"] === undefined ? 20 : 1 }, (_, index) => first + index)
        const end = (yield* Clock.currentTimeMillis) + budget
        for (const seed of seeds) {
          if ((yield* Clock.currentTimeMillis) > end) break
          const { divergences } = yield* Run.runOn(Plan.make(seed), subject)
          assert.deepStrictEqual(divergences, [], `SEED=${seed}`)
        }
      }))

    it.effect("another authority is trusted once the file says so", () =>
      Effect.gen(function*() {
        const { clusterConfig, token } = yield* Envtest
        yield* Rotation.survives(yield* Subject.remote(clusterConfig, Redacted.value(token)))
      }))
  }
)
