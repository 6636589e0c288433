import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as Campaign from "./Campaign.ts"

/** How long plans are begun, in milliseconds; a busy machine runs fewer. */
const budget = 10_000

describe("fault plans over real sockets", () => {
  it.live("leave nothing lost, doubled, hidden or behind (more of them: test/faults/main.ts)", () =>
    Effect.gen(function*() {
      const first = Number(process.env["SEED"] ?? 1)
      const end = (yield* Clock.currentTimeMillis) + budget
      const wall = yield* Clock.Clock
      const report = yield* Campaign.run({
        seeds: Array.from({ length: process.env["SEED"] === undefined ? 40 : 1 }, (_, index) => first + index),
        concurrency: 4,
        isOver: () => wall.currentTimeMillisUnsafe() > end
      })
      assert.deepStrictEqual(
        report.divergent.map(({ divergences, seed }) => `SEED=${seed}: ${divergences.join("; ")}`),
        []
      )
      assert.isAbove(report.plans, 0)
      assert.isAbove(report.requests, report.plans)
    }))
})
