import { CelRule, Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** A database with its volumes, initial configuration, backups and upgrades. */
export const Database = CustomResource.make({
  group: "stable.imaginedata.com",
  version: "v1",
  kind: "Database",
  shortNames: ["db"],
  description: "A database that is set up, backed up and upgraded automatically.",
  spec: Schema.Struct({
    name: Schema.String.check(Schema.isPattern(/^[a-z_][a-z0-9_]*$/u), Schema.isMaxLength(63))
      .annotate({ description: "The name of the database within the server." }),
    port: whole(1, 65535),
    "storage-size": Schema.String.check(Schema.isPattern(/^[1-9][0-9]*([KMGT]i|[kMGT])?$/u))
      .annotate({
        description:
          "The size of each volume, such as 50G. Immutable, because the volume claim templates of a StatefulSet are."
      })
      .pipe(CelRule.rules(CelRule.immutable(
        "storage-size is immutable: for volumes of another size, create another Database with restoreFrom set to the " +
          "name of a backup of this one"
      ))),
    image: Schema.NonEmptyString.annotate({
      description: "The image to run. A change is an upgrade, which a Job carries out first."
    }),
    replicas: whole(1, 100),
    backup: Schema.optionalKey(
      Schema.Struct({
        schedule: Schema.NonEmptyString.annotate({
          description: "A schedule as in a CronJob, in UTC: five fields, a macro such as @daily, or @every 90m."
        }),
        keep: whole(1, 1000).annotate({ description: "How many backups to keep, not counting the final one." })
      }).annotate({ description: "Scheduled backups; none by default." })
    ),
    restoreFrom: Schema.optionalKey(
      Schema.NonEmptyString.annotate({ description: "The backup to start from: the name of its volume claim." })
    )
  }),
  status: Schema.Struct({
    phase: Schema.Literals(["Creating", "Initializing", "Ready", "Upgrading", "Blocked"]).annotate({
      description: "Blocked means that the API server refuses what the spec needs; the condition Ready says why."
    }),
    image: Schema.String.annotate({ description: "What runs." }),
    upgradingTo: Schema.optionalKey(
      Schema.String.annotate({ description: "The image that an upgrade is in progress to." })
    ),
    rejectedImage: Schema.optionalKey(
      Schema.String.annotate({ description: "The image that the last upgrade failed to reach." })
    ),
    revision: Schema.Int.annotate({ description: "The number of upgrades that were tried." }),
    initialized: Schema.Boolean,
    readyReplicas: Schema.Int,
    backups: Schema.Array(Schema.String).annotate({
      description: "The volume claims that hold a backup, oldest first."
    }),
    observedGeneration: Schema.Int,
    conditions: Schema.Array(Conditions.Condition)
  }),
  printerColumns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
    { name: "Image", type: "string", jsonPath: ".status.image" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type Database = typeof Database.Type
