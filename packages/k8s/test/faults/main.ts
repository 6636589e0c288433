/**
 * Runs fault plans over real sockets:
 *
 *     node --conditions=op-source packages/k8s/test/faults/main.ts --plans 1000 --seed 1
 *
 * Prints every divergence with the seed of its plan, and how often each fault struck. Fails if there is a divergence.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Flag from "effect/cli/Flag"
import * as Command from "effect/cli/Command"
import * as Main from "../../src/Main.ts"
import * as Campaign from "./Campaign.ts"

class Divergent extends Data.TaggedError("Divergent")<{ readonly message: string }> {}

const flags = {
  seed: Flag.Int("seed").pipe(Flag.withDescription("Of the first plan"), Flag.withDefault(1)),
  plans: Flag.Int("plans").pipe(Flag.withDefault(100)),
  concurrency: Flag.Int("concurrency").pipe(Flag.withDescription("Plans at a time"), Flag.withDefault(6))
}

const command = Command.make("faults", flags, ({ concurrency, plans, seed }) =>
  Effect.gen(function*() {
    const started = yield* Clock.currentTimeMillis
    let done = 0
    const report = yield* Campaign.run({
      seeds: Array.from({ length: plans }, (_, index) => seed + index),
      concurrency,
      onOutcome: (outcome) => {
        done += 1
        if (outcome.divergences.length > 0) console.log(`seed ${outcome.seed}: ${outcome.divergences.join("\n  ")}`)
        else if (done % 100 === 0) console.log(`${done} plans`)
      }
    })
    yield* Console.log(Campaign.format(report))
    yield* Console.log(`${Math.round(((yield* Clock.currentTimeMillis) - started) / 1000)} s`)
    if (report.divergent.length > 0) {
      return yield* new Divergent({ message: `${report.divergent.length} of ${plans} plans diverged` })
    }
  }))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("faults"), task: true })
)
