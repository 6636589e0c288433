/**
 * `JsonValue`: operations on plain JSON that all modules of the API server share.
 *
 * Nothing here mutates its arguments; results share structure with them. Object keys may be anything that a client
 * sent, `__proto__` included, so entries are copied, never assigned.
 */

/** A JSON object. */
export type JsonObject = { readonly [key: string]: unknown }

/** True for a JSON object: neither `null` nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** True for a JSON array. */
export const isArray = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

/** True if the object itself has the key. */
export const has = (object: JsonObject, key: string): boolean => Object.hasOwn(object, key)

/** The value of an own key. */
export const get = (object: JsonObject, key: string): unknown => Object.hasOwn(object, key) ? object[key] : undefined

/** The object with the key set, at its old place if it existed. */
export const set = (object: JsonObject, key: string, value: unknown): JsonObject => ({ ...object, [key]: value })

/** The object without the key. */
export const remove = (object: JsonObject, key: string): JsonObject => {
  if (!has(object, key)) return object
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
}

/** The object with keys set, or removed if their value is undefined, in one pass. */
export const change = (object: JsonObject, changes: ReadonlyMap<string, unknown>): JsonObject => {
  if (changes.size === 0) return object
  if (changes.size === 1) {
    for (const [key, value] of changes) return value === undefined ? remove(object, key) : set(object, key, value)
  }
  const entries = Object.entries(object).map(([key, value]) =>
    [key, changes.has(key) ? changes.get(key) : value] as const
  )
  for (const [key, value] of changes) if (!has(object, key)) entries.push([key, value])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Every value replaced by the result of `f`; `undefined` removes the entry. The same object if nothing changed. */
export const mapObject = (object: JsonObject, f: (value: unknown, key: string) => unknown): JsonObject => {
  const keys = Object.keys(object)
  let values: Array<unknown> | undefined
  for (let at = 0; at < keys.length; at++) {
    const value = object[keys[at]!]
    const next = f(value, keys[at]!)
    if (values === undefined && next !== value) values = keys.slice(0, at).map((key) => object[key])
    values?.push(next)
  }
  return values === undefined
    ? object
    : Object.fromEntries(keys.map((key, at) => [key, values[at]] as const).filter(([, value]) => value !== undefined))
}

/** Every item replaced by the result of `f`. The same array if nothing changed. */
export const mapArray = (
  array: ReadonlyArray<unknown>,
  f: (item: unknown, index: number) => unknown
): ReadonlyArray<unknown> => {
  const next = array.map(f)
  return next.every((item, index) => item === array[index]) ? array : next
}

/** Equality of JSON documents; the order of keys does not matter. */
export const equals = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((item, index) => equals(item, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => has(b, key) && equals(a[key], b[key]))
}

/**
 * The maximum nesting of what is stored. Walks over a value are recursive, and so is the platform's JSON writer:
 * several times this depth overflows the stack.
 */
export const maxLevels = 500

/** Whether a value is nested deeper than `levels`. */
export const isDeeper = (value: unknown, levels = maxLevels): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1))
  for (const key in value) if (isDeeper((value as JsonObject)[key], levels - 1)) return true
  return false
}
