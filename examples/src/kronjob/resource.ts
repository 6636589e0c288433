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
  description: "Starts Jobs on a schedule.",
  spec: Schema.Struct({
    schedule: Schema.NonEmptyString.annotate({
      description:
        "A schedule as in a CronJob (five fields, a macro such as @daily, or @every 90m), or six fields, seconds first."
    }),
    timeZone: Schema.optionalKey(
      Schema.NonEmptyString.annotate({
        description: "The time zone of the schedule, such as Europe/Berlin; UTC by default."
      })
    ),
    jobTemplate: Schema.Struct({
      image: Schema.NonEmptyString,
      command: Schema.optionalKey(Schema.Array(Schema.String)),
      args: Schema.optionalKey(Schema.Array(Schema.String)),
      restartPolicy: Schema.optionalKey(Schema.Literals(["OnFailure", "Never"]))
    }),
    concurrencyPolicy: Schema.optionalKey(
      Schema.Literals(["Allow", "Forbid", "Replace"]).annotate({
        description: "What to do when a Job is due while another is running; Allow by default."
      })
    ),
    startingDeadlineSeconds: seconds(
      "How late a Job may start. By default, the last Job that was missed starts, however late."
    ),
    suspend: Schema.optionalKey(Schema.Boolean.annotate({ description: "Whether to start no Jobs for now." })),
    successfulJobsHistoryLimit: limit("How many successful Jobs to keep; 3 by default."),
    failedJobsHistoryLimit: limit("How many failed Jobs to keep; 1 by default."),
    completedJobsExpirySeconds: seconds("How long to keep finished Jobs at most.")
  }),
  status: Schema.Struct({
    active: Schema.Array(
      Schema.Struct({ kind: Schema.String, namespace: Schema.String, name: Schema.String, uid: Schema.String })
    ).annotate({ description: "The Jobs that are running." }),
    lastScheduleTime: Schema.optionalKey(
      Schema.String.annotate({ description: "When the last Job was due.", format: "date-time" })
    ),
    lastSuccessfulTime: Schema.optionalKey(
      Schema.String.annotate({ description: "When a Job last succeeded.", format: "date-time" })
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
