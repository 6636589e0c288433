/**
 * `npm run bench -- [--json FILE] [--svg FILE] [--only NAME] [--quick]`: runs the benchmarks, prints a table, and
 * writes the results as JSON and as an SVG. With `--quick`, which is for a machine that checks every change, some
 * benchmarks are left out, the others do a fraction of their work, and the exit code is 1 if a figure is far off.
 */
import * as Main from "@effect-operator/k8s/Main"
import { NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Fs from "node:fs"
import type { Benchmark, Result } from "./Benchmark.ts"
import { ingest } from "./ingest.ts"
import { plot } from "./plot.ts"
import { queue } from "./queue.ts"
import { real } from "./real.ts"
import { server } from "./server.ts"
import { simulation } from "./simulation.ts"
import { startup } from "./startup.ts"

class Fails extends Data.TaggedError("Fails")<{ readonly message: string }> {}

const benchmarks: ReadonlyArray<Benchmark> = [...ingest, ...queue, ...startup, ...server, ...simulation, ...real]

const file = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withMetavar("FILE"), Flag.optional)

const flags = {
  json: file("json", "File for the results"),
  svg: file("svg", "File for a picture of them"),
  only: Flag.String("only").pipe(
    Flag.withDescription("Only those whose name has this in it"),
    Flag.withMetavar("NAME"),
    Flag.optional
  ),
  quick: Flag.Boolean("quick").pipe(
    Flag.withDescription("Fewer, with less work; exit code 1 if a figure is far off"),
    Flag.withDefault(false)
  )
}

const line = ({ baseline, goal, met, name, ratio, unit, value }: Result): string =>
  [
    name.padEnd(78),
    `${value} ${unit}`.padStart(18),
    `${baseline}`.padStart(12),
    `${ratio}`.padStart(8),
    goal.padStart(10),
    met ? " met" : " MISSED"
  ].join(" ")

const isAlarming = (name: string) => (results: ReadonlyArray<Result>): boolean =>
  results.some((result) => result.name === name && result.alarming)

/**
 * A figure that is far off is measured again, up to `attempts` times in total, and is an alarm only if it is far off
 * each time: a slower program stays slower, but another process on the machine that slows one contestant down does not.
 */
const confirmed = <R>(
  run: Effect.Effect<ReadonlyArray<Result>, never, R>,
  attempts = 3
): Effect.Effect<readonly [ReadonlyArray<Result>, ...ReadonlyArray<ReadonlyArray<Result>>], never, R> =>
  Effect.gen(function*() {
    const first = yield* run
    const all: [ReadonlyArray<Result>, ...Array<ReadonlyArray<Result>>] = [first]
    const suspects = first.filter(({ alarming }) => alarming)
    while (all.length < attempts && suspects.some(({ name }) => all.every(isAlarming(name)))) all.push(yield* run)
    return all
  })

const command = Command.make("bench", flags, ({ json, only, quick, svg }) =>
  Effect.gen(function*() {
    const chosen = benchmarks.filter(({ long, name }) =>
      Option.match(only, { onNone: () => !(quick && long), onSome: (part) => name.includes(part) })
    )
    if (chosen.length === 0) {
      const names = benchmarks.map(({ name }) => name).join(", ")
      return yield* new Fails({ message: `--only ${Option.getOrThrow(only)}: no such benchmark; there are ${names}` })
    }
    yield* Console.log(
      `${"benchmark".padEnd(78)} ${"value".padStart(18)} ${"baseline".padStart(12)} ${"ratio".padStart(8)} ${
        "goal".padStart(10)
      }`
    )
    const results: Array<Result> = []
    const alarming: Array<Result> = []
    for (const { run } of chosen) {
      const [first, ...again] = quick ? yield* confirmed(run({ quick })) : [yield* run({ quick })]
      results.push(...first)
      for (const result of [first, ...again].flat()) yield* Console.log(line(result))
      alarming.push(...first.filter(({ name }) => [first, ...again].every(isAlarming(name))))
      // An interrupted run leaves its results so far.
      if (Option.isSome(json)) Fs.writeFileSync(json.value, `${JSON.stringify(results, undefined, 2)}\n`)
    }
    if (Option.isSome(svg)) Fs.writeFileSync(svg.value, plot(results))
    if (quick && alarming.length > 0) {
      const message = alarming.map(({ goal, name, ratio }) => `${name}: ratio ${ratio}, goal ${goal}`).join("\n")
      return yield* new Fails({ message: `far off:\n${message}` })
    }
  })).pipe(Command.withDescription("What things cost, beside what they might"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("bench"), task: true })
)
