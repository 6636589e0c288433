/** `npm run bench -- [--json FILE] [--only NAME]`: runs the benchmarks, prints a table, writes the results as JSON. */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import * as Fs from "node:fs"
import { parseArgs } from "node:util"
import type { Benchmark, Result } from "./Benchmark.ts"
import { server } from "./server.ts"

const benchmarks: ReadonlyArray<Benchmark> = [...server]

const { values: options } = parseArgs({ options: { json: { type: "string" }, only: { type: "string" } } })

const line = ({ baseline, goal, met, name, ratio, unit, value }: Result): string =>
  [
    name.padEnd(62),
    `${value} ${unit}`.padStart(18),
    `${baseline}`.padStart(12),
    `${ratio}`.padStart(8),
    goal.padStart(8),
    met ? " met" : " MISSED"
  ].join(" ")

const main = Effect.gen(function*() {
  const chosen = benchmarks.filter(({ name }) => options.only === undefined || name.includes(options.only))
  if (chosen.length === 0) {
    yield* Console.error(`--only: ${options.only}: no such benchmark: ${benchmarks.map(({ name }) => name).join(", ")}`)
    return yield* Effect.sync(() => process.exit(2))
  }
  yield* Console.log(
    `${"benchmark".padEnd(62)} ${"value".padStart(18)} ${"baseline".padStart(12)} ${"ratio".padStart(8)} ${
      "goal".padStart(8)
    }`
  )
  const results: Array<Result> = []
  for (const { run } of chosen) {
    for (const result of yield* run) {
      results.push(result)
      yield* Console.log(line(result))
    }
  }
  if (options.json !== undefined) Fs.writeFileSync(options.json, `${JSON.stringify(results, undefined, 2)}\n`)
})

NodeRuntime.runMain(main)
