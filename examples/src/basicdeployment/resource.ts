import { Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const count = (description: string, maximum = 1000) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })).annotate({ description })

const image = Schema.NonEmptyString.annotate({ description: "What the Pods run." })

/**
 * The child: keeps a number of Pods of one image, and reports how many of them are ready. Knows nothing of rollouts.
 */
export const BasicReplicaSet = CustomResource.make({
  group: "apps.example.com",
  version: "v1",
  kind: "BasicReplicaSet",
  shortNames: ["brs"],
  description: "Keeps a number of Pods of one image running.",
  spec: Schema.Struct({ replicas: count("How many Pods there should be."), image }),
  status: Schema.Struct({
    replicas: Schema.Int.annotate({ description: "Pods there are." }),
    activeReplicas: Schema.Int.annotate({ description: "Pods that are ready." }),
    observedGeneration: Schema.Int.annotate({ description: "The spec that these numbers are about." })
  }),
  printerColumns: [
    { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Active", type: "integer", jsonPath: ".status.activeReplicas" },
    { name: "Image", type: "string", jsonPath: ".spec.image" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ],
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
})
export type BasicReplicaSet = typeof BasicReplicaSet.Type

/** The parent: moves from one image to the next without ever having fewer ready Pods than it promises. */
export const BasicDeployment = CustomResource.make({
  group: "apps.example.com",
  version: "v1",
  kind: "BasicDeployment",
  shortNames: ["bd"],
  description: "Rolls out one image after the other, and back.",
  spec: Schema.Struct({
    replicas: count("How many Pods there should be."),
    image,
    maxSurge: Schema.optionalKey(count("How many Pods more there may be during a rollout; 1 by default.")),
    maxUnavailable: Schema.optionalKey(
      count("How many Pods fewer may be ready during a rollout; 0 by default, 1 where maxSurge is 0.")
    ),
    revisionHistoryLimit: Schema.optionalKey(count("How many old revisions are kept to roll back to; 10 by default.")),
    rollbackTo: Schema.optionalKey(
      count("Go back to this revision, or with 0 to the one before; taken away when it is done.", 1_000_000)
    )
  }),
  status: Schema.Struct({
    ready: Schema.Boolean.annotate({ description: "All Pods are ready and of the image wanted." }),
    revision: Schema.Int.annotate({ description: "The revision that is rolled out." }),
    replicas: Schema.Int.annotate({ description: "Pods asked for, of all revisions." }),
    updatedReplicas: Schema.Int.annotate({ description: "Pods asked for of the image wanted." }),
    availableReplicas: Schema.Int.annotate({ description: "Pods that are ready, of all revisions." }),
    observedGeneration: Schema.Int.annotate({ description: "The spec that all of this is about." }),
    conditions: Schema.Array(Conditions.Condition)
  }),
  printerColumns: [
    { name: "Ready", type: "boolean", jsonPath: ".status.ready" },
    { name: "Revision", type: "integer", jsonPath: ".status.revision" },
    { name: "Updated", type: "integer", jsonPath: ".status.updatedReplicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Progress", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].message", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ],
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
})
export type BasicDeployment = typeof BasicDeployment.Type
