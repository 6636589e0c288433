/**
 * `PodLogs`: what a container of a Pod has printed, as `kubectl logs` shows it.
 *
 * The node of the Pod answers: a container that has not started yet is a `BadRequest`, and a node that does not answer
 * is a `ServerError`. Logs that the node has discarded (rotated logs, a removed Pod) are gone.
 *
 * RBAC: `get` of `pods/log`.
 *
 * ```ts
 * const last = yield* PodLogs.read(pod, { container: "migrate", tailLines: 20 })
 * ```
 */
import * as Cluster from "@effect-operator/core/Cluster"
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { ObjectRef } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Pod } from "./kinds/core.v1.ts"

export interface Options {
  /** Optional if the Pod has only one container. */
  readonly container?: string | undefined
  /** The cluster of the Pod; the program's own by default. */
  readonly cluster?: Cluster.Cluster | undefined
  /** Read the log of the container's previous run, for example after a crash. */
  readonly previous?: boolean | undefined
  /** Only this many lines, from the end. */
  readonly tailLines?: number | undefined
  /** Only lines younger than this, in whole seconds. Excludes `sinceTime`. */
  readonly sinceSeconds?: number | undefined
  /** Only lines after this time, in RFC 3339. */
  readonly sinceTime?: string | undefined
  /** At most this many bytes, from the start; the last line may be cut. */
  readonly limitBytes?: number | undefined
  /** Prefix each line with its time (RFC 3339, nanoseconds) and a space. */
  readonly timestamps?: boolean | undefined
}

const kindIn = (cluster: Cluster.Cluster | undefined) => cluster === undefined ? Pod : Cluster.on(Pod, cluster)

const parameters = (options: Omit<Options, "cluster">) =>
  Object.entries(options).flatMap(([name, value]) => value === undefined ? [] : [[name, String(value)] as const])

/** The log up to now. */
export const read = (
  pod: ObjectRef,
  { cluster, ...options }: Options = {}
): Effect.Effect<string, KubeError, KubeClient> =>
  KubeClient.use((client) =>
    client.connect(kindIn(cluster), pod, {
      subresource: "log",
      query: parameters(options)
    })
  ).pipe(Effect.map((body) => typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body)))

/**
 * The existing lines and all new ones, until the container ends or its node or the server ends the stream; then
 * continue with `sinceTime`. Lines come without line ends. A line longer than a mebibyte comes in pieces.
 */
export const follow = (
  pod: ObjectRef,
  { cluster, ...options }: Options = {}
): Stream.Stream<string, KubeError, KubeClient> =>
  Stream.unwrap(
    KubeClient.useSync((client) =>
      client.lines(kindIn(cluster), pod, { subresource: "log", query: [...parameters(options), ["follow", "true"]] })
    )
  )
