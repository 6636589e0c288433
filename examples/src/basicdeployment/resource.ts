import { Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const count = (description: string, maximum = 1000) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })).annotate({ description })

const image = Schema.NonEmptyString.annotate({ description: "The image of the Pods." })

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
    replicas: Schema.Int.annotate({ description: "The number of Pods that exist." }),
    activeReplicas: Schema.Int.annotate({ description: "The number of Pods that are ready." }),
    observedGeneration: Schema.Int.annotate({ description: "The generation of the spec that these numbers are about." })
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
  description: "Keeps a number of Pods running, and rolls out changes of their image step by step.",
  spec: Schema.Struct({
    replicas: count("How many Pods there should be."),
    image,
    maxSurge: Schema.optionalKey(count("How many additional Pods there may be during a rollout; 1 by default.")),
    maxUnavailable: Schema.optionalKey(
      count("How many Pods may be missing during a rollout; 0 by default, 1 if maxSurge is 0.")
    ),
    revisionHistoryLimit: Schema.optionalKey(count("How many old revisions to keep for a rollback; 10 by default.")),
    rollbackTo: Schema.optionalKey(
      count("Roll back to this revision, or to the previous one if 0. Removed once it is done.", 1_000_000)
    )
  }),
  status: Schema.Struct({
    ready: Schema.Boolean.annotate({ description: "Whether all Pods are ready and run the desired image." }),
    revision: Schema.Int.annotate({ description: "The revision that is being, or has been, rolled out." }),
    replicas: Schema.Int.annotate({ description: "The number of Pods asked for, of all revisions." }),
    updatedReplicas: Schema.Int.annotate({ description: "The number of Pods asked for with the desired image." }),
    availableReplicas: Schema.Int.annotate({ description: "The number of Pods that are ready, of all revisions." }),
    observedGeneration: Schema.Int.annotate({ description: "The generation of the spec that this status is about." }),
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
