/**
 * Checks that take too long for a test: a token replays the same story in a thousand processes, and memory stays flat
 * over a hundred thousand runs.
 *
 * ```
 * npm run endurance -- replay --example podset --processes 1000
 * npm run endurance -- memory --example podset --runs 100000
 * ```
 *
 * Exit code 1 if a check fails.
 */
import * as Main from "@effect-operator/k8s/Main"
import type { Simulation } from "@effect-operator/k8s/testing"
import * as Fault from "@effect-operator/k8s/testing/simulation/recording/Fault"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { draw } from "@effect-operator/k8s/testing/simulation/world/Seed"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import * as Token from "@effect-operator/k8s/testing/simulation/story/Token"
import { NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, FileSystem, Path } from "effect"
import { Command, Flag } from "effect/cli"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { scenarios } from "../test/support/Scenarios.ts"
import { bundle } from "./bundle.ts"

class Fails extends Data.TaggedError("Fails")<{ readonly message: string }> {}

const example = Flag.Literals("example", scenarios.map(({ name }) => name)).pipe(
  Flag.withDescription("The operator and its story"),
  Flag.withDefault("podset")
)

/** A plan of three faults and an order of tasks, drawn from a seed. */
const planOf = (seed: number): Fault.Plan => ({
  interleaving: 1 + draw(seed, 0, 1_000_000),
  points: [
    { _tag: "Call", at: 2 + draw(seed, 1, 8), fault: "crashAfter" },
    { _tag: "Event", at: 4 + draw(seed, 2, 20), fault: "watchDelayed" },
    { _tag: "Call", at: 10 + draw(seed, 3, 12), fault: "lostAnswer" }
  ]
})

const tokenOf = (scenario: Simulation.Scenario, seed: number): string =>
  Token.format({
    scenario: scenario.name,
    story: whole(scenario),
    seed,
    plan: planOf(seed),
    fingerprint: Token.fingerprint(scenario)
  })

const run = promisify(execFile)
const simulate = fileURLToPath(new URL("simulate.ts", import.meta.url))

const replay = Command.make("replay", {
  example,
  processes: Flag.Int("processes").pipe(Flag.withDescription("How many, two at a time"), Flag.withDefault(1_000))
}, ({ example, processes }) =>
  Effect.gen(function*() {
    const token = tokenOf(scenarios.find(({ name }) => name === example)!, 1)
    const { join } = yield* Path.Path
    const folder = yield* FileSystem.FileSystem.use((files) => files.makeTempDirectoryScoped())
    // Starting from source takes longer than a run.
    const file = join(folder, "simulate.mjs")
    yield* Effect.promise(() => bundle(simulate, file))
    const once = Effect.tryPromise({
      try: () =>
        run(process.execPath, [file, "--example", example, "--story", "--token", token], {
          env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "cache") },
          maxBuffer: 1 << 26
        }),
      catch: (cause) => new Fails({ message: String(cause) })
    })
    const stories = new Map<string, number>()
    let length = 0
    const told = Effect.map(once, ({ stdout }) => {
      length = stdout.length
      const hash = createHash("sha256").update(stdout).digest("hex")
      stories.set(hash, (stories.get(hash) ?? 0) + 1)
    })
    yield* Effect.replicateEffect(told, processes, { concurrency: 2, discard: true })
    const same = Math.max(...stories.values())
    yield* Console.log(`${same} of ${processes} processes told the same ${length} bytes for ${token}`)
    if (same < processes) return yield* new Fails({ message: `${stories.size} different stories` })
  }).pipe(Effect.scoped)).pipe(Command.withDescription("One token in many processes"))

/** The growth over the second half of the runs that still counts as flat. */
const tolerance = 0.05

const memory = Command.make("memory", {
  example,
  runs: Flag.Int("runs").pipe(Flag.withDescription("How many"), Flag.withDefault(100_000))
}, ({ example, runs }) =>
  Effect.gen(function*() {
    const scenario = scenarios.find(({ name }) => name === example)!
    const collect = globalThis.gc
    if (collect === undefined) return yield* new Fails({ message: "start node with --expose-gc" })
    const heap = () => {
      collect()
      return process.memoryUsage().heapUsed / 1e6
    }
    const figures: Array<number> = []
    const part = Math.max(1, Math.floor(runs / 20))
    for (let i = 1; i <= runs; i++) {
      Run.run(scenario, planOf(i), { seed: i, quiet: Run.defaults.shortQuiet })
      if (i % part !== 0) continue
      figures.push(heap())
      yield* Console.log(`${String(i).padStart(7)} runs   heap ${figures.at(-1)!.toFixed(1)} MB`)
    }
    const [middle, end] = [figures[figures.length >> 1]!, figures.at(-1)!]
    yield* Console.log(`from the middle to the end: ${((end / middle - 1) * 100).toFixed(1)} %`)
    if (end > middle * (1 + tolerance)) return yield* new Fails({ message: "memory grows" })
  })).pipe(Command.withDescription("The heap over many runs with faults"))

Command.make("endurance").pipe(
  Command.withSubcommands([replay, memory]),
  Command.withDescription("What a simulation must stand for long"),
  Command.run({ version: "0.1.0" }),
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("endurance"), task: true })
)
