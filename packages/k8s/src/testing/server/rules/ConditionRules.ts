/**
 * `ConditionRules`: validates the conditions of a status, in kinds that do so.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go `ValidateConditions`;
 * k8s.io/kubernetes/pkg/apis/flowcontrol/validation, k8s.io/kube-aggregator/pkg/apis/apiregistration/validation.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import { type Faults, invalids, oneOfGiven, required, when } from "./Checks.ts"

const path = "status.conditions"

const reason = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

const malformed = "a condition reason must start with alphabetic character, optionally followed by a string of " +
  "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  " +
  `or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reason}')`

const isReason = new RegExp(`^${reason}$`)

const longest = { reason: 1024, message: 32 * 1024 }

const tooLong = (condition: unknown, here: string, field: "message" | "reason"): Faults =>
  when(
    Names.byteLength(stringAt(condition, field)) > longest[field],
    FieldError.tooLong(`${here}.${field}`, longest[field])
  )

const conditions = (object: unknown): ReadonlyArray<unknown> => arrayAt(object, "status", "conditions")

const repeatedIn = (list: ReadonlyArray<unknown>, index: number, here: string): Faults => {
  const types = list.map((condition) => stringAt(condition, "type"))
  return when(
    types.indexOf(types[index]!) < index,
    FieldError.duplicate(`${here}[${index}].type`, types[index])
  )
}

const repeated = (object: unknown, index: number): Faults => repeatedIn(conditions(object), index, path)

const whole = (condition: unknown, here: string): Faults => {
  const [type, why] = [stringAt(condition, "type"), stringAt(condition, "reason")]
  const generation = at(condition, "observedGeneration")
  return [
    ...invalids(`${here}.type`, type, Names.labelKey(type)),
    ...oneOfGiven(condition, "status", here, ["False", "True", "Unknown"]),
    ...when(
      typeof generation === "number" && generation < 0,
      FieldError.invalid(`${here}.observedGeneration`, generation, "must be greater than or equal to zero")
    ),
    ...required(condition, here, "lastTransitionTime", "reason"),
    ...when(why !== "" && !isReason.test(why), FieldError.invalid(`${here}.reason`, why, malformed)),
    ...tooLong(condition, here, "reason"),
    ...tooLong(condition, here, "message")
  ]
}

/** Faults of a list of conditions of the common type of newer kinds. */
export const list = (conditions: ReadonlyArray<unknown>, here: string): Faults =>
  conditions.flatMap((condition, index) => [
    ...repeatedIn(conditions, index, here),
    ...whole(condition, `${here}[${index}]`)
  ])

/** `list` for the conditions of a status. */
export const validate = (object: unknown): Faults => list(conditions(object), path)

/** Faults of conditions of which only the type is validated. */
export const typed = (object: unknown): Faults =>
  conditions(object).flatMap((condition, index) => [
    ...repeated(object, index),
    ...required(condition, `${path}[${index}]`, "type")
  ])

/** Faults of conditions of which only the status is validated. */
export const decided = (object: unknown): Faults =>
  conditions(object).flatMap((condition, index) =>
    oneOfGiven(condition, "status", `${path}[${index}]`, ["True", "False", "Unknown"])
  )
