/**
 * `Selecting`: the label and field selectors of a request, as one predicate on objects.
 *
 * A selector that cannot be parsed, or a field that the kind does not support, is refused with 400.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Selector from "@effect-operator/core/Selector"
import * as Result from "effect/Result"
import * as Parameters from "./Parameters.ts"
import { at } from "./Plain.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"

export interface Selecting {
  /** `undefined` if everything matches. */
  readonly matches: ((object: KubeObject) => boolean) | undefined
  readonly fields: Selector.FieldSelector
}

/** Reads a field's value as a selector compares it. */
export type FieldReader = (object: KubeObject) => string

/** The field selectors that a kind supports. */
export interface Selectable {
  readonly fields: Readonly<Record<string, FieldReader>>
  /** The refusal of any other field. */
  readonly unsupported: (field: string) => StatusError.StatusError
}

/** Absent counts as the empty string. */
const text = (value: unknown): string => value === undefined || value === null ? "" : String(value)

/** Readers for dotted paths. */
export const fieldsAt = (...paths: ReadonlyArray<string>): Record<string, FieldReader> =>
  Object.fromEntries(paths.map((path) => {
    const keys = path.split(".")
    return [path, (object: KubeObject) => text(at(object, ...keys))]
  }))

/** The fields every kind has. */
export const commonFields = (namespaced: boolean): Record<string, FieldReader> =>
  namespaced ? fieldsAt("metadata.name", "metadata.namespace") : fieldsAt("metadata.name")

/** 400: a custom kind does not support the field. */
export const unsupportedField = (field: string): StatusError.StatusError =>
  StatusError.badRequest(`field label not supported: ${field}`)

/** Parsed selectors, whether or not the kind supports their fields. */
export interface Parsed {
  readonly labels: Selector.LabelSelector
  readonly fields: Selector.FieldSelector
}

/** Parses `labelSelector` and `fieldSelector`, and checks the numeric parameters beside them. */
export const parse = (request: Request): Result.Result<Parsed, StatusError.StatusError> => {
  for (const name of ["timeoutSeconds", "limit"]) {
    const number = Parameters.integer(request, name)
    if (Result.isFailure(number)) return Result.fail(number.failure)
  }
  const labels = Selector.parseLabels(parameter(request, "labelSelector") ?? "")
  if (Result.isFailure(labels)) return Result.fail(StatusError.badRequest(labels.failure))
  const fields = Selector.parseFields(parameter(request, "fieldSelector") ?? "")
  if (Result.isFailure(fields)) return Result.fail(StatusError.badRequest(fields.failure))
  return Result.succeed({ labels: labels.success, fields: fields.success })
}

/** Applies parsed selectors to a kind. */
export const read = (
  selectable: Selectable,
  { fields, labels }: Parsed
): Result.Result<Selecting, StatusError.StatusError> => {
  const readers = fields.map((requirement) => ({
    ...requirement,
    read: selectable.fields[requirement.field]
  }))
  const unknown = readers.find(({ read }) => read === undefined)
  if (unknown !== undefined) return Result.fail(selectable.unsupported(unknown.field))
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
