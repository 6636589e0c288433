import { CustomResource, CustomResourceVersions, KubeSchema } from "@effect-operator/core"
import { Webhook } from "@effect-operator/k8s"
import type { JobTemplateSpec } from "@effect-operator/k8s/kinds/batch.v1"
import { Cron, Effect, Result, Schema } from "effect"

const kind = { group: "batch.tutorial.kubebuilder.io", kind: "CronJob" } as const
const common = {
  // `+kubebuilder:validation:Enum` and `+kubebuilder:default`.
  concurrencyPolicy: Schema.Literals(["Allow", "Forbid", "Replace"]).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("Allow" as const))
  ),
  jobTemplate: KubeSchema.objectOf<JobTemplateSpec>(),
  failedJobsHistoryLimit: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))
}
const Schedule = Schema.String.check(Schema.isPattern(/^\S+( \S+){4}$/u))
export const CronJob = CustomResource.make({
  ...kind,
  version: "v1",
  spec: Schema.Struct({ schedule: Schedule, ...common })
})

const Part = Schema.optionalKey(Schema.String.check(Schema.isPattern(/^([^\s*]|\*\S)\S*$/u)))
const parts = ["minute", "hour", "dayOfMonth", "month", "dayOfWeek"] as const
const Parts = Schema.Struct({ minute: Part, hour: Part, dayOfMonth: Part, month: Part, dayOfWeek: Part })
export const CronJobV2 = CustomResource.make({
  ...kind,
  version: "v2",
  spec: Schema.Struct({ schedule: Parts, ...common })
})

/** `Hub` and `Convertible`: what v1 cannot say comes back by itself. */
export const CronJobs = CustomResourceVersions.make({
  steps: [CustomResourceVersions.between(CronJob, CronJobV2, {
    up: ({ spec }) => {
      const said = spec.schedule.split(" ").map((value, i) => [parts[i], value]).filter(([, value]) => value !== "*")
      return { spec: { ...spec, schedule: Object.fromEntries(said) } }
    },
    down: ({ spec }) => ({
      spec: { ...spec, schedule: parts.map((part) => spec.schedule[part] ?? "*").join(" ") }
    })
  })],
  storage: CronJob
})

export const webhooks = [
  // `CustomDefaulter`, `CustomValidator`
  Webhook.mutating(CronJob, {
    mutate: ({ object }) => Effect.succeed({ ...object, spec: { failedJobsHistoryLimit: 1, ...object.spec } })
  }),
  Webhook.validating(CronJob, {
    validate: Effect.fnUntraced(function*({ object }) {
      const { schedule } = object.spec
      const parsed = Cron.parse(schedule)
      const faults = Result.isSuccess(parsed)
        ? []
        : [Webhook.invalid("spec.schedule", schedule, parsed.failure.message)]
      yield* Webhook.denyFaults(object, faults) // `field.ErrorList`
    })
  }),
  Webhook.conversion(CronJobs)
]
