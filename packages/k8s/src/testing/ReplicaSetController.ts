/** `ReplicaSetController`: keeps the number of Pods that each ReplicaSet asks for (see `Replicas`). */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type * as Layer from "effect/Layer"
import { ReplicaSet } from "../kinds/apps.v1.ts"
import * as Replicas from "./sim/Replicas.ts"

/** Reconciles the ReplicaSets of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Replicas.layer({
  resource: ReplicaSet,
  component: "replicaset-controller",
  selector: ({ spec }) => spec.selector,
  withStatus: (set, status) => ({ ...set, status })
})
