/**
 * Ingest: what it costs to take in a list and a watch, and what stays in memory. The contestants take turns, each time
 * in a fresh process, against one server in another.
 */
import { Effect } from "effect"
import { type Benchmark, type Effort, median, result } from "./Benchmark.ts"
import type { Kind } from "./fixture/Objects.ts"
import type { Measured } from "./ingest/Contestant.ts"
import * as Processes from "./Processes.ts"

type Name = "bytes" | "plain" | "clientNode" | "ours"

interface Scenario<N extends Name> {
  readonly kind: Kind
  readonly objects: number
  readonly events: number
  readonly contestants: ReadonlyArray<N>
}

/** The medians of each contestant. */
const compete = <const N extends Name>(
  { contestants, events, kind, objects }: Scenario<N>,
  { quick }: Effort
): Effect.Effect<{ readonly [K in N]: Measured }> =>
  Effect.scoped(Effect.gen(function*() {
    const size = (count: number): number => quick ? Math.ceil(count / 5) : count
    const task = [kind, size(objects), size(events)] as const
    const port = yield* Processes.serve("fixture/main.ts", ...task)
    const found = new Map(contestants.map((name): [N, Array<Measured>] => [name, []]))
    for (let round = 0; round < (quick ? 3 : 5); round++) {
      for (const name of contestants) {
        found.get(name)!.push(
          yield* Processes.run<Measured>("ingest/child.ts", name, `http://127.0.0.1:${port}`, ...task)
        )
      }
    }
    const middle = (all: ReadonlyArray<Measured>): Measured => ({
      list: median(all.map(({ list }) => list)),
      watch: median(all.map(({ watch }) => watch)),
      peakRss: median(all.map(({ peakRss }) => peakRss)),
      retained: median(all.map(({ retained }) => retained))
    })
    return Object.fromEntries([...found].map(([name, all]) => [name, middle(all)])) as { readonly [K in N]: Measured }
  }))

const MB = 1e6

const lists: Benchmark = {
  name: "ingest list of custom resources",
  run: (effort) =>
    Effect.map(
      compete({ kind: "widgets", objects: 50_000, events: 0, contestants: ["plain", "ours", "clientNode"] }, effort),
      ({ clientNode, ours, plain }) => [
        result({
          name: "1 list of 50,000 custom resources against JSON.parse: CPU",
          unit: "s",
          value: ours.list,
          baseline: plain.list,
          goal: { atMost: 0.75 }
        }),
        result({
          name: "1 list of 50,000 custom resources against JSON.parse: peak RSS",
          unit: "MB",
          value: ours.peakRss / MB,
          baseline: plain.peakRss / MB,
          goal: { atMost: 0.6 }
        }),
        result({
          name: "1 list of 50,000 custom resources against client-node: CPU",
          unit: "s",
          value: ours.list,
          baseline: clientNode.list,
          goal: { atMost: 0.5 }
        }),
        result({
          name: "4 retained per custom resource of 1.1 KB",
          unit: "B",
          value: ours.retained,
          baseline: plain.retained,
          goal: { atMost: 750, of: "value" }
        })
      ]
    )
}

const pods: Benchmark = {
  name: "ingest list of pods",
  run: (effort) =>
    Effect.map(
      compete({ kind: "pods", objects: 50_000, events: 0, contestants: ["plain", "ours", "clientNode"] }, effort),
      ({ clientNode, ours, plain }) => [
        result({
          name: "5 list of 50,000 pods against client-node: CPU",
          unit: "s",
          value: ours.list,
          baseline: clientNode.list,
          goal: { atMost: 0.35 }
        }),
        result({
          name: "5 list of 50,000 pods against client-node: peak RSS",
          unit: "MB",
          value: ours.peakRss / MB,
          baseline: clientNode.peakRss / MB,
          goal: { atMost: 0.35 }
        }),
        result({
          name: "4 retained per pod of 5 KB",
          unit: "B",
          value: ours.retained,
          baseline: plain.retained,
          goal: { atMost: 4_000, of: "value" }
        })
      ]
    )
}

const watches: Benchmark = {
  name: "ingest watch",
  run: (effort) =>
    Effect.map(
      compete({
        kind: "widgets",
        objects: 10_000,
        events: 100_000,
        contestants: ["bytes", "plain", "ours", "clientNode"]
      }, effort),
      ({ bytes, ours, plain }) => [
        result({
          name: "2 100,000 events of custom resources against JSON.parse: CPU",
          unit: "s",
          value: ours.watch,
          baseline: plain.watch,
          goal: { atMost: 0.8 }
        }),
        result({
          name: "2 100,000 events of custom resources against reading the bytes: CPU",
          unit: "s",
          value: ours.watch,
          baseline: bytes.watch,
          goal: { atMost: 4 }
        })
      ]
    )
}

export const ingest: ReadonlyArray<Benchmark> = [lists, watches, pods]
