/**
 * `npm run conformance -- --server memory|http|real --json FILE`: puts every statement to a server and reports.
 */
import { NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Main from "../../src/Main.ts"
import { type Outcome, servers, start } from "./run.ts"
import { byNumber, parts } from "./suite.ts"

class NotConformant extends Data.TaggedError("NotConformant")<{ readonly message: string }> {}

const command = Command.make("conformance", {
  server: Flag.Literals("server", ["memory", "http", "real"]).pipe(
    Flag.withDescription("The in-memory server called directly, the same over HTTPS, or the one in KUBEBUILDER_ASSETS"),
    Flag.withDefault("memory")
  ),
  json: Flag.String("json").pipe(Flag.withDescription("File for the report"), Flag.withMetavar("FILE"), Flag.optional)
}, ({ json, server }) =>
  Effect.gen(function*() {
    const statements: Array<Outcome> = []
    for (const part of parts) {
      yield* Effect.gen(function*() {
        const outcomeOf = yield* start(server, part.statements, servers[server])
        for (const statement of part.statements) {
          const outcome = yield* outcomeOf(statement)
          statements.push(outcome)
          yield* Console.log(
            `${outcome.status.padEnd(7)} ${outcome.id.padStart(4)} ${outcome.title}${
              outcome.note === "" ? "" : ` (${outcome.note})`
            }`
          )
        }
      }).pipe(Effect.scoped)
    }
    statements.sort(byNumber)
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
  })).pipe(
    Command.withDescription("Asks a server whether it keeps the statements of the conformance checklist")
  )

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("conformance") })
)
