import { CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const positive = (description: string) => Schema.Finite.check(Schema.isGreaterThan(0)).annotate({ description })

/** Stored in the operator's memory. */
export const Llama = CustomResource.make({
  group: "farm.example.com",
  version: "v1alpha",
  kind: "Llama",
  description: "A llama of the farm.",
  spec: Schema.Struct({
    weight: positive("In kilograms."),
    height: positive("In metres, at the shoulder.")
  }),
  printerColumns: [
    { name: "Weight", type: "number", jsonPath: ".spec.weight" },
    { name: "Height", type: "number", jsonPath: ".spec.height" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type Llama = typeof Llama.Type

/** A Pod as the farm sees it. */
export const FarmPod = CustomResource.make({
  group: "farm.example.com",
  version: "v1alpha",
  kind: "FarmPod",
  description: "A Pod as the farm sees it.",
  spec: Schema.Struct({ containers: Schema.Int.annotate({ description: "How many containers the Pod has." }) }),
  printerColumns: [
    { name: "Containers", type: "integer", jsonPath: ".spec.containers" },
    { name: "Pod", type: "string", jsonPath: ".metadata.ownerReferences[0].name", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type FarmPod = typeof FarmPod.Type
