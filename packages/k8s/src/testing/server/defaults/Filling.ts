/** `Filling`: the three operations that defaults are made of. */
import { objectAt } from "../../../api/Plain.ts"

export type Filled = Readonly<Record<string, unknown>>

/** The object with missing fields taken from `defaults`. */
export const fill = (object: unknown, defaults: Filled): Filled => {
  const own = objectAt(object)
  const missing = Object.entries(defaults).filter(([key, value]) => value !== undefined && own[key] === undefined)
  return missing.length === 0 ? own : { ...own, ...Object.fromEntries(missing) }
}

/** The object with a function applied to every item of one of its lists. */
export const map = (object: Filled, key: string, f: (item: unknown) => unknown): Filled =>
  Array.isArray(object[key]) ? { ...object, [key]: (object[key] as ReadonlyArray<unknown>).map(f) } : object

/** The object with a function applied to one of its fields, if it is present. */
export const edit = (object: Filled, key: string, f: (value: unknown) => unknown): Filled =>
  object[key] === undefined ? object : { ...object, [key]: f(object[key]) }
