/**
 * `npm run bench -- [--json FILE] [--svg FILE] [--only NAME] [--quick]`: runs the benchmarks, prints a table, writes the
 * results as JSON and as a picture. With `--quick` some are left out, the others do a fraction of their work, and the exit
 * code is 1 if a figure is far off: that is for a machine that checks every change.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import * as Fs from "node:fs"
import { parseArgs } from "node:util"
import type { Benchmark, Result } from "./Benchmark.ts"
import { ingest } from "./ingest.ts"
import { plot } from "./plot.ts"
import { queue } from "./queue.ts"
import { real } from "./real.ts"
import { server } from "./server.ts"
import { startup } from "./startup.ts"

const benchmarks: ReadonlyArray<Benchmark> = [...ingest, ...queue, ...startup, ...server, ...real]

const { values: options } = parseArgs({
  options: {
    json: { type: "string" },
    svg: { type: "string" },
    only: { type: "string" },
    quick: { type: "boolean", default: false }
  }
})

const line = ({ baseline, goal, met, name, ratio, unit, value }: Result): string =>
  [
    name.padEnd(78),
    `${value} ${unit}`.padStart(18),
    `${baseline}`.padStart(12),
    `${ratio}`.padStart(8),
    goal.padStart(10),
    met ? " met" : " MISSED"
  ].join(" ")

const main = Effect.gen(function*() {
  const chosen = benchmarks.filter(({ long, name }) =>
    options.only === undefined ? !(options.quick && long) : name.includes(options.only)
  )
  if (chosen.length === 0) {
    yield* Console.error(`--only: ${options.only}: no such benchmark: ${benchmarks.map(({ name }) => name).join(", ")}`)
    return yield* Effect.sync(() => process.exit(2))
  }
  yield* Console.log(
    `${"benchmark".padEnd(78)} ${"value".padStart(18)} ${"baseline".padStart(12)} ${"ratio".padStart(8)} ${
      "goal".padStart(10)
    }`
  )
  const results: Array<Result> = []
  for (const { run } of chosen) {
    for (const result of yield* run(options)) {
      results.push(result)
      yield* Console.log(line(result))
    }
    // A run that is cut short leaves what it has found.
    if (options.json !== undefined) Fs.writeFileSync(options.json, `${JSON.stringify(results, undefined, 2)}\n`)
  }
  const alarming = options.quick ? results.filter(({ alarming }) => alarming) : []
  for (const { goal, name, ratio } of alarming) yield* Console.error(`far off: ${name}: ratio ${ratio}, goal ${goal}`)
  if (options.svg !== undefined) Fs.writeFileSync(options.svg, plot(results))
  if (alarming.length > 0) process.exitCode = 1
})

NodeRuntime.runMain(main)
