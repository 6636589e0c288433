/**
 * `ReplicationController`: as many Pods as ReplicationControllers ask for (see `Replicas`).
 *
 * Their selector is a set of labels, and their status does not count Pods on their way out.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type * as Layer from "effect/Layer"
import * as CoreV1 from "../kinds/core.v1.ts"
import * as Replicas from "./sim/Replicas.ts"

/** Keeps the ReplicationControllers of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Replicas.layer({
  resource: CoreV1.ReplicationController,
  component: "replication-controller",
  selector: ({ spec }) => spec?.selector === undefined ? undefined : { matchLabels: spec.selector },
  withStatus: (controller, counts) => {
    const { terminatingReplicas: _, ...status } = counts
    return { ...controller, status }
  }
})
