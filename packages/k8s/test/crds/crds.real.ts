/** Definitions in the manner of well-known projects: a real server makes of them what the in-memory one does. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Target from "../conformance/Target.ts"
import { comparable } from "./compare.ts"
import { type Outcome, run } from "./Outcome.ts"
import { samples } from "./projects/index.ts"

const outcomes = (server: Target.Server): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(samples, run).pipe(Effect.scoped, Effect.orDie, Effect.provide(Target.layer(server)))

it.live("taken and refused as by a real server", () =>
  Effect.gen(function*() {
    const memory = yield* outcomes("memory")
    const real = yield* outcomes("real")
    const both = samples.map((_, at) => Math.min(memory[at]!.refused.length, real[at]!.refused.length))
    const of = (outcomes: ReadonlyArray<Outcome>) =>
      Object.fromEntries(samples.map(({ project }, at) => [project, comparable(outcomes[at]!, both[at]!)]))
    assert.deepStrictEqual(of(memory), of(real))
  }), 300_000)
