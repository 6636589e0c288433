/**
 * `RevisionRules`: validates ControllerRevisions: the data must be an object and is immutable; the revision is a
 * number.
 *
 * Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go `ValidateControllerRevisionCreate`,
 * `ValidateControllerRevisionUpdate`.
 */
import { at } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as Amounts from "./Amounts.ts"
import type { Faults } from "./Checks.ts"
import { immutable } from "./Immutability.ts"

const dataFaults = (data: unknown): Faults =>
  data === undefined || data === null
    ? [FieldError.required("data", "data is mandatory")]
    : JsonValue.isObject(data)
    ? []
    : [FieldError.required("data", "data must be a valid JSON object")]

export const strategy: Partial<Strategy> = {
  validate: (object, previous) => [
    ...Amounts.notNegative(object, "revision"),
    ...(previous === undefined ? dataFaults(at(object, "data")) : [])
  ],
  validateUpdate: immutable("data")
}
