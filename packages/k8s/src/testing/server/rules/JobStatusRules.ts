/**
 * `JobStatusRules`: validates updates of a Job's status: a finished Job stays finished, and has the time of that.
 *
 * Most rules apply only if the fields they concern have changed, so that an invalid status can be repaired.
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go `validateJobStatus`, `ValidateJobStatusUpdate` and
 * pkg/registry/batch/job/strategy.go `getStatusValidationOptions`.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as Amounts from "./Amounts.ts"
import { indexes } from "./JobPolicyRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const isTrue = (job: unknown, type: string, wanted = "True"): boolean =>
  arrayAt(job, "status", "conditions").some((condition) =>
    stringAt(condition, "type") === type && stringAt(condition, "status") === wanted
  )

const isOver = (job: unknown): boolean => isTrue(job, "Complete") || isTrue(job, "Failed")

const count = (job: unknown, field: string): number => {
  const value = at(job, "status", field)
  return typeof value === "number" ? value : 0
}

const when = (condition: boolean, ...faults: Faults): Faults => (condition ? faults : [])

const conditions = (why: string) => FieldError.invalidOmitted("status.conditions", why)

const uncounted = (job: unknown): Faults => {
  const path = "status.uncountedTerminatedPods"
  const seen = new Set<unknown>()
  return ["succeeded", "failed"].flatMap((field) =>
    arrayAt(job, "status", "uncountedTerminatedPods", field).flatMap((uid, index) => {
      const here = `${path}.${field}[${index}]`
      const repeated = seen.has(uid)
      if (uid !== "") seen.add(uid)
      return uid === ""
        ? [FieldError.invalid(here, uid, "must not be empty")]
        : when(repeated, FieldError.duplicate(here, uid))
    })
  )
}

const indexFaults = (next: unknown, changed: (field: string) => boolean): Faults => {
  const completions = at(next, "spec", "completions")
  const limit = at(next, "spec", "backoffLimitPerIndex")
  const completed = stringAt(next, "status", "completedIndexes")
  const failed = at(next, "status", "failedIndexes")
  const unreadable = (field: string, text: string): Faults => {
    const found = typeof completions === "number" ? indexes(text, completions) : 0
    return typeof found === "string"
      ? [FieldError.invalid(`status.${field}`, text, `error parsing ${field}: ${found}`)]
      : []
  }
  return [
    ...(changed("completedIndexes") ? unreadable("completedIndexes", completed) : []),
    ...(changed("failedIndexes") && limit !== undefined && typeof failed === "string"
      ? unreadable("failedIndexes", failed)
      : []),
    ...when(
      changed("completedIndexes") && completed !== "" && stringAt(next, "spec", "completionMode") !== "Indexed",
      FieldError.invalid(
        "status.completedIndexes",
        completed,
        "cannot set non-empty completedIndexes when non-indexed completion mode"
      )
    ),
    ...when(
      changed("failedIndexes") && limit === undefined && failed !== undefined,
      FieldError.invalid(
        "status.failedIndexes",
        failed,
        "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
      )
    )
  ]
}

const stateFaults: Strategy["validateStatus"] = (next, previous) => {
  const changed = (field: string) => !JsonValue.equals(at(next, "status", field), at(previous, "status", field))
  const turned = (type: string) => isTrue(next, type) !== isTrue(previous, type)
  const ended = isOver(next) !== isOver(previous)
  const [complete, failed, met, target] = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"].map((type) =>
    isTrue(next, type)
  ) as [boolean, boolean, boolean, boolean]
  const [start, completion] = [at(next, "status", "startTime"), at(next, "status", "completionTime")]
  const timed = turned("Complete") || changed("completionTime")
  const empty = at(next, "spec", "suspend") === true && at(next, "spec", "completions") === 0
  const pods = objectAt(next, "status", "uncountedTerminatedPods")
  const time = (text: unknown) => Date.parse(String(text))
  return [
    ...when(
      (turned("Complete") || turned("Failed")) && complete && failed,
      conditions("cannot set Complete=True and Failed=true conditions")
    ),
    ...when(
      (turned("Complete") || turned("FailureTarget")) && complete && target,
      conditions("cannot set Complete=True and FailureTarget=true conditions")
    ),
    ...when(
      timed && completion !== undefined && !complete,
      FieldError.invalid(
        "status.completionTime",
        completion,
        "cannot set completionTime when there is no Complete=True condition"
      )
    ),
    ...when(
      timed && completion === undefined && complete,
      FieldError.required("status.completionTime", "completionTime is required for Complete jobs")
    ),
    ...when(
      (changed("startTime") || changed("completionTime")) && start !== undefined && completion !== undefined &&
        time(completion) < time(start),
      FieldError.invalid("status.completionTime", completion, "must be equal to or after `startTime`")
    ),
    ...when(
      (turned("Failed") || changed("failedIndexes")) && failed && !target,
      conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    ),
    ...when(
      (turned("Complete") || turned("SuccessCriteriaMet")) && complete && !met,
      conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    ),
    ...when(
      (ended || changed("active")) && isOver(next) && count(next, "active") > 0,
      FieldError.invalid("status.active", count(next, "active"), "active>0 is invalid for finished job")
    ),
    ...when(
      (ended || changed("startTime")) && !empty && isOver(next) && start === undefined,
      FieldError.required("status.startTime", "startTime is required for finished job")
    ),
    ...when(
      (ended || changed("uncountedTerminatedPods")) && isOver(next) &&
        ["failed", "succeeded"].some((field) => arrayAt(pods, field).length > 0),
      FieldError.invalid("status.uncountedTerminatedPods", pods, "must be empty for finished job")
    ),
    ...indexFaults(next, changed),
    ...when(
      (ended || changed("terminating")) && isOver(next) && count(next, "terminating") > 0,
      FieldError.invalid("status.terminating", count(next, "terminating"), "terminating>0 is invalid for finished job")
    ),
    ...when(
      (changed("ready") || changed("active")) && count(next, "ready") > count(next, "active"),
      FieldError.invalid("status.ready", count(next, "ready"), "cannot set more ready pods than active")
    ),
    ...when(met && failed, conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")),
    ...when(met && target, conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")),
    ...when(
      at(next, "spec", "successPolicy") !== undefined && !met && complete,
      conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    )
  ]
}

const transitionFaults: Strategy["validateStatus"] = (next, previous) => {
  const [start, before] = [next, previous].map((job) => at(job, "status", "startTime"))
  const [completion, completed] = [next, previous].map((job) => at(job, "status", "completionTime"))
  const shrinks = stringAt(next, "spec", "completionMode") === "Indexed" &&
    at(next, "spec", "completions") === at(next, "spec", "parallelism")
  const resumes = isTrue(previous, "Suspended") && isTrue(next, "Suspended", "False")
  const met = isTrue(next, "SuccessCriteriaMet")
  const wasMet = isTrue(previous, "SuccessCriteriaMet")
  const less = (field: string) =>
    when(
      count(next, field) < count(previous, field),
      FieldError.invalid(`status.${field}`, count(next, field), `cannot decrease the ${field} counter`)
    )
  return [
    ...["Failed", "Complete", "FailureTarget"].flatMap((type) =>
      when(
        isTrue(previous, type) && !isTrue(next, type),
        conditions(`cannot disable the terminal ${type}=True condition`)
      )
    ),
    ...less("failed"),
    ...(shrinks ? [] : less("succeeded")),
    ...when(
      completion !== undefined && completed !== undefined && completion !== completed,
      FieldError.invalid("status.completionTime", completion, "field is immutable")
    ),
    ...when(
      before !== undefined && start !== before && !resumes && at(next, "spec", "suspend") !== true,
      FieldError.required("status.startTime", "startTime cannot be removed for unsuspended job")
    ),
    ...when(wasMet && !met, conditions("cannot disable the SuccessCriteriaMet=True condition")),
    ...when(
      isTrue(previous, "Complete") && !wasMet && met,
      conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
    )
  ]
}

/** Faults of a status that replaces the previous one. */
export const validateStatus: Strategy["validateStatus"] = (next, previous) => [
  ...Amounts.notNegativeAt("status", objectAt(next, "status"), "active", "succeeded", "failed", "ready", "terminating"),
  ...uncounted(next),
  ...stateFaults(next, previous),
  ...transitionFaults(next, previous)
]
