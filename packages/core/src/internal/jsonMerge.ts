/** Compares and merges JSON values, whose keys may be in any order. */

type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const equals = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equals(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equals(a[key], b[key]))
}

/** A member of the object itself, not an inherited one. */
export const own = (object: Json, key: string): unknown => Object.hasOwn(object, key) ? object[key] : undefined

/** `kept` with the changes from `before` to `after`. Objects are merged field by field, everything else is replaced. */
export const overlay = (kept: unknown, before: unknown, after: unknown): unknown => {
  if (equals(before, after)) return kept
  if (!isObject(kept) || !isObject(after) || !isObject(before)) return after
  const result = new Map<string, unknown>()
  for (const key of new Set([...Object.keys(kept), ...Object.keys(after)])) {
    const merged = overlay(own(kept, key), own(before, key), own(after, key))
    if (merged !== undefined) result.set(key, merged)
  }
  return Object.fromEntries(result)
}
