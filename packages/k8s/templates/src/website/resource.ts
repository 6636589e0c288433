import { Conditions, CustomResource } from "@effect-operator/core"
import { Effect, Schema } from "effect"

/** Everything about the kind follows from this: its type, its definition, its validation. */
export const Website = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Website",
  description: "Runs an image in a number of Pods.",
  spec: Schema.Struct({
    image: Schema.NonEmptyString.annotate({ description: "What the Pods run." }),
    replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
      .annotate({ description: "How many Pods there are to be." })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(1)))
  }),
  // Nothing in it is required: each field is written by whoever knows it, when it is known.
  status: Schema.Struct({
    availableReplicas: Schema.optionalKey(Schema.Int.annotate({ description: "How many Pods are available." })),
    conditions: Schema.optionalKey(Schema.Array(Conditions.Condition))
  }),
  printerColumns: [
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type Website = typeof Website.Type
