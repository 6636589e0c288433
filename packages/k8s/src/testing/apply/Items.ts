/**
 * `Items`: the identity of items in an associative list.
 *
 * An item is identified by the values of the list's keys, where a missing key has its default or is left out, or in a
 * set by its own value.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go (`listItemToPathElement`).
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import type { ListType } from "./Types.ts"

export type Identified = { readonly element: PathElement.PathElement } | { readonly error: string }

const byKeys = (list: ListType, item: unknown): Identified => {
  if (item === null || item === undefined) {
    return { error: "associative list with keys may not have a null element" }
  }
  if (!JsonValue.isObject(item)) return { error: "associative list with keys may not have non-map elements" }
  const keys: Record<string, unknown> = {}
  let found = 0
  for (const key of list.keys) {
    const value = JsonValue.has(item, key) ? item[key] : list.element.map?.fields.get(key)?.default
    if (value === undefined) continue
    keys[key] = value
    found++
  }
  return found > 0
    ? { element: PathElement.keyed(keys) }
    : {
      error: `associative list with keys has an element that omits all key fields [${
        list.keys.map(FieldError.quote).join(" ")
      }] (and doesn't have default values for any key fields)`
    }
}

const byValue = (item: unknown): Identified =>
  item === null || item === undefined
    ? { error: "associative list without keys has an element that's an explicit null" }
    : Array.isArray(item)
    ? { error: "not supported: associative list with lists as elements" }
    : typeof item === "object"
    ? { error: "associative list without keys has an element that's a map type" }
    : { element: PathElement.item(item) }

/** The path element of an item, or why it has none. */
export const identify = (list: ListType, item: unknown): Identified =>
  list.keys.length > 0 ? byKeys(list, item) : byValue(item)

/** The items of a list by path element, in order. Items without one are left out and reported. */
export const byElement = (
  list: ListType,
  items: ReadonlyArray<unknown>,
  report: (index: number, error: string) => void
): ReadonlyMap<PathElement.PathElement, ReadonlyArray<unknown>> => {
  const out = new Map<PathElement.PathElement, Array<unknown>>()
  for (let index = 0; index < items.length; index++) {
    const found = identify(list, items[index])
    if ("error" in found) {
      report(index, found.error)
      continue
    }
    const same = out.get(found.element)
    if (same === undefined) out.set(found.element, [items[index]])
    else same.push(items[index])
  }
  return out
}
