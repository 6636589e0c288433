/**
 * `effect-operator`: the command line, from a new project to a running operator.
 *
 * Every command prints its result on standard output and everything else on standard error. It exits with 0 on success,
 * otherwise with 1 and one message that says what to do; if a signal interrupts it, with 128 plus the signal's number.
 * `cluster` and `dev` without `--once` run until then, and exit with 0. `--help` works everywhere; `--completions bash`
 * (or `zsh`, `fish`) prints a completion script.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Main from "../Main.ts"
import { version } from "../Version.ts"
import * as Add from "./Add.ts"
import * as Check from "./Check.ts"
import * as Cluster from "./Cluster.ts"
import * as CrdToSchema from "./CrdToSchema.ts"
import * as Dev from "./Dev.ts"
import * as Init from "./Init.ts"
import * as Manifests from "./Manifests.ts"
import { Serves } from "./Serves.ts"

export const command = Command.make("effect-operator").pipe(
  Command.withDescription("Create, run, check and deploy Kubernetes operators in TypeScript with Effect."),
  Command.withSubcommands([
    { group: "Make", commands: [Init.command, Add.command] },
    { group: "Run", commands: [Dev.command, Cluster.command] },
    { group: "Deploy", commands: [Manifests.command, Check.command] },
    { group: "Kinds", commands: [CrdToSchema.command] }
  ])
)

/** Runs with these arguments. */
export const runWith = Command.runWith(command, { version })

/** Runs the process. */
export const main = (): void => {
  let isServer = false
  const declare = () => {
    isServer = true
  }
  Command.run(command, { version }).pipe(
    Effect.provideService(Serves, declare),
    Effect.provide(NodeServices.layer),
    Main.makeRunMain({
      task: () => !isServer,
      // Errors for the user have been printed already; internal errors have not.
      report: (cause) => CliError.isCliError(Cause.squash(cause)) ? Effect.void : Console.error(Cause.pretty(cause))
    })
  )
}
