/**
 * Ingest: the cost of reading a list and a watch, and the memory that stays in use. The contestants take turns, each
 * time in a new process, against one server in another.
 */
import { defaults as containerDefaults } from "@effect-operator/k8s/manifests/Containerfile"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Benchmark, type Effort, inTurns, median, result } from "./Benchmark.ts"
import type { Kind } from "./fixture/Objects.ts"
import type { Measured } from "./ingest/Contestant.ts"
import type { Slow } from "./ingest/slow.ts"
import * as Processes from "./Processes.ts"

type Name = "bytes" | "plain" | "clientNode" | "ours" | "lazy"

/** A folder from which the modules that a bundle leaves out are found. */
const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const cache = Path.join(import.meta.dirname, "../node_modules/.cache")
    Fs.mkdirSync(cache, { recursive: true })
    return Fs.mkdtempSync(Path.join(cache, "bench-"))
  }),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
)

interface Scenario<N extends Name> {
  readonly kind: Kind
  readonly objects: number
  readonly events: number
  readonly contestants: ReadonlyArray<N>
}

/** The contestants to compare with. */
const baselines: ReadonlySet<Name> = new Set(["bytes", "plain", "clientNode"])

/**
 * A baseline that hangs, as one did once in some thousand runs, says nothing about this framework: it is run once more.
 */
const measured = (name: Name, run: Effect.Effect<Measured>): Effect.Effect<Measured> =>
  !baselines.has(name) ? run : Effect.timeoutOrElse(run, {
    duration: "2 minutes",
    orElse: () => Effect.andThen(Effect.logWarning(`${name} has not ended after 2 minutes, and is run again`), run)
  })

/** The medians of each contestant. */
const compete = <const N extends Name>(
  { contestants, events, kind, objects }: Scenario<N>,
  { quick }: Effort
): Effect.Effect<{ readonly [K in N]: Measured }> =>
  Effect.scoped(Effect.gen(function*() {
    const size = sizeOf({ quick })
    const task = [kind, size(objects), size(events)] as const
    const port = yield* Processes.serve("fixture/main.ts", ...task)
    const path = yield* folder
    const files = yield* Processes.run<ReadonlyArray<string>>("ingest/bundle.ts", path, ...contestants)
    const found = new Map(contestants.map((name): [N, Array<Measured>] => [name, []]))
    for (let round = 0; round < (quick ? 3 : 5); round++) {
      for (const [index, name] of contestants.entries()) {
        const run = Processes.run<Measured>(files[index]!, `http://127.0.0.1:${port}`, ...task)
        found.get(name)!.push(yield* measured(name, run))
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

/**
 * The number of objects or events. With fewer than half, a figure would mostly measure how soon the code is compiled.
 */
const sizeOf = ({ quick }: Effort) => (count: number): number => quick ? count / 2 : count

const MB = 1e6

const text = (effort: Effort, count: number): string => sizeOf(effort)(count).toLocaleString("en")

const lists: Benchmark = {
  name: "ingest list of custom resources",
  run: (effort) =>
    Effect.map(
      compete({ kind: "widgets", objects: 50_000, events: 0, contestants: ["plain", "ours", "clientNode"] }, effort),
      ({ clientNode, ours, plain }) => [
        result({
          name: `1 list of ${text(effort, 50_000)} custom resources against JSON.parse: CPU`,
          unit: "s",
          value: ours.list,
          baseline: plain.list,
          goal: { atMost: 0.75 },
          usual: 0.95
        }),
        result({
          name: `1 list of ${text(effort, 50_000)} custom resources against JSON.parse: peak RSS`,
          unit: "MB",
          value: ours.peakRss / MB,
          baseline: plain.peakRss / MB,
          goal: { atMost: 0.6 },
          usual: 0.9
        }),
        result({
          name: `1 list of ${text(effort, 50_000)} custom resources against client-node: CPU`,
          unit: "s",
          value: ours.list,
          baseline: clientNode.list,
          goal: { atMost: 0.5 },
          usual: 0.9
        }),
        result({
          name: "4 retained per custom resource of 1.1 KB",
          unit: "B",
          value: ours.retained,
          baseline: plain.retained,
          goal: { atMost: 750, of: "value" },
          usual: 0.45
        })
      ]
    )
}

const pods: Benchmark = {
  name: "ingest list of pods",
  long: true,
  run: (effort) =>
    Effect.map(
      compete({ kind: "pods", objects: 50_000, events: 0, contestants: ["plain", "ours", "clientNode"] }, effort),
      ({ clientNode, ours, plain }) => [
        result({
          name: `5 list of ${text(effort, 50_000)} pods against client-node: CPU`,
          unit: "s",
          value: ours.list,
          baseline: clientNode.list,
          goal: { atMost: 0.35 },
          usual: 0.5
        }),
        result({
          name: `5 list of ${text(effort, 50_000)} pods against client-node: peak RSS`,
          unit: "MB",
          value: ours.peakRss / MB,
          baseline: clientNode.peakRss / MB,
          goal: { atMost: 0.35 },
          usual: 0.55
        }),
        result({
          name: "4 retained per pod of 5 KB",
          unit: "B",
          value: ours.retained,
          baseline: plain.retained,
          goal: { atMost: 4_000, of: "value" },
          usual: 0.5
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
        contestants: ["bytes", "plain", "ours", "lazy"]
      }, effort),
      ({ bytes, lazy, ours, plain }) => [
        result({
          name: `2 ${text(effort, 100_000)} events of custom resources against JSON.parse: CPU`,
          unit: "s",
          value: ours.watch,
          baseline: plain.watch,
          goal: { atMost: 0.8 },
          usual: 1.1
        }),
        result({
          name: `2 ${text(effort, 100_000)} events of custom resources against reading the bytes: CPU`,
          unit: "s",
          value: ours.watch,
          baseline: bytes.watch,
          goal: { atMost: 4 }
        }),
        result({
          name: `3 ${text(effort, 100_000)} events of custom resources, lazy, against JSON.parse: rate`,
          unit: "/s",
          value: sizeOf(effort)(100_000) / lazy.watch,
          baseline: sizeOf(effort)(100_000) / plain.watch,
          goal: { atLeast: 3 },
          usual: 1.5
        })
      ]
    )
}

const lazyPods: Benchmark = {
  name: "ingest watch of pods",
  run: (effort) =>
    Effect.map(
      compete({ kind: "pods", objects: 10_000, events: 30_000, contestants: ["plain", "lazy"] }, effort),
      ({ lazy, plain }) => [
        result({
          name: `3 ${text(effort, 30_000)} events of pods of 5 KB, lazy, against JSON.parse: rate`,
          unit: "/s",
          value: sizeOf(effort)(30_000) / lazy.watch,
          baseline: sizeOf(effort)(30_000) / plain.watch,
          goal: { atLeast: 4 },
          usual: 2.5
        })
      ]
    )
}

const perEvent = (objects: number, indexes: number): Effect.Effect<number> =>
  Processes.run<number>("ingest/scaling.ts", objects, indexes)

const scaling: Benchmark = {
  name: "ingest scaling",
  run: ({ quick }) =>
    Effect.map(
      inTurns(quick ? 3 : 5, [perEvent(1_000, 0), perEvent(100_000, 0), perEvent(1_000, 5)]),
      ([few, many, indexed]) => [
        result({
          name: "11 an event among 100,000 objects against 1,000: CPU",
          unit: "us",
          value: many,
          baseline: few,
          goal: { atMost: 1.3 }
        }),
        result({
          name: "11 an event with five indexes against none: CPU",
          unit: "us",
          value: indexed,
          baseline: few,
          goal: { atMost: 1.3 }
        })
      ]
    )
}

const slow: Benchmark = {
  name: "ingest slow handler",
  long: true,
  run: ({ quick }) =>
    Effect.scoped(Effect.gen(function*() {
      const events = quick ? 100_000 : 1_000_000
      const port = yield* Processes.serve("fixture/main.ts", "widgets", 1_000, events, "eager")
      const { lost, peak, steady } = yield* Processes.run<Slow>(
        "ingest/slow.ts",
        `http://127.0.0.1:${port}`,
        1_000,
        events
      ).pipe(
        // As in the image of an operator.
        Effect.provideService(Processes.NodeOptions, [containerDefaults.nodeOptions])
      )
      return [
        result({
          name: `10 handler slower than ${events.toLocaleString("en")} events: memory above that of the first tenth`,
          unit: "MB",
          value: (peak - steady) / MB,
          baseline: steady / MB,
          goal: { atMost: 64, of: "value" },
          usual: 0.7
        }),
        result({
          name: "10 objects not reconciled in their last state",
          unit: "objects",
          value: lost,
          baseline: 1_000,
          goal: { atMost: 0, of: "value" }
        })
      ]
    }))
}

export const ingest: ReadonlyArray<Benchmark> = [lists, watches, lazyPods, pods, scaling, slow]
