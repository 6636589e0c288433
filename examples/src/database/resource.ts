import { CelRule, Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** A database with its volumes, initial configuration, backups and upgrades. */
export const Database = CustomResource.make({
  group: "stable.imaginedata.com",
  version: "v1",
  kind: "Database",
  shortNames: ["db"],
  description: "A database that is set up, backed up and upgraded by itself.",
  spec: Schema.Struct({
    name: Schema.String.check(Schema.isPattern(/^[a-z_][a-z0-9_]*$/u), Schema.isMaxLength(63))
      .annotate({ description: "Of the database in the server." }),
    port: whole(1, 65535),
    "storage-size": Schema.String.check(Schema.isPattern(/^[1-9][0-9]*([KMGT]i|[kMGT])?$/u))
      .annotate({
        description: "Of each volume, such as 50G. It never changes: what a StatefulSet makes volumes of cannot."
      })
      .pipe(CelRule.rules(CelRule.immutable(
        "storage-size is immutable: for volumes of another size make another Database with restoreFrom, the name of a " +
          "backup of this one"
      ))),
    image: Schema.NonEmptyString.annotate({ description: "What runs. Another one is upgraded to, by a Job first." }),
    replicas: whole(1, 100),
    backup: Schema.optionalKey(
      Schema.Struct({
        schedule: Schema.NonEmptyString.annotate({
          description: "As a CronJob has it, in UTC: five fields, @daily and the like, or @every 90m."
        }),
        keep: whole(1, 1000).annotate({ description: "How many are kept, the final one aside." })
      }).annotate({ description: "Backups by the clock; none by default." })
    ),
    restoreFrom: Schema.optionalKey(
      Schema.NonEmptyString.annotate({ description: "A backup to begin with: the name of its volume claim." })
    )
  }),
  status: Schema.Struct({
    phase: Schema.Literals(["Creating", "Initializing", "Ready", "Upgrading", "Blocked"]).annotate({
      description: "Blocked: what it wants is refused; the condition Ready says why."
    }),
    image: Schema.String.annotate({ description: "What runs." }),
    upgradingTo: Schema.optionalKey(Schema.String.annotate({ description: "What is being upgraded to." })),
    rejectedImage: Schema.optionalKey(Schema.String.annotate({ description: "What could not be upgraded to." })),
    revision: Schema.Int.annotate({ description: "Upgrades that were tried." }),
    initialized: Schema.Boolean,
    readyReplicas: Schema.Int,
    backups: Schema.Array(Schema.String).annotate({ description: "Volume claims that hold a backup, oldest first." }),
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
