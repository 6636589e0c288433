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
  /** May be left out where the Pod has only one. */
  readonly container?: string | undefined
  /** Where the Pod is; the program's own cluster by default. */
  readonly cluster?: Cluster.Cluster | undefined
  /** Of its run before this one: after a crash. */
  readonly previous?: boolean | undefined
  /** Only the last lines. */
  readonly tailLines?: number | undefined
  /** Only what is younger; whole seconds. Not together with `sinceTime`. */
  readonly sinceSeconds?: number | undefined
  /** Only what came after that: RFC 3339. */
  readonly sinceTime?: string | undefined
  /** No more than the first bytes of it; may end in mid-line. */
  readonly limitBytes?: number | undefined
  /** Each line after its time, to the nanosecond, and a space. */
  readonly timestamps?: boolean | undefined
}

const kindIn = (cluster: Cluster.Cluster | undefined) => cluster === undefined ? Pod : Cluster.on(Pod, cluster)

const parameters = (options: Omit<Options, "cluster">) =>
  Object.entries(options).flatMap(([name, value]) => value === undefined ? [] : [[name, String(value)] as const])

/** All that there is by now. */
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
 * The lines that there are, and all that come, until the container ends (or its node, or the server, ends it: `sinceTime` goes
 * on from there). Lines have no line ends; one that is longer than a mebibyte comes in pieces.
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
