import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const url = "/apis/batch/v1/namespaces/default/cronjobs"

const cronJob = (spec: object = {}, job: object = {}, name = "a") => ({
  metadata: { name },
  spec: {
    schedule: "@hourly",
    jobTemplate: {
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "app:1" }] } }, ...job }
    },
    ...spec
  }
})

describe("CronJobRules", () => {
  it.effect("takes schedules with fields, names, steps and macros", () =>
    refuses(
      url,
      ...["*/5 * * * *", "0 9 * * mon-fri", "@hourly", "@every 90m"].map((schedule) => [cronJob({ schedule })] as const)
    ).pipe(Effect.provide(layer)))

  it.effect("without a spec it lacks what has no default", () =>
    refuses(url, [
      { metadata: { name: "a" } },
      "spec.schedule: Required value",
      "spec.jobTemplate.spec.template.spec.containers: Required value",
      "spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""
    ]).pipe(Effect.provide(layer)))

  it.effect("one without a name is told so", () =>
    refuses(url, [{ ...cronJob(), metadata: {} }, "metadata.name: Required value: name or generateName is required"])
      .pipe(Effect.provide(layer)))

  it.effect("refuses what is none, and names field and value", () =>
    refuses(
      url,
      [
        cronJob({ schedule: "nonsense" }),
        "spec.schedule: Invalid value: \"nonsense\": expected exactly 5 fields, found 1: [nonsense]"
      ],
      [cronJob({ schedule: "" }), "spec.schedule: Required value"],
      [
        cronJob({ schedule: "TZ=UTC 0 * * * *" }),
        "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field " +
        "instead"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges zones, policies, limits and names", () =>
    refuses(
      url,
      [cronJob({ timeZone: "Europe/Berlin" })],
      [
        cronJob({ timeZone: "Europe/Nowhere" }),
        "spec.timeZone: Invalid value: \"Europe/Nowhere\": unknown time zone Europe/Nowhere"
      ],
      [cronJob({ timeZone: "" }), "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string"],
      [
        cronJob({ concurrencyPolicy: "Other", startingDeadlineSeconds: -1, failedJobsHistoryLimit: -1 }),
        "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        "spec.concurrencyPolicy: Unsupported value: \"Other\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
        "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"
      ],
      [
        cronJob({}, {}, "x".repeat(53)),
        `metadata.name: Invalid value: "${"x".repeat(53)}": must be no more than 52 characters`
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges the template of its Jobs", () =>
    refuses(
      url,
      [
        cronJob({}, { backoffLimit: -1, selector: { matchLabels: { a: "b" } }, manualSelector: true }),
        "spec.jobTemplate.spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
        "spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` will be auto-generated",
        "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a zone is judged when it changes", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, cronJob())
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { ...object.spec, schedule: "@daily" } })],
        [
          (object) => ({ ...object, spec: { ...object.spec, timeZone: "Nowhere" } }),
          "spec.timeZone: Invalid value: \"Nowhere\": unknown time zone Nowhere"
        ]
      )
    }).pipe(Effect.provide(layer)))
})
