/**
 * `Selecting`: label and field selectors of a request, as one predicate on objects.
 *
 * A label or field that cannot be understood is refused with 400, and so is a field the kind does not offer.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Selector from "@effect-operator/core/Selector"
import * as Result from "effect/Result"
import * as FieldError from "../schema/FieldError.ts"
import type { Served } from "./Registry.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "../StatusError.ts"

export interface Selecting {
  /** `undefined` if everything matches. */
  readonly matches: ((object: KubeObject) => boolean) | undefined
  readonly fields: Selector.FieldSelector
}

const unsupported = (resource: Served, field: string): StatusError.StatusError =>
  StatusError.badRequest(
    resource.collection === "jobs.batch"
      ? `field label ${FieldError.quote(field)} not supported for Job`
      : resource.strategy.listsFields
      ? `${FieldError.quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`
  )

/** Selectors that can be understood, whether or not the kind has the fields. */
export interface Parsed {
  readonly labels: Selector.LabelSelector
  readonly fields: Selector.FieldSelector
}

/** A parameter that must be a whole number, if it is there. */
const numberFault = (request: Request, name: string): StatusError.StatusError | undefined => {
  const text = parameter(request, name) ?? ""
  return text === "" || /^[+-]?\d+$/.test(text)
    ? undefined
    : StatusError.badRequest(`strconv.ParseInt: parsing ${FieldError.quote(text)}: invalid syntax`)
}

/** Reads `labelSelector` and `fieldSelector`, and sees that the numbers beside them are numbers. */
export const parse = (request: Request): Result.Result<Parsed, StatusError.StatusError> => {
  const number = numberFault(request, "limit") ?? numberFault(request, "timeoutSeconds")
  if (number !== undefined) return Result.fail(number)
  const labels = Selector.parseLabels(parameter(request, "labelSelector") ?? "")
  if (Result.isFailure(labels)) return Result.fail(StatusError.badRequest(labels.failure))
  const fields = Selector.parseFields(parameter(request, "fieldSelector") ?? "")
  if (Result.isFailure(fields)) return Result.fail(StatusError.badRequest(fields.failure))
  return Result.succeed({ labels: labels.success, fields: fields.success })
}

/** What the selectors select of a kind. */
export const read = (
  resource: Served,
  { fields, labels }: Parsed
): Result.Result<Selecting, StatusError.StatusError> => {
  const readers = fields.map((requirement) => ({
    ...requirement,
    read: resource.strategy.fields[requirement.field]
  }))
  const unknown = readers.find(({ read }) => read === undefined)
  if (unknown !== undefined) return Result.fail(unsupported(resource, unknown.field))
  const byLabels = labels.length === 0
    ? undefined
    : (object: KubeObject) => Selector.matchesLabels(labels, object.metadata.labels)
  const byFields = readers.length === 0
    ? undefined
    : (object: KubeObject) =>
      readers.every(({ operator, read, value }) => (read!(object) === value) === (operator === "="))
  return Result.succeed({
    fields,
    matches: byLabels === undefined
      ? byFields
      : byFields === undefined
      ? byLabels
      : (object) => byLabels(object) && byFields(object)
  })
}
