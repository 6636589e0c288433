import { Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const limit = (description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).annotate({ description }))

const seconds = (description: string) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 })).annotate({ description }))

/** Starts a Job whenever the local time in a time zone matches the schedule. */
export const KronJob = CustomResource.make({
  group: "batch.tutorial.skuber.io",
  version: "v1",
  kind: "KronJob",
  shortNames: ["kj"],
  description: "Starts Jobs by the clock.",
  spec: Schema.Struct({
    schedule: Schema.NonEmptyString.annotate({
      description:
        "As a CronJob has it: five fields, @daily and the like, or @every 90m; or six fields, with seconds first."
    }),
    timeZone: Schema.optionalKey(
      Schema.NonEmptyString.annotate({ description: "Whose clock, such as Europe/Berlin; UTC by default." })
    ),
    jobTemplate: Schema.Struct({
      image: Schema.NonEmptyString,
      command: Schema.optionalKey(Schema.Array(Schema.String)),
      args: Schema.optionalKey(Schema.Array(Schema.String)),
      restartPolicy: Schema.optionalKey(Schema.Literals(["OnFailure", "Never"]))
    }),
    concurrencyPolicy: Schema.optionalKey(
      Schema.Literals(["Allow", "Forbid", "Replace"]).annotate({
        description: "What to do when a Job is due while another runs; Allow by default."
      })
    ),
    startingDeadlineSeconds: seconds(
      "How late a Job may start; by default the last that was missed starts however late."
    ),
    suspend: Schema.optionalKey(Schema.Boolean.annotate({ description: "Start nothing for the time being." })),
    successfulJobsHistoryLimit: limit("How many Jobs that succeeded are kept; 3 by default."),
    failedJobsHistoryLimit: limit("How many Jobs that failed are kept; 1 by default."),
    completedJobsExpirySeconds: seconds("How long finished Jobs are kept at most.")
  }),
  status: Schema.Struct({
    active: Schema.Array(
      Schema.Struct({ kind: Schema.String, namespace: Schema.String, name: Schema.String, uid: Schema.String })
    ).annotate({ description: "Jobs that run." }),
    lastScheduleTime: Schema.optionalKey(
      Schema.String.annotate({ description: "When the last Job was due.", format: "date-time" })
    ),
    lastSuccessfulTime: Schema.optionalKey(
      Schema.String.annotate({ description: "When a Job succeeded last.", format: "date-time" })
    ),
    conditions: Schema.Array(Conditions.Condition)
  }),
  printerColumns: [
    { name: "Schedule", type: "string", jsonPath: ".spec.schedule" },
    { name: "Zone", type: "string", jsonPath: ".spec.timeZone" },
    { name: "Suspend", type: "boolean", jsonPath: ".spec.suspend" },
    { name: "Last", type: "date", jsonPath: ".status.lastScheduleTime" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
  ]
})
export type KronJob = typeof KronJob.Type
