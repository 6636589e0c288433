/**
 * `Plain`: JSON values as the server keeps them: copied on entry, and frozen once stored.
 *
 * `copy` returns exactly what `JSON.parse(JSON.stringify(value))` would, without the text: properties that are
 * `undefined` are left out, so that a program in the same process sees what it would see over HTTP.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject, maxLevels } from "../schema/JsonValue.ts"

/** A JSON object under construction. */
export type Draft = Record<string, unknown>

/**
 * Casts JSON to an API object, for values that are one because they come from a stored object or have passed the checks
 * of a body. This is the only place for that cast.
 */
export const asObject = (json: object): KubeObject => json as KubeObject

/** A mutable deep copy, of any depth. Values that JSON does not have become what `JSON.stringify` makes of them. */
export const copy = <A>(value: A): A => copyValue(value, 0) as A

const isNothing = (item: unknown): boolean => item === undefined || typeof item === "function"

/** Sets an own property under any key: assigning to `__proto__` would set the prototype. */
export const put = (out: Draft, key: string, value: unknown): void => {
  if (key === "__proto__") Object.defineProperty(out, key, { value, enumerable: true })
  else out[key] = value
}

const copyValue = (value: unknown, level: number): unknown => {
  if (typeof value !== "object" || value === null) {
    return typeof value === "number" && !Number.isFinite(value) ? null : value
  }
  if (level > maxLevels) return copyDeep(value)
  if (Array.isArray(value)) return value.map((item) => (isNothing(item) ? null : copyValue(item, level + 1)))
  if ("toJSON" in value && typeof value.toJSON === "function") return copyValue(value.toJSON(), level)
  const out: Draft = {}
  for (const key of Object.keys(value)) {
    const item = (value as Readonly<Record<string, unknown>>)[key]
    if (!isNothing(item)) put(out, key, copyValue(item, level + 1))
  }
  return out
}

/** As `copyValue`, which is faster but would run out of stack. */
const copyDeep = (root: unknown): unknown => {
  const open: Array<readonly [from: object, to: Draft]> = []
  const begun = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return copyValue(value, 0)
    if ("toJSON" in value && typeof value.toJSON === "function") return begun(value.toJSON())
    const to: unknown = Array.isArray(value) ? [] : {}
    open.push([value, to as Draft])
    return to
  }
  const out = begun(root)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [from, to] = next
    for (const [key, item] of Object.entries(from)) {
      if (!isNothing(item)) put(to, key, begun(item))
      else if (Array.isArray(from)) put(to, key, null)
    }
  }
  return out
}

/** Deep-freezes a value. Parts that are already frozen are assumed to be deep-frozen. */
export const freeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const key of Object.keys(value)) freeze((value as Readonly<Record<string, unknown>>)[key])
  }
  return value
}

/** The value without nulls in objects, at every depth, as after Go's decoder and `omitempty`. */
export const dropNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(dropNulls)
  if (!isObject(value)) return value
  const out: Draft = {}
  for (const key of Object.keys(value)) if (value[key] !== null) put(out, key, dropNulls(value[key]))
  return out
}

/** The value at a path of keys; undefined if something on the way is missing or not an object. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let current = value
  for (const key of path) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined
    current = current[key]
  }
  return current
}

/** As `at`, if the value is an object; otherwise an empty object. */
export const objectAt = (value: unknown, ...path: ReadonlyArray<string>): Readonly<Record<string, unknown>> => {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}

/** As `at`, if the value is an array; otherwise an empty array. */
export const arrayAt = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** As `at`, if the value is a string; otherwise `""`. */
export const stringAt = (value: unknown, ...path: ReadonlyArray<string>): string => {
  const found = at(value, ...path)
  return typeof found === "string" ? found : ""
}
