/**
 * `ReplicationController`: keeps the number of Pods that each ReplicationController asks for (see `Replicas`).
 *
 * Its selector is a map of labels, and its status does not count Pods that are being deleted.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type * as Layer from "effect/Layer"
import * as CoreV1 from "../kinds/core.v1.ts"
import * as Replicas from "./sim/Replicas.ts"

/** Reconciles the ReplicationControllers of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Replicas.layer({
  resource: CoreV1.ReplicationController,
  component: "replication-controller",
  selector: ({ spec }) => spec?.selector === undefined ? undefined : { matchLabels: spec.selector },
  withStatus: (controller, counts) => {
    const { terminatingReplicas: _, ...status } = counts
    return { ...controller, status }
  }
})
