/**
 * `Ratcheting`: which faults of an object that does not decode count against an update of it.
 *
 * A Schema gets stricter, and what was stored before stays. Whoever sets a label of such an object, takes a finalizer
 * away or changes another field has not brought the fault, and often cannot mend it. So a fault counts only if it is new:
 * the old object does not have it, or has something else at its path. Nothing counts against an object that is being
 * deleted: it is to go. The API server treats the schema of a definition alike (`CRDValidationRatcheting`).
 *
 * Items of lists are told apart by their index: one that moves is new. What a Schema does not come to look at, because of
 * another fault, is not seen.
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

/** A fault by its field and what is wrong there: `spec.size: Expected …`. */
export const parts = (issue: string): { readonly field: string; readonly message: string } => {
  const [, field = "", message = issue] = /^([^\s:]+): (.*)$/s.exec(issue) ?? []
  return { field, message }
}

/** The faults that count; without an object before, all of them. */
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

/** Whether it has been deleted, and only finalizers keep it. */
export const isDeleted = ({ metadata }: Review.JsonObject): boolean =>
  typeof metadata === "object" && metadata !== null && "deletionTimestamp" in metadata

/** A fault without a field is one of what somebody wants, and not of what the server keeps in the metadata. */
const valueAt = (object: Review.JsonObject, field: string): unknown => {
  const { metadata: _, status: __, ...wanted } = object
  return field === "" ? wanted : at(object, field)
}

/** What is at `spec.ports[0].name`; nothing where there is no such field. */
export const at = (value: unknown, path: string): unknown => {
  if (path === "") return value
  if (typeof value !== "object" || value === null) return undefined
  // A key may have dots in it: the longest that fits is the one.
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
