/**
 * `PodEviction`: asks for a Pod to be deleted, as `kubectl drain` does, unless a disruption budget needs it for now.
 *
 * What a budget does not allow is an outcome and no failure: ask again later, or delete the Pod after a time limit. So
 * is a Pod that is gone already. Given an object (rather than a key), only that Pod is evicted, never a later one of its
 * name.
 *
 * RBAC: `create` of `pods/eviction`, `{ resource: Pod, subresource: "eviction", verbs: ["create"] }` in `writes` of the
 * manifests. Servers since 1.22.
 *
 * ```ts
 * const evicted = yield* PodEviction.evict(pod)
 * if (evicted._tag === "Disallowed") return Action.requeueAfter("5 seconds")
 * ```
 *
 * Source: "API-initiated Eviction" of the Kubernetes documentation.
 */
import * as Cluster from "@effect-operator/core/Cluster"
import { KubeClient } from "@effect-operator/core/KubeClient"
import type * as KubeError from "@effect-operator/core/KubeError"
import { key, type ObjectRef, uid } from "@effect-operator/core/KubeObject"
import * as Status from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import { Pod } from "./kinds/core.v1.ts"

export interface Options {
  /** The cluster of the Pod; the program's own by default. */
  readonly cluster?: Cluster.Cluster | undefined
  /** How long its containers may take to stop; the Pod's own grace period by default. */
  readonly gracePeriodSeconds?: number | undefined
}

/** The server's answer. */
export type Outcome =
  /** The Pod is being deleted. Reads of the cache wait until that shows. */
  | { readonly _tag: "Evicted" }
  /** There is no such Pod. */
  | { readonly _tag: "Gone" }
  /** A disruption budget does not allow it for now. */
  | { readonly _tag: "Disallowed"; readonly message: string }

/** A busy server refuses requests with the same code as a budget. */
const isOfBudget = (status: unknown): boolean =>
  Status.isStatus(status) && status.details?.causes?.some(({ reason }) => reason === "DisruptionBudget") === true

/** Evicts a Pod. */
export const evict = (
  pod: ObjectRef,
  { cluster, gracePeriodSeconds }: Options = {}
): Effect.Effect<Outcome, KubeError.KubeError, KubeClient> => {
  const only = uid(pod)
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: key(pod),
    deleteOptions: {
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      ...(only === undefined ? {} : { preconditions: { uid: only } })
    }
  }
  return KubeClient.use((client) =>
    // The subresource takes a kind of its own.
    client.create(cluster === undefined ? Pod : Cluster.on(Pod, cluster), eviction as never, {
      subresource: "eviction"
    })
  ).pipe(
    Effect.as<Outcome>({ _tag: "Evicted" }),
    Effect.catchReason("KubeError", "NotFound", () => Effect.succeed<Outcome>({ _tag: "Gone" })),
    // Another Pod has its name now.
    Effect.catchReason(
      "KubeError",
      "Conflict",
      (_, error) => only === undefined ? Effect.fail(error) : Effect.succeed<Outcome>({ _tag: "Gone" })
    ),
    Effect.catchReason(
      "KubeError",
      "TooManyRequests",
      (reason, error) =>
        isOfBudget(reason.status)
          ? Effect.succeed<Outcome>({ _tag: "Disallowed", message: reason.message })
          : Effect.fail(error)
    )
  )
}
