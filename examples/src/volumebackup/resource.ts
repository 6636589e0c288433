import { CelRule, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

/** A machine with a volume. Two controllers manage it: see `machine.ts` and `backup.ts`. */
export const Machine = CustomResource.make({
  group: "machines.example.com",
  version: "v1",
  kind: "Machine",
  description: "A machine that runs as a Pod and has a volume.",
  spec: Schema.Struct({
    image: Schema.NonEmptyString.annotate({ description: "The image that the machine runs." }),
    volumeSize: Schema.String.check(Schema.isPattern(/^[1-9][0-9]*([KMGT]i|[kMGT])?$/u))
      .annotate({
        description:
          "The size of the volume, such as 50G. Immutable, because not every storage class lets a claim grow."
      })
      .pipe(CelRule.rules(CelRule.immutable("volumeSize is immutable: create another Machine")))
  }),
  status: Schema.Struct({ ready: Schema.Boolean }),
  printerColumns: [
    { name: "Ready", type: "boolean", jsonPath: ".status.ready" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type Machine = typeof Machine.Type
