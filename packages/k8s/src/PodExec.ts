/**
 * `PodExec`: runs a command in a container of a Pod, as `kubectl exec` does.
 *
 * A command gets all of its input at once and is awaited, and all of its output is returned as text. It is started
 * once: a lost answer is a `Transport` failure, and nobody knows how far the command came, so use commands that can be
 * run again. Interrupting abandons its streams and does not end the command. A command that fails has an exit code and
 * is not a failure; a command that could not be started is a `KubeError`.
 *
 * RBAC: `get` of `pods/exec`, as which a WebSocket begins, and since Kubernetes 1.35 `create` as well.
 *
 * ```ts
 * const { exitCode, stdout } = yield* PodExec.run(pod, { container: "db", command: ["pg_isready"] })
 * ```
 *
 * Source: kubernetes/enhancements KEP-4006 (WebSockets in place of SPDY); k8s.io/client-go/tools/remotecommand.
 */
import * as Cluster from "@effect-operator/core/Cluster"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as KubeError from "@effect-operator/core/KubeError"
import { key, type ObjectRef } from "@effect-operator/core/KubeObject"
import type { Ended } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import { Pod } from "./kinds/core.v1.ts"

export interface Options {
  /** The program and its arguments. No shell interprets them. */
  readonly command: readonly [program: string, ...arguments: ReadonlyArray<string>]
  /** Optional if the Pod has only one container. */
  readonly container?: string | undefined
  /** The cluster of the Pod; the program's own by default. */
  readonly cluster?: Cluster.Cluster | undefined
  /** The whole standard input; none by default. Needs Kubernetes 1.30 or later. */
  readonly stdin?: string | undefined
}

/** The outcome of a command. */
export interface Result {
  readonly stdout: string
  readonly stderr: string
  /** 0 if it succeeded. */
  readonly exitCode: number
}

/** Runs a command and waits until it ends. */
export const run = (
  pod: ObjectRef,
  { cluster, command, container, stdin }: Options
): Effect.Effect<Result, KubeError.KubeError, KubeClient> =>
  KubeClient.use((client) =>
    client.connect(cluster === undefined ? Pod : Cluster.on(Pod, cluster), pod, {
      subresource: "exec",
      method: "POST",
      query: [
        ...command.map((word) => ["command", word] as const),
        ["container", container],
        ["stdin", stdin === undefined ? undefined : "true"],
        ["stdout", "true"],
        ["stderr", "true"]
      ],
      process: { stdin }
    })
  ).pipe(Effect.flatMap((body) => {
    const { status, stderr, stdout } = body as Ended
    const exitCode = exitCodeOf(status)
    return exitCode === undefined
      ? Effect.fail(KubeError.make(
        { verb: "connect", resource: "pods/exec", ...key(pod) },
        KubeError.fromAnswer({ status: status.code ?? 500, headers: {}, body: status })
      ))
      : Effect.succeed({ stdout, stderr, exitCode })
  }))

/** Undefined if no process was started. */
const exitCodeOf = ({ details, reason, status }: Ended["status"]): number | undefined => {
  if (status === "Success") return 0
  const cause = details?.causes?.find((cause) => cause.reason === "ExitCode")
  const code = Number(cause?.message)
  return reason === "NonZeroExitCode" && Number.isInteger(code) ? code : undefined
}
