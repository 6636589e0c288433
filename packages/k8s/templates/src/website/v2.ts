import { Conditions, CustomResource } from "@effect-operator/core"
import { Effect, Schema } from "effect"

/** The declaration of the kind. Its type, definition and validation are derived from it. */
export const WebsiteV2 = CustomResource.make({
  group: "example.com",
  version: "v2",
  kind: "Website",
  description: "Runs an image in a number of Pods.",
  spec: Schema.Struct({
    image: Schema.NonEmptyString.annotate({ description: "The image that the Pods run." }),
    replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
      .annotate({ description: "The desired number of Pods." })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(1)))
  }),
  // All fields are optional: an object has no status at first, and each field is written when its value is known.
  status: Schema.Struct({
    availableReplicas: Schema.optionalKey(Schema.Int.annotate({ description: "The number of available Pods." })),
    conditions: Schema.optionalKey(Schema.Array(Conditions.Condition))
  }),
  printerColumns: [
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type WebsiteV2 = typeof WebsiteV2.Type
