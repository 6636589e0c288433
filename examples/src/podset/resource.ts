import { CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

/** Keeps `replicas` busybox Pods running in its own namespace. */
export const PodSet = CustomResource.make({
  group: "batch.tutorial.kubebuilder.io",
  version: "v1",
  kind: "PodSet",
  description: "Keeps a number of busybox Pods running.",
  spec: Schema.Struct({
    replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))
      .annotate({ description: "How many Pods there should be." })
  }),
  status: Schema.Struct({
    readyReplicas: Schema.Int.annotate({ description: "The number of Pods that are running or pending." }),
    podNames: Schema.Array(Schema.String).annotate({ description: "The names of these Pods, sorted." })
  }),
  printerColumns: [
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ],
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.readyReplicas" }
})
export type PodSet = typeof PodSet.Type
