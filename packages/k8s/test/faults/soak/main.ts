/**
 * `npm run soak -- --minutes 5 --seed 1`: a soak over real sockets (see `Soak`). Prints a line a minute; fails if the
 * cache was not equal to the server at the end of one, or if memory grew. `--speed 60` makes an hour of a minute.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Flag from "effect/cli/Flag"
import * as Command from "effect/cli/Command"
import * as References from "effect/References"
import * as Main from "../../../src/Main.ts"
import * as Soak from "./Soak.ts"

class Failed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

const flags = {
  minutes: Flag.Int("minutes").pipe(Flag.withDefault(5)),
  seed: Flag.Int("seed").pipe(Flag.withDefault(1)),
  writes: Flag.Int("writes").pipe(
    Flag.withDescription("Per second"),
    Flag.withDefault(Soak.defaults.writesPerSecond)
  ),
  speed: Flag.Int("speed").pipe(Flag.withDescription("Seconds of the soak per second"), Flag.withDefault(1))
}

const command = Command.make("soak", flags, ({ minutes, seed, speed, writes }) =>
  Effect.gen(function*() {
    const { faults, objects } = Soak.defaults
    yield* Console.log(
      `${minutes} minutes, seed ${seed}: ${objects} objects, ${writes} writes a second, ${faults * 100} % faults`
    )
    const checks = yield* Soak.run({
      minutes,
      seed,
      speed,
      writesPerSecond: writes,
      onCheck: (check) => console.log(Soak.format(check))
    })
    const last = checks.at(-1)
    if (last === undefined || !last.equal) return yield* new Failed({ message: "the cache is not what the server has" })
    if (!Soak.isFlat(checks)) return yield* new Failed({ message: "memory grew" })
    yield* Console.log("equal throughout, and memory is flat")
  }).pipe(Effect.provideService(References.MinimumLogLevel, "Error")))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("soak"), task: true })
)
