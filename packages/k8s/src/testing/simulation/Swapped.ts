/**
 * `Swapped`: two states that differ in nothing but who got which of several values.
 *
 * Addresses, ports and numbers are given out as they are asked for, and faults change who asks first. One state is the
 * other with some of those values in each other's places, wherever they are: what is only half exchanged, or what people
 * have asked for by name, stays a difference.
 */
import { isObject } from "../../schema/JsonValue.ts"
import type { Json, State } from "./Canonical.ts"

/** Which value is in the place of which. */
type Exchange = Map<Json, Json>

/** What is given out is counted: a number, or a text with one in it. A phase is not. */
const isCounted = (value: Json | undefined): boolean =>
  typeof value === "number" || (typeof value === "string" && /\d/.test(value))

/** Puts down what is in the place of what; false if that is not all there is to it. */
const match = (one: Json | undefined, two: Json | undefined, exchange: Exchange): boolean => {
  if (JSON.stringify(one) === JSON.stringify(two)) return true
  if (Array.isArray(one) && Array.isArray(two)) {
    return one.length === two.length && one.every((item, index) => match(item as Json, two[index] as Json, exchange))
  }
  if (isObject(one) && isObject(two)) {
    // What is filed under what was given out is looked at once that is known.
    return Object.keys(one).every((key) => !(key in two) || match(one[key] as Json, two[key] as Json, exchange))
  }
  if (!isCounted(one) || !isCounted(two)) return true
  if (exchange.has(one!) && exchange.get(one!) !== two) return false
  exchange.set(one!, two!)
  return true
}

const isPermutation = (exchange: Exchange): boolean => {
  const given = new Set(exchange.values())
  return given.size === exchange.size && [...exchange.keys()].every((key) => given.has(key))
}

const exchanged = (value: Json, exchange: Exchange): Json => {
  if (Array.isArray(value)) {
    const items = value.map((item) => exchanged(item as Json, exchange))
    return items.every((item) => typeof item === "string") ? items.toSorted() : items
  }
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, item]) => [String(exchange.get(key) ?? key), exchanged(item as Json, exchange)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
    )
  }
  return exchange.get(value) ?? value
}

/** Whether the second state is the first with some values that were given out in each other's places. */
export const swapped = (expected: State, actual: State): boolean => {
  const exchange: Exchange = new Map()
  for (const [family, members] of expected) {
    const others = actual.get(family)
    if (others?.length !== members.length) return false
    for (const [index, member] of members.entries()) {
      if (member === others[index]) continue
      if (!match(JSON.parse(member) as Json, JSON.parse(others[index]!) as Json, exchange)) return false
    }
  }
  if (exchange.size < 2 || !isPermutation(exchange) || actual.size !== expected.size) return false
  return [...expected].every(([family, members]) => {
    const now = members.map((member) => JSON.stringify(exchanged(JSON.parse(member) as Json, exchange))).toSorted()
    return now.every((member, index) => member === actual.get(family)![index])
  })
}
