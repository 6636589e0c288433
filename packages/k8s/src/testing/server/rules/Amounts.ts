/**
 * `Amounts`: validates numbers with bounds, and numbers that may be percentages.
 *
 * Source: k8s.io/apimachinery/pkg/api/validation (`ValidateNonnegativeField`),
 * k8s.io/kubernetes/pkg/apis/apps/validation (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`).
 */
import { at } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** Fields that may be missing, but not negative. */
export const notNegative = (object: unknown, ...paths: ReadonlyArray<string>): Faults =>
  paths.flatMap((path) => {
    const value = at(object, ...path.split("."))
    return typeof value === "number" && value < 0
      ? [FieldError.invalid(path, value, "must be greater than or equal to 0")]
      : []
  })

/** `notNegative` for fields of a part at a path. */
export const notNegativeAt = (path: string, object: unknown, ...fields: ReadonlyArray<string>): Faults =>
  notNegative(object, ...fields).map((fault) => ({ ...fault, field: `${path}.${fault.field}` }))

const percent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for " +
  "validation is '[0-9]+%')"

/** A count, or a percentage. */
export const percentOrCount = (object: unknown, path: string): Faults => {
  const value = at(object, ...path.split("."))
  if (typeof value === "number") return notNegative(object, path)
  return typeof value !== "string" || /^[0-9]+%$/.test(value) ? [] : [FieldError.invalid(path, value, percent)]
}

/** The number in a count or percentage; 0 for other strings. */
export const value = (amount: unknown): number => {
  if (typeof amount === "number") return amount
  const text = String(amount)
  return /^(?:[+-]?[0-9]+|[0-9]+%)$/.test(text) ? Number.parseInt(text, 10) : 0
}

/** A count, or a percentage of at most 100. */
export const countOrPercent = (object: unknown, path: string): Faults => {
  const value = at(object, ...path.split("."))
  const faults = percentOrCount(object, path)
  return faults.length === 0 && typeof value === "string" && Number.parseInt(value, 10) > 100
    ? [FieldError.invalid(path, value, "must not be greater than 100%")]
    : faults
}
