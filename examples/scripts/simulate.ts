/**
 * `npm run simulate -- --example podset`: searches for a story in which an example fails.
 *
 * If there is one, prints it and exits with code 1; otherwise prints what was explored.
 */
import { Simulation } from "@effect-operator/k8s/testing"
import * as Main from "@effect-operator/k8s/Main"
import { NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { scenarios } from "../test/support/Scenarios.ts"
import { exploreInThreads, figuresOf, partOf, undivided } from "./simulatePart.ts"

class Diverges extends Data.TaggedError("Diverges")<{ readonly message: string }> {}

class Unfinished extends Data.TaggedError("Unfinished")<{ readonly message: string }> {}

const depths = { "1": 1, "2": 2, "3": 3 } as const

const command = Command.make(
  "simulate",
  {
    example: Flag.Literals("example", scenarios.map(({ name }) => name)).pipe(
      Flag.withDescription("The operator and its story"),
      Flag.withDefault("podset")
    ),
    depth: Flag.Literals("depth", ["1", "2", "3"]).pipe(
      Flag.withDescription("Faults in one run at most"),
      Flag.withDefault("2")
    ),
    runs: Flag.Int("runs").pipe(Flag.withDescription("Runs at most"), Flag.withDefault(2_000)),
    deeper: Flag.Int("deeper").pipe(
      Flag.withDescription(
        "Instead of --runs: every single fault, and so many runs with several; exit code 1 without time for it"
      ),
      Flag.optional
    ),
    budget: Flag.Int("budget").pipe(Flag.withDescription("Seconds at most"), Flag.withDefault(60)),
    window: Flag.Int("window").pipe(
      Flag.withDescription("Steps that a run with a fault lives through, from the one it is at; all by default"),
      Flag.filter((steps) => steps >= 1, (steps) => `${steps} steps: must be 1 or more`),
      Flag.optional
    ),
    pooled: Flag.Boolean("pooled").pipe(
      Flag.withDescription(
        "Single faults of different steps share runs; those of one that anything is said about do not"
      ),
      Flag.withDefault(false)
    ),
    part: Flag.String("part").pipe(
      Flag.withDescription("The third of four parts, which together make all runs: 3/4"),
      Flag.withMetavar("K/N"),
      Flag.filterMap(
        (text) => Option.fromUndefinedOr(partOf(text)),
        () => "K/N, the K-th of N parts with K from 1 to N, as in 3/4"
      ),
      Flag.withDefault(undivided)
    ),
    threads: Flag.Int("threads").pipe(
      Flag.withDescription("Threads that share the runs"),
      Flag.withDefault(1)
    ),
    stories: Flag.Int("stories").pipe(
      Flag.withDescription("Stories to draw, where an example's are drawn"),
      Flag.withDefault(8)
    ),
    seed: Flag.Int("seed").pipe(Flag.withDescription("What is drawn by chance"), Flag.withDefault(1)),
    token: Flag.String("token").pipe(
      Flag.withDescription("Replays one run: kx1:…"),
      Flag.withMetavar("TOKEN"),
      Flag.optional
    ),
    story: Flag.Boolean("story").pipe(
      Flag.withDescription("Prints all that happens in a run: that of the token, or the one without faults"),
      Flag.withDefault(false)
    ),
    html: Flag.String("html").pipe(
      Flag.withDescription("File for the story as a page"),
      Flag.withMetavar("FILE"),
      Flag.optional
    ),
    json: Flag.String("json").pipe(
      Flag.withDescription("File for the figures"),
      Flag.withMetavar("FILE"),
      Flag.optional
    )
  },
  ({ budget, deeper, depth, example, html, json, part, pooled, runs, seed, stories, story, threads, token, window }) =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const scenario = scenarios.find(({ name }) => name === example)!
      if (story) {
        yield* Console.log(Simulation.story(scenario, Option.getOrUndefined(token)).join("\n"))
        return
      }
      const begin = process.hrtime.bigint()
      const options: Simulation.Options = {
        depth: depths[depth as keyof typeof depths],
        runs: Option.isSome(deeper) ? Number.MAX_SAFE_INTEGER : runs,
        deeper: Option.getOrUndefined(deeper),
        // As text, which can be passed to threads.
        budget: `${budget} seconds`,
        seed,
        window: Option.getOrUndefined(window),
        pooled,
        part,
        stories,
        replay: Option.getOrUndefined(token)
      }
      const outcome = yield* exploreInThreads({ example, options }, Option.isSome(token) ? 1 : Math.max(1, threads))
      const seconds = Number(process.hrtime.bigint() - begin) / 1e9
      const figures = figuresOf({ example, options }, outcome, seconds)
      if (Option.isSome(json)) {
        yield* files.writeFileString(json.value, `${JSON.stringify(figures, undefined, 2)}\n`)
      }
      if (outcome._tag === "Converges") {
        yield* Console.log(
          Option.isSome(token)
            ? "The run of the token converges."
            : `${Simulation.summary(outcome.report)}\n${figures.runsPerSecond} runs per second, seed ${seed}${
              part.of === 1 ? "" : `, part ${part.index + 1} of ${part.of}`
            }`
        )
        if (Option.isSome(deeper) && !outcome.report.complete) {
          return yield* new Unfinished({ message: `${example}: --budget ${budget} seconds was not enough` })
        }
        return
      }
      if (Option.isSome(html)) yield* files.writeFileString(html.value, outcome.html)
      yield* Console.log(outcome.message)
      return yield* new Diverges({ message: `${example} does not converge: ${outcome.oracle}` })
    })
).pipe(Command.withDescription("Looks for a story in which an example operator goes wrong"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("simulate"), task: true })
)
