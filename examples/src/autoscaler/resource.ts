import { CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

/** Keeps `desiredReplicas` Pods of one image running in the namespace of your choice. */
export const Autoscaler = CustomResource.make({
  group: "test.skuber.io",
  version: "v1",
  kind: "Autoscaler",
  description: "Keeps a number of Pods of one image running in a namespace.",
  spec: Schema.Struct({
    targetNamespace: Schema.String.check(
      Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u),
      Schema.isMaxLength(63)
    ).annotate({ description: "The namespace of the Pods." }),
    desiredReplicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))
      .annotate({ description: "How many Pods there should be." }),
    image: Schema.NonEmptyString.annotate({ description: "The image of the Pods." })
  }),
  status: Schema.Struct({
    availableReplicas: Schema.Int.annotate({ description: "The number of Pods that are running or pending." }),
    ready: Schema.Boolean.annotate({ description: "Whether all desired Pods are running." })
  }),
  printerColumns: [
    { name: "Desired", type: "integer", jsonPath: ".spec.desiredReplicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Ready", type: "boolean", jsonPath: ".status.ready" },
    { name: "Target", type: "string", jsonPath: ".spec.targetNamespace", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type Autoscaler = typeof Autoscaler.Type
