/**
 * `effect-operator dev`: runs the operator from source, on a cluster, and restarts it on every change.
 *
 * It runs on an in-memory cluster or, with `--context` or `--kubeconfig`, on one of yours (see `dev/Target`).
 * Definitions are installed before the operator starts, and again when they change, with a note on what the change
 * breaks. When a source changes, the operator is stopped completely, then the new one is started; if the program cannot
 * be read, the old one keeps running (see `dev/Loop`). Ctrl-C stops the operator, which drains and releases its lease,
 * and then the cluster.
 *
 * With `--once` it ends when the operator has nothing left to do: with 0 if the operator then stops cleanly, otherwise
 * with 1.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Cluster from "./Cluster.ts"
import * as Lazy from "./Lazy.ts"
import * as Manifests from "./Manifests.ts"

export const defaults = {
  /** The time limit of `--once`. */
  timeout: "60s"
} as const

const run = Lazy.command(() => import("./dev/Session.ts"), ({ run }) => run)

export const command = Command.make("dev", {
  main: Manifests.main,
  context: Flag.String("context").pipe(
    Flag.withDescription("Use the cluster of this kubeconfig context instead of an in-memory cluster"),
    Flag.withMetavar("NAME"),
    Flag.optional
  ),
  kubeconfig: Flag.String("kubeconfig").pipe(
    Flag.withDescription("Use the cluster of this kubeconfig instead of an in-memory cluster"),
    Flag.withMetavar("FILE"),
    Flag.optional
  ),
  port: Cluster.port,
  apply: Flag.String("apply").pipe(
    Flag.withDescription(
      "Apply the objects in this file or folder once the operator is ready; may be repeated"
    ),
    Flag.withMetavar("PLACE"),
    Flag.between(0, 100)
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("Exit when the operator has nothing left to do"),
    Flag.withDefault(false)
  ),
  timeout: Flag.String("timeout").pipe(
    Flag.withDescription("Time limit for --once"),
    Flag.withMetavar("DURATION"),
    Flag.withDefault(defaults.timeout)
  )
}, run).pipe(
  Command.withDescription(
    "Installs the operator's definitions and runs it from source, on an in-memory cluster or one of yours. Restarts it " +
      "whenever a source file changes."
  ),
  Command.withShortDescription("Run the operator, and restart it on every change"),
  Command.withExamples([
    { command: "effect-operator dev", description: "src/main.ts on an in-memory cluster" },
    { command: "effect-operator dev --apply samples --once", description: "In CI: exits with 0 once all is done" },
    { command: "effect-operator dev --context kind-dev", description: "On a cluster of your kubeconfig" }
  ])
)
