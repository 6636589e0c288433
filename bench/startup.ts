/** Start-up: from the start of the process to the first object. */
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { bundle } from "../examples/scripts/bundle.ts"
import { type Benchmark, inTurns, least, result } from "./Benchmark.ts"
import * as Processes from "./Processes.ts"
import type { Started } from "./startup/report.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "bench-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
)

const starts: Benchmark = {
  name: "start-up",
  run: ({ quick }) =>
    Effect.scoped(Effect.gen(function*() {
      const path = yield* folder
      const file = Path.join(path, "operator.mjs")
      yield* Effect.promise(() => bundle(Path.join(import.meta.dirname, "startup/ours.ts"), file))
      const port = yield* Processes.serve("fixture/main.ts", "widgets", 1, 1, "eager")
      const start = (script: string) => {
        const found: Array<Started> = []
        const run = Effect.map(
          Processes.run<Started>(script, `http://127.0.0.1:${port}`).pipe(
            Effect.provideService(Processes.CompileCache, Path.join(path, "cache"))
          ),
          (started) => {
            found.push(started)
            return started.cpu
          }
        )
        return { run, found }
      }
      const bundled = start(file)
      const clientNode = start("startup/clientNode.ts")
      yield* inTurns(1, [bundled.run, clientNode.run])
      const [ours, theirs] = yield* inTurns(quick ? 5 : 9, [bundled.run, clientNode.run])
      const leastOf = (all: ReadonlyArray<Started>, of: keyof Started) => least(all.map((started) => started[of]))
      return [
        result({
          name: "9 start to first event, bundled, compile cache, against client-node: CPU",
          unit: "ms",
          value: ours,
          baseline: theirs,
          goal: { atMost: 0.5 }
        }),
        result({
          name: "9 start to first event, bundled, compile cache, against client-node: real time",
          unit: "ms",
          value: leastOf(bundled.found, "wall"),
          baseline: leastOf(clientNode.found, "wall"),
          goal: { atMost: 0.5 }
        }),
        result({
          name: "9 RSS of an operator with one object",
          unit: "MB",
          value: leastOf(bundled.found, "rss") / 1e6,
          baseline: leastOf(clientNode.found, "rss") / 1e6,
          goal: { atMost: 100, of: "value" }
        })
      ]
    }))
}

export const startup: ReadonlyArray<Benchmark> = [starts]
