/**
 * `CronJobRules`: validates CronJobs: the schedule, the time zone, a name short enough for the suffix of its Jobs, and
 * a Job template without a selector.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go, `ValidateCronJobCreate`, `ValidateCronJobUpdate`.
 */
import * as Result from "effect/Result"
import { byteLength } from "../../../api/Names.ts"
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as CronSchedule from "../../sim/CronSchedule.ts"
import type { Strategy } from "../Strategy.ts"
import * as Amounts from "./Amounts.ts"
import * as JobRules from "./JobRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** A Job's name consists of the CronJob's name, a dash and ten digits. */
const longestName = 52

const scheduleFaults = (schedule: string, zone: unknown, previous: string): Faults => {
  const path = "spec.schedule"
  if (schedule === "") return [FieldError.required(path, "")]
  const read = CronSchedule.parse(schedule)
  const zoned = schedule.includes("TZ")
  // An existing CronJob may keep what it has.
  const why = !zoned
    ? undefined
    : !previous.includes("TZ")
    ? "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    : zone === undefined
    ? undefined
    : "cannot use both timeZone field and TZ or CRON_TZ in schedule"
  return [
    ...(Result.isFailure(read) ? [FieldError.invalid(path, schedule, read.failure)] : []),
    ...(why === undefined ? [] : [FieldError.invalid(path, schedule, why)])
  ]
}

const isFitPart = (part: string): boolean =>
  part !== "." && part !== ".." && !part.startsWith("-") && /^[A-Za-z.\-_0-9+]{1,14}$/.test(part)

const zoneFaults = (zone: unknown): Faults => {
  if (typeof zone !== "string") return []
  const invalid = (why: string) => [FieldError.invalid("spec.timeZone", zone, why)]
  if (zone === "") return invalid("timeZone must be nil or non-empty string")
  if (!zone.split("/").every(isFitPart)) return invalid(`unknown time zone ${zone}`)
  // The zone of the machine is known to the server, but not accepted.
  if (zone.toLowerCase() === "local") {
    return [
      ...invalid("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"),
      ...(zone === "Local" ? [] : invalid(`unknown time zone ${zone}`))
    ]
  }
  return CronSchedule.isZone(zone) ? [] : invalid(`unknown time zone ${zone}`)
}

const policies = ["Allow", "Forbid", "Replace"]

const policyFaults = (policy: string): Faults =>
  policy === ""
    ? [FieldError.required("spec.concurrencyPolicy", "")]
    : policies.includes(policy)
    ? []
    : [FieldError.notSupported("spec.concurrencyPolicy", policy, policies)]

const templateFaults = (spec: unknown): Faults => {
  const path = "spec.jobTemplate.spec"
  const job = objectAt(spec, "jobTemplate", "spec")
  return [
    ...JobRules.specFaults(job, path),
    ...(job["selector"] === undefined
      ? []
      : [FieldError.invalid(`${path}.selector`, job["selector"], "`selector` will be auto-generated")]),
    ...(job["manualSelector"] === true
      ? [FieldError.notSupported(`${path}.manualSelector`, true, ["nil", "false"])]
      : [])
  ]
}

/** Faults of a CronJob. */
export const validate: Strategy["validate"] = (object, previous) => {
  const spec = objectAt(object, "spec")
  const name = stringAt(object, "metadata", "name")
  const zone = at(spec, "timeZone")
  return [
    ...scheduleFaults(stringAt(spec, "schedule"), zone, stringAt(previous, "spec", "schedule")),
    ...Amounts.notNegative(object, "spec.startingDeadlineSeconds"),
    ...(previous === undefined || at(previous, "spec", "timeZone") !== zone ? zoneFaults(zone) : []),
    ...policyFaults(stringAt(spec, "concurrencyPolicy")),
    ...templateFaults(spec),
    ...Amounts.notNegative(object, "spec.successfulJobsHistoryLimit", "spec.failedJobsHistoryLimit"),
    ...(previous === undefined && byteLength(name) > longestName
      ? [FieldError.invalid("metadata.name", name, `must be no more than ${longestName} characters`)]
      : [])
  ]
}
