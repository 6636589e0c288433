/**
 * `MergePatch`: RFC 7386 as an API server applies it, and its inverse.
 *
 * `null` deletes, objects merge, and everything else, arrays included, replaces. Beyond the RFC, the server drops nulls
 * from objects inside an array of the patch, unless that array replaces an object. Nulls that are items of an array
 * stay (before Kubernetes 1.21 they did not).
 *
 * Source: gopkg.in/evanphx/json-patch.v4, merge.go.
 */
import * as JsonValue from "../../schema/JsonValue.ts"

/** The target with the patch applied. */
export const apply = (target: unknown, patch: unknown): unknown => {
  if (!JsonValue.isObject(target)) return withoutNulls(patch)
  if (!JsonValue.isObject(patch)) return patch
  const changes = new Map<string, unknown>()
  for (const [key, value] of Object.entries(patch)) {
    const current = JsonValue.get(target, key)
    const next = value === null ? undefined : apply(current, value)
    if (next !== current) changes.set(key, next)
  }
  return JsonValue.change(target, changes)
}

const withoutNulls = (value: unknown): unknown => {
  if (JsonValue.isArray(value)) return JsonValue.mapArray(value, withoutNulls)
  if (JsonValue.isObject(value)) {
    return JsonValue.mapObject(value, (item) => item === null ? undefined : withoutNulls(item))
  }
  return value
}

/**
 * The smallest merge patch from one document to the other; `{}` if they are equal.
 *
 * `apply(from, diff(from, to))` equals `to` as long as no object in `to` has a null value, which a merge patch cannot
 * express.
 */
export const diff = (from: unknown, to: unknown): unknown => {
  if (!JsonValue.isObject(from) || !JsonValue.isObject(to)) return to
  const entries: Array<[string, unknown]> = []
  for (const key of Object.keys(from)) if (!JsonValue.has(to, key)) entries.push([key, null])
  for (const [key, value] of Object.entries(to)) {
    if (!JsonValue.has(from, key)) entries.push([key, value])
    else if (!JsonValue.equals(from[key], value)) entries.push([key, diff(from[key], value)])
  }
  return Object.fromEntries(entries)
}
