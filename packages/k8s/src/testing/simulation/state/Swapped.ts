/**
 * `Swapped`: two states that differ only in which object got which of several values.
 *
 * Addresses, ports, numbers and objects of a pool are given out on request, and faults change who asks first. One state
 * equals the other with some of these values exchanged everywhere. A value that is only partly exchanged, or that
 * people asked for by name, remains a difference. The object that had the other value may be gone: then both existed at
 * an earlier rest, exchanged; or, if a step did not wait, its value was free before another was given out.
 */
import { isObject } from "../../../schema/JsonValue.ts"
import type { Json, State } from "./Canonical.ts"

/** From a value to the one that replaces it. */
type Exchange = Map<Json, Json>

/** A value that is given out contains a digit or is an object: a phase is neither. */
const isGiven = (value: Json | undefined, objects: ReadonlySet<string>): boolean =>
  typeof value === "number" || (typeof value === "string" && (/\d/.test(value) || objects.has(value)))

const nameOf = (family: string): string => family.slice(Math.max(family.lastIndexOf("/"), family.indexOf(" ")) + 1)

/** Records which value replaces which; false if there are other differences. */
const match = (
  one: Json | undefined,
  two: Json | undefined,
  exchange: Exchange,
  objects: ReadonlySet<string>
): boolean => {
  if (JSON.stringify(one) === JSON.stringify(two)) return true
  if (Array.isArray(one) && Array.isArray(two)) {
    return one.length === two.length &&
      one.every((item, index) => match(item as Json, two[index] as Json, exchange, objects))
  }
  if (isObject(one) && isObject(two)) {
    // The entries under exchanged keys are compared once the exchange is known.
    return Object.keys(one).every((key) =>
      !(key in two) || match(one[key] as Json, two[key] as Json, exchange, objects)
    )
  }
  if (!isGiven(one, objects) || !isGiven(two, objects)) return true
  if (exchange.has(one!) && exchange.get(one!) !== two) return false
  exchange.set(one!, two!)
  return true
}

/** Whether the same values are given out, each to another object; or some that had been given back. */
const isExchange = (exchange: Exchange, free: ReadonlySet<Json>): boolean => {
  const given = new Set(exchange.values())
  const isPermutation = exchange.size > 1 && [...exchange.keys()].every((key) => given.has(key))
  const isFree = exchange.size > 0 && [...given].every((value) => exchange.has(value) || free.has(value))
  return given.size === exchange.size && (isPermutation || isFree)
}

/** Values of objects that existed in earlier states and are gone at the end, and that nothing has then. */
const givenBack = (earlier: Iterable<State>, end: State): ReadonlySet<Json> => {
  const gone = [...earlier].flatMap((state) =>
    [...state].flatMap(([family, members]) => (end.has(family) ? [] : members))
  )
  const kept = new Set([...end.values()].flat().flatMap((member) => [...holds(member)]))
  return new Set(
    gone.flatMap((member) => [...holds(member)]).filter((value): value is string | number =>
      (typeof value === "number" || typeof value === "string") && !kept.has(value)
    )
  )
}

const exchanged = (value: Json, exchange: Exchange, path = ""): Json => {
  if (Array.isArray(value)) {
    const items = value.map((item) => exchanged(item as Json, exchange, `${path}[]`))
    return items.every((item) => typeof item === "string" || typeof item === "number") ? items.toSorted() : items
  }
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, item]) =>
          [
            String(exchange.get(key) ?? exchange.get(Number(key)) ?? key),
            exchanged(item as Json, exchange, `${path}.${key}`)
          ] as const
        )
        .sort(([a], [b]) => (a < b ? -1 : 1))
    )
  }
  // An object keeps its name, whoever has it now.
  return path === ".metadata.name" ? value : exchange.get(value) ?? value
}

/** The values that an object has, as texts, without its own name. */
const holds = (member: string): ReadonlySet<unknown> => {
  const all = new Set<unknown>()
  JSON.stringify({ ...JSON.parse(member) as object, metadata: undefined }, (_, value: unknown) => {
    all.add(value)
    return value
  })
  return all
}

const differs = (family: string, expected: State, actual: State): boolean =>
  JSON.stringify(expected.get(family)) !== JSON.stringify(actual.get(family))

/** Whether, of two objects that name each other, one names another object now and the other does not. */
const isOneSided = (expected: State, actual: State, exchange: Exchange): boolean => {
  const given = new Set<unknown>([...expected.keys()].filter((family) => differs(family, expected, actual)).map(nameOf))
  return [...expected].some(([family, members]) =>
    exchange.has(nameOf(family)) && !differs(family, expected, actual) &&
    members.some((member) => [...holds(member)].some((text) => given.has(text)))
  )
}

const nobody: Exchange = new Map()

/** Whether the second state is the first with these values exchanged. */
const isSame = (expected: State, actual: State, exchange: Exchange): boolean =>
  actual.size === expected.size && !isOneSided(expected, actual, exchange) &&
  [...expected].every(([family, members]) => {
    const [now, wanted] = [actual.get(family) ?? [], members].map((all, index) =>
      all.map((member) => JSON.stringify(exchanged(JSON.parse(member) as Json, index === 0 ? nobody : exchange)))
        .toSorted()
    )
    return JSON.stringify(now) === JSON.stringify(wanted)
  })

/** The exchanged values, if nothing else differs: numbers and the like, or objects too. */
const exchangeOf = (expected: State, actual: State, free: ReadonlySet<Json>): Exchange | undefined =>
  exchangeAmong(expected, actual, free, new Set()) ??
    exchangeAmong(expected, actual, free, new Set([...expected.keys()].map(nameOf)))

const exchangeAmong = (
  expected: State,
  actual: State,
  free: ReadonlySet<Json>,
  objects: ReadonlySet<string>
): Exchange | undefined => {
  const exchange: Exchange = new Map()
  for (const [family, members] of expected) {
    const others = actual.get(family)
    if (others?.length !== members.length) return undefined
    for (const [index, member] of members.entries()) {
      if (member === others[index]) continue
      if (!match(JSON.parse(member) as Json, JSON.parse(others[index]!) as Json, exchange, objects)) return undefined
    }
  }
  return isExchange(exchange, free) && isSame(expected, actual, exchange) ? exchange : undefined
}

/** Whether the second state is the first with some given-out values exchanged. */
export const swapped = (
  expected: State,
  actual: State,
  /** The same two, at rests before. */
  before: Iterable<readonly [expected: State, actual: State]> = [],
  /** If a step did not wait: the first state at all earlier rests. */
  earlier: Iterable<State> = []
): boolean => {
  if (exchangeOf(expected, actual, givenBack(earlier, expected)) !== undefined) return true
  for (const [one, two] of before) {
    const exchange = exchangeOf(one, two, new Set())
    if (exchange !== undefined && isSame(expected, actual, exchange)) return true
  }
  return false
}
