import { CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const count = (description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).annotate({ description }))

/** Reports how many of the selected Pods are ready, and how many there should be. */
export const Autoscaler = CustomResource.make({
  group: "scaling.example.com",
  version: "v1",
  kind: "Autoscaler",
  description: "Observes Pods and reports how many there should be.",
  spec: Schema.Struct({
    selector: Schema.Record(Schema.String, Schema.String).annotate({
      description: "The labels that a Pod must have to be counted."
    }),
    minReplicas: count("1 by default."),
    maxReplicas: count("10 by default."),
    targetCPUUtilization: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).annotate({
        description: "The CPU utilization to aim for, in percent; 80 by default."
      })
    )
  }),
  status: Schema.Struct({
    currentReplicas: Schema.Int.annotate({ description: "The number of Pods that are running and ready." }),
    desiredReplicas: Schema.Int.annotate({ description: "The number of Pods that there should be." }),
    message: Schema.String
  }),
  printerColumns: [
    { name: "Current", type: "integer", jsonPath: ".status.currentReplicas" },
    { name: "Desired", type: "integer", jsonPath: ".status.desiredReplicas" },
    { name: "Message", type: "string", jsonPath: ".status.message" }
  ]
})
export type Autoscaler = typeof Autoscaler.Type
