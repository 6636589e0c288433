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
    resource.strategy.listsFields
      ? `${FieldError.quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`
  )

/** Reads `labelSelector` and `fieldSelector`. */
export const read = (
  resource: Served,
  request: Request
): Result.Result<Selecting, StatusError.StatusError> => {
  const labels = Selector.parseLabels(parameter(request, "labelSelector") ?? "")
  if (Result.isFailure(labels)) return Result.fail(StatusError.badRequest(labels.failure))
  const fields = Selector.parseFields(parameter(request, "fieldSelector") ?? "")
  if (Result.isFailure(fields)) return Result.fail(StatusError.badRequest(fields.failure))
  const readers = fields.success.map((requirement) => ({
    ...requirement,
    read: resource.strategy.fields[requirement.field]
  }))
  const unknown = readers.find(({ read }) => read === undefined)
  if (unknown !== undefined) return Result.fail(unsupported(resource, unknown.field))
  const byLabels = labels.success.length === 0
    ? undefined
    : (object: KubeObject) => Selector.matchesLabels(labels.success, object.metadata.labels)
  const byFields = readers.length === 0
    ? undefined
    : (object: KubeObject) =>
      readers.every(({ operator, read, value }) => (read!(object) === value) === (operator === "="))
  return Result.succeed({
    fields: fields.success,
    matches: byLabels === undefined
      ? byFields
      : byFields === undefined
      ? byLabels
      : (object) => byLabels(object) && byFields(object)
  })
}
