/**
 * `effect-operator dev`: the operator from its source, on a cluster, again with every change.
 *
 * On an in-memory cluster, or with `--context` or `--kubeconfig` on one of yours (see `dev/Target`). Definitions are
 * installed before the operator starts, and again when they change, with a word on what the change breaks. A change of a
 * source stops the operator, wholly, and starts the new one; a program that cannot be read leaves the old one running (see
 * `dev/Loop`). Ctrl-C stops the operator, which drains and gives up its lease, then the cluster.
 *
 * With `--once` it ends when the operator has done what there was to do: 0 if it then stops cleanly, 1 otherwise.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Cluster from "./Cluster.ts"
import * as Lazy from "./Lazy.ts"
import * as Manifests from "./Manifests.ts"

export const defaults = {
  /** How long all of it may take with `--once`. */
  timeout: "60s"
} as const

const run = Lazy.command(() => import("./dev/Session.ts"), ({ run }) => run)

export const command = Command.make("dev", {
  main: Manifests.main,
  context: Flag.String("context").pipe(
    Flag.withDescription("Run against the cluster of this context of the kubeconfig, instead of one in memory"),
    Flag.withMetavar("NAME"),
    Flag.optional
  ),
  kubeconfig: Flag.String("kubeconfig").pipe(
    Flag.withDescription("Run against the cluster of this kubeconfig, instead of one in memory"),
    Flag.withMetavar("FILE"),
    Flag.optional
  ),
  port: Cluster.port,
  apply: Flag.String("apply").pipe(
    Flag.withDescription(
      "Apply the objects of this file or folder once the operator is ready; may be given several times"
    ),
    Flag.withMetavar("PLACE"),
    Flag.between(0, 100)
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("End when the operator has nothing left to do"),
    Flag.withDefault(false)
  ),
  timeout: Flag.String("timeout").pipe(
    Flag.withDescription("How long all of that may take with --once"),
    Flag.withMetavar("DURATION"),
    Flag.withDefault(defaults.timeout)
  )
}, run).pipe(
  Command.withDescription(
    "Runs the operator from its source, on an in-memory cluster or one of yours, with its definitions installed, and " +
      "again with every change of a source."
  ),
  Command.withShortDescription("Run the operator, again with every change"),
  Command.withExamples([
    { command: "effect-operator dev", description: "src/main.ts on an in-memory cluster" },
    { command: "effect-operator dev --apply samples --once", description: "In CI: ends with 0 once all is done" },
    { command: "effect-operator dev --context kind-dev", description: "On a cluster of your kubeconfig" }
  ])
)
