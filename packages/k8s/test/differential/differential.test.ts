import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { campaign, type Found, prepare } from "./Campaign.ts"
import { deviations } from "./Deviations.ts"
import { generate } from "./Generator.ts"
import * as Servers from "./Servers.ts"

const seeds = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

const short = (seed: number) => generate(seed, 30)

describe("differential testing", () => {
  it.live("finds no difference between a server and itself", () =>
    Effect.scoped(Effect.gen(function*() {
      const [left, right] = [yield* Servers.inMemory(), yield* Servers.inMemory()]
      yield* Effect.all([prepare(left), prepare(right)])
      const today = yield* Clock.currentTimeMillis
      const found: Array<string> = []
      const report = { found: ({ script }: Found) => found.push(script) }
      yield* campaign({ left, right, run: "self", today, concurrency: 8 }, seeds(1, 8), report)
      assert.deepStrictEqual(found, [])
    })), 180_000)

  for (const [name, deviant] of Object.entries(deviations)) {
    it.live(`finds within 200 sequences that ${name}, and shrinks it`, () =>
      Effect.scoped(Effect.gen(function*() {
        const [left, right] = [yield* Servers.inMemory(), yield* Servers.inMemory(deviant)]
        yield* Effect.all([prepare(left), prepare(right)])
        const today = yield* Clock.currentTimeMillis
        const found: Array<Found> = []
        let wanted = true
        const handlers = {
          wanted: () => {
            const first = wanted
            wanted = false
            return first
          },
          found: (one: Found) => found.push(one)
        }
        for (let seed = 281; seed <= 480 && found.length === 0; seed += 20) {
          wanted = true
          const run = `dev${seed}x`
          yield* campaign({ left, right, run, today, concurrency: 20, sequence: short }, seeds(seed, 20), handlers)
        }
        const [first] = found
        assert.isDefined(first, "nothing found")
        assert.isAtMost(first!.steps.length, 6, first!.script)
      })))
  }
})
