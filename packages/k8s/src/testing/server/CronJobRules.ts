/**
 * `CronJobRules`: a CronJob needs a schedule that can be read.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go `validateScheduleFormat`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as FieldError from "../schema/FieldError.ts"
import * as CronSchedule from "../sim/CronSchedule.ts"
import { stringAt } from "../../api/Plain.ts"

export const validate = (object: KubeObject): ReadonlyArray<FieldError.FieldError> => {
  const schedule = stringAt(object, "spec", "schedule")
  if (schedule === "") return [FieldError.required("spec.schedule", "")]
  const read = CronSchedule.parse(schedule)
  return Result.isFailure(read) ? [FieldError.invalid("spec.schedule", schedule, read.failure)] : []
}
