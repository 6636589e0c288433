import { assert, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { campaign, type Found, prepare } from "./Campaign.ts"
import * as SchemaSequences from "./schemas/SchemaSequences.ts"
import * as Servers from "./Servers.ts"
import * as Tables from "./Tables.ts"

/** Few new ones as long as some in a thousand still differ: `main.ts` runs as many as one likes. */
const sequences = { same: 30, fresh: 4 }
const definitions = { same: 10, fresh: 2 }

// What is written down, the same seeds every time, and new ones: those find more, these find it again.
it.live("the in-memory server answers as a real one does", () =>
  Effect.scoped(Effect.gen(function*() {
    const [left, right] = yield* Effect.all([Servers.inMemory(), Servers.real], { concurrency: 2 })
    yield* Effect.all([prepare(left), prepare(right)], { concurrency: 2 })
    const today = yield* Clock.currentTimeMillis
    const fresh = Math.floor(today / 1000) % 1_000_000_000
    const seeds = ({ fresh: few, same }: typeof sequences) =>
      [[0, same], [fresh, few]].flatMap(([from = 0, length = 0]) =>
        Array.from({ length }, (_, index) => from + index + 1)
      )
    const found: Array<string> = [...yield* Tables.compare({ left, right, run: today.toString(36), today })]
    const handlers = { found: ({ script }: Found) => found.push(script) }
    const options = { left, right, today }
    yield* campaign({ ...options, run: today.toString(36), concurrency: 40 }, seeds(sequences), handlers)
    const run = `d${today.toString(36)}`
    const about = { ...options, run, concurrency: 8, sequence: SchemaSequences.generate }
    yield* campaign(about, seeds(definitions), handlers)
    assert.deepStrictEqual(found, [], `fresh seeds from ${fresh + 1}`)
  })), 300_000)
