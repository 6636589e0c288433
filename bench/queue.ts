/** Queue and workers: the cost of a key whose reconcile does nothing, with everything around the reconcile. */
import { Effect } from "effect"
import { type Benchmark, inTurns, least, result } from "./Benchmark.ts"
import * as Processes from "./Processes.ts"

const perKey = (
  mode: "ours" | "traced" | "loops" | "replica" | "crowd" | "shard",
  keys: number
): Effect.Effect<number> => Processes.run<number>("queue/child.ts", mode, keys)

const reconciles: Benchmark = {
  name: "queue",
  run: ({ quick }) =>
    Effect.gen(function*() {
      const keys = quick ? 20_000 : 100_000
      const many = quick ? 100_000 : 1_000_000
      // The loops take 0.6 or 1.2 us, depending on how their process was compiled; a median of few runs may be either.
      const [ours, traced, loops] = yield* inTurns(7, [
        perKey("ours", keys),
        perKey("traced", keys),
        perKey("loops", keys)
      ])
      // Growth with the number of keys should not depend on compilation: a process with many keys takes 5 or 9 us,
      // depending on how it was compiled.
      const [few, lots] = yield* inTurns(5, [perKey("ours", 1_000), perKey("ours", many)], least)
      return [
        result({
          name: "6 queue, merging, metrics, time-out, reconcile of nothing, against async loops",
          unit: "us",
          value: ours,
          baseline: loops,
          goal: { atMost: 4, of: "value" },
          usual: 5
        }),
        // Spans are compared with the run without them: the loops use no memory, so they are no baseline on a machine
        // with slow memory.
        result({
          name: "6 the same with spans, against without",
          unit: "us",
          value: traced,
          baseline: ours,
          goal: { atMost: 10, of: "value" },
          usual: 2
        }),
        result({
          name: `6 a key of ${many.toLocaleString("en")} against one of 1,000`,
          unit: "us",
          value: lots,
          baseline: few,
          // At most logarithmic growth.
          goal: { atMost: Math.log2(many) / Math.log2(1_000) }
        })
      ]
    })
}

/** The additional cost per key if several processes share the objects. */
const sharing: Benchmark = {
  name: "sharing",
  run: ({ quick }) =>
    Effect.gen(function*() {
      const keys = quick ? 20_000 : 100_000
      const [alone, replica, crowd, shard] = yield* inTurns(quick ? 3 : 7, [
        perKey("ours", keys),
        perKey("replica", keys),
        perKey("crowd", keys),
        perKey("shard", keys)
      ])
      const against = (name: string, value: number, atMost: number) =>
        result({
          name: `12 a key as ${name}, against one leader`,
          unit: "us",
          value,
          baseline: alone,
          goal: { atMost }
        })
      return [
        against("one of 3 replicas that share the objects", replica, 1.3),
        against("one of 30 replicas", crowd, 2.5),
        against("a shard of a ring", shard, 1.3)
      ]
    })
}

export const queue: ReadonlyArray<Benchmark> = [reconciles, sharing]
