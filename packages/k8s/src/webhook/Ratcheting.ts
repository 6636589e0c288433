/**
 * `Ratcheting`: which faults of an object that does not decode count against its update.
 *
 * When a Schema gets stricter, stored objects stay as they are. A client that sets a label, removes a finalizer or
 * changes another field has not introduced the fault, and often cannot fix it. So a fault counts only if it is new: the
 * old object does not have it, or has a different value at its path. Nothing counts against an object that is being
 * deleted. The API server treats the schema of a definition in the same way (`CRDValidationRatcheting`).
 *
 * Items of lists are identified by their index: an item that moves is new. Faults that the Schema does not reach
 * because of another fault are not seen.
 */
import type * as Resource from "@effect-operator/core/Resource"
import * as Result from "effect/Result"
import * as JsonValue from "../schema/JsonValue.ts"
import type * as Review from "./Review.ts"

/** The object before an update. */
export interface Before {
  readonly json: Review.JsonObject
  readonly decoded: Result.Result<unknown, Resource.Invalid>
}

/** Splits a fault such as `spec.size: Expected …` into field and message. */
export const parts = (issue: string): { readonly field: string; readonly message: string } => {
  const [, field = "", message = issue] = /^([^\s:]+): (.*)$/s.exec(issue) ?? []
  return { field, message }
}

/** The faults that count; all of them without an old object. */
export const counting = (
  issues: ReadonlyArray<string>,
  object: Review.JsonObject,
  before: Before | undefined
): ReadonlyArray<string> => {
  if (before === undefined) return issues
  if (isDeleted(before.json)) return []
  const known = Result.isFailure(before.decoded) ? before.decoded.failure.issues : []
  return issues.filter((issue) => {
    const { field } = parts(issue)
    return !known.includes(issue) || !JsonValue.equals(valueAt(object, field), valueAt(before.json, field))
  })
}

/** Whether the object is being deleted, and only finalizers keep it. */
export const isDeleted = ({ metadata }: Review.JsonObject): boolean =>
  typeof metadata === "object" && metadata !== null && "deletionTimestamp" in metadata

/**
 * A fault without a field concerns the desired state, so metadata and status, which the server maintains, are ignored.
 */
const valueAt = (object: Review.JsonObject, field: string): unknown => {
  const { metadata: _, status: __, ...wanted } = object
  return field === "" ? wanted : at(object, field)
}

/** The value at a path such as `spec.ports[0].name`; undefined if there is no such field. */
export const at = (value: unknown, path: string): unknown => {
  if (path === "") return value
  if (typeof value !== "object" || value === null) return undefined
  // A key may contain dots: the longest matching key is used.
  const key = Object.keys(value)
    .flatMap((key) =>
      [`${key}`, `.${key}`, `[${key}]`].filter((text) => begins(path, text)).map((text) => ({ key, text }))
    )
    .reduce<{ readonly key: string; readonly text: string } | undefined>(
      (longest, next) => longest === undefined || next.text.length > longest.text.length ? next : longest,
      undefined
    )
  return key === undefined ? undefined : at((value as Review.JsonObject)[key.key], path.slice(key.text.length))
}

const begins = (path: string, text: string): boolean =>
  path.startsWith(text) && (path.length === text.length || ".[".includes(path[text.length]!))
