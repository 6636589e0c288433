/**
 * `npm run conformance -- --server memory|http|real --json FILE`: puts every statement to a server and reports;
 * `--only 136b`, as often as wanted, puts those alone.
 */
import { NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Main from "../../src/Main.ts"
import { type Outcome, Outcomes } from "./run.ts"
import type { Statement } from "./Statement.ts"
import { suite } from "./suite.ts"

class NotConformant extends Data.TaggedError("NotConformant")<{ readonly message: string }> {}

const askedOf = (only: ReadonlyArray<string>) => (statement: Statement): boolean =>
  only.length === 0 || only.includes(statement.id)

const command = Command.make("conformance", {
  server: Flag.Literals("server", ["memory", "http", "real"]).pipe(
    Flag.withDescription("The in-memory server called directly, the same over HTTPS, or the one in KUBEBUILDER_ASSETS"),
    Flag.withDefault("memory")
  ),
  json: Flag.String("json").pipe(Flag.withDescription("File for the report"), Flag.withMetavar("FILE"), Flag.optional),
  only: Flag.String("only").pipe(
    Flag.withDescription("A statement by its number; may be repeated. All of them without it"),
    Flag.withMetavar("ID"),
    Flag.between(0, Infinity)
  )
}, ({ json, only, server }) =>
  Effect.gen(function*() {
    const unknown = only.filter((id) => suite.every((statement) => statement.id !== id))
    if (unknown.length > 0) {
      return yield* new NotConformant({
        message: `--only ${unknown.join(", ")}: there is no such statement; numbers are like 1, 12 or 136b`
      })
    }
    const outcomes = yield* Outcomes
    const statements: Array<Outcome> = []
    for (const statement of suite.filter(askedOf(only))) {
      const outcome = yield* outcomes.of(statement)
      statements.push(outcome)
      yield* Console.log(
        `${outcome.status.padEnd(7)} ${outcome.id.padStart(4)} ${outcome.title}${
          outcome.note === "" ? "" : ` (${outcome.note})`
        }`
      )
    }
    const count = (status: Outcome["status"]) => statements.filter((outcome) => outcome.status === status).length
    const [passed, failed, skipped] = [count("passed"), count("failed"), count("skipped")]
    yield* Console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
    if (Option.isSome(json)) {
      const files = yield* FileSystem.FileSystem
      const report = {
        server,
        passed,
        failed,
        skipped,
        statements: statements.map(({ id, note, status }) => ({ id, status, note }))
      }
      yield* files.writeFileString(json.value, `${JSON.stringify(report, undefined, 2)}\n`)
    }
    if (failed > 0) return yield* new NotConformant({ message: `${failed} statements do not hold` })
  }).pipe(Effect.provide(Outcomes.layer(server, askedOf(only))))).pipe(
    Command.withDescription("Asks a server whether it keeps the statements of the conformance checklist")
  )

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("conformance") })
)
