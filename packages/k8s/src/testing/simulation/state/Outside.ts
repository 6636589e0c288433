/** `Outside`: what an operator keeps outside the cluster, in a form by which two runs can be compared. */
import { isObject, type JsonObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import { isTime, timeless } from "../recording/Times.ts"
import type { Mask } from "./Names.ts"
import type { Rename } from "./Renaming.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

type Entries<A = unknown> = ReadonlyArray<readonly [string, A]>

/** The entries of a map or an object. */
export const entriesOf = (value: unknown): Entries | undefined =>
  value instanceof Map
    ? [...value].map(([key, item]) => [String(key), item] as const)
    : isObject(value) && !Array.isArray(value) && !(value instanceof Set)
    ? Object.entries(value)
    : undefined

/** The items of a list or a set. */
export const itemsOf = (value: unknown): ReadonlyArray<unknown> | undefined =>
  value instanceof Set ? [...value] : Array.isArray(value) ? value : undefined

/**
 * A copy of the outside state, which is changed in place. Anything other than maps, sets, lists and plain objects is
 * not copied.
 */
export const copyOf = (value: unknown): unknown => {
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, copyOf(item)]))
  if (value instanceof Set) return new Set([...value].map(copyOf))
  if (Array.isArray(value)) return itemsOf(value)!.map(copyOf)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(entriesOf(value)!.map(([key, item]) => [key, copyOf(item)]))
}

/** The outside state by name, which is changed in place, with a copy of each as it was when it was first asked for. */
export class States extends Map<string, unknown> {
  readonly untouched: Map<string, unknown>

  constructor(states: ReadonlyMap<string, unknown> = new Map(), untouched: ReadonlyMap<string, unknown> = new Map()) {
    super()
    this.untouched = new Map(untouched)
    for (const [name, value] of states) this.set(name, copyOf(value))
  }

  override set(name: string, value: unknown): this {
    if (!this.untouched.has(name)) this.untouched.set(name, copyOf(value))
    return super.set(name, value)
  }
}

/** The class of something that `copyOf` does not copy although it may change in place. */
export const uncopied = (value: unknown): string | undefined => {
  if (typeof value === "function") return "function"
  if (typeof value !== "object" || value === null || value instanceof Date) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  const items = value instanceof Map ? [...value.values()] : itemsOf(value)
  if (items === undefined && prototype !== Object.prototype) return value.constructor?.name ?? "object"
  for (const item of items ?? Object.values(value)) {
    const found = uncopied(item)
    if (found !== undefined) return found
  }
  return undefined
}

const byKey = <A>(entries: Entries<A>): Entries<A> => entries.toSorted(([a], [b]) => (a < b ? -1 : 1))

const asItIs: Rename = (text) => text

/** The outside state without what is random. */
const plain = (value: unknown, path: string, mask: Mask, rename: Rename = asItIs): Json => {
  if (mask.has(path)) return "(masked)"
  const entries = entriesOf(value)
  if (entries !== undefined) {
    // Random keys: only their values count.
    if (mask.has(`${path}{}`)) return sorted(entries.map(([, item]) => plain(item, `${path}.*`, mask, rename)))
    const named = entries.map(([key, item]) =>
      [timeless(rename(key)), plain(item, `${path}.${key}`, mask, rename)] as const
    )
    const alike = new Map(named).size < named.length
    return alike ? sorted(named) : Object.fromEntries(byKey(named))
  }
  const items = itemsOf(value)?.map((item) => plain(item, `${path}[]`, mask, rename))
  if (items !== undefined) return value instanceof Set ? sorted(items) : items
  return isTime(value) ? "(time)" : typeof value === "string" ? timeless(rename(value)) : value as Json
}

const sorted = (items: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  items.map((item) => JSON.stringify(item)).toSorted().map((text) => JSON.parse(text) as Json)

export const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0

/** What exists outside, by name and key; the items themselves for a list. */
export const keysOf = (outside: ReadonlyMap<string, unknown>): ReadonlyArray<string> =>
  [...outside].flatMap(([name, value]) => {
    const keys = entriesOf(value)?.map(([key]) => key) ?? itemsOf(value)?.map((item) => JSON.stringify(copyOf(item)))
    return (keys ?? []).map((key) => `${name}: ${key}`)
  })

/** The path of outside state in a mask. */
export const pathOf = (name: string): string => `outside ${name}`

/**
 * What is kept outside under a name. A value that is empty, or as it was when it was first asked for (a counter that
 * starts at 1), is equal to none: whether anybody has asked makes no difference.
 */
export const outside = (
  run: Pick<Recording, "outside"> & Partial<Pick<Recording, "untouched">>,
  name: string,
  mask: Mask,
  rename?: Rename
): Json | undefined => {
  const [value, first] = [run.outside, run.untouched].map((states) =>
    plain(states?.get(name), pathOf(name), mask, rename)
  )
  return value === undefined || isEmpty(value) || JSON.stringify(value) === JSON.stringify(first) ? undefined : value
}

/**
 * Whether what named one replica now names another; a count beside the name (a term, an epoch) may have advanced, but
 * nothing else may differ.
 */
export const isSucceeded = (wanted: Json, found: Json, rename: Rename): boolean => {
  if (Array.isArray(wanted) && Array.isArray(found)) {
    return wanted.length === found.length &&
      wanted.every((item, index) => isSucceeded(item as Json, found[index] as Json, rename))
  }
  if (!isObject(wanted) || !isObject(found)) {
    return wanted === found ||
      (typeof wanted === "string" && typeof found === "string" && rename(wanted) === rename(found))
  }
  const [one, two]: readonly [JsonObject, JsonObject] = [wanted, found]
  const keys = Object.keys(one)
  const isOther = keys.some((key) => typeof one[key] === "string" && one[key] !== two[key])
  return keys.length === Object.keys(two).length && keys.every((key) => {
    const [then, now] = [one[key], two[key]]
    if (then === undefined || now === undefined) return false
    const goesOn = isOther && typeof then === "number" && typeof now === "number" && now > then
    return goesOn || isSucceeded(then as Json, now as Json, rename)
  })
}

/** Whether each thing that is kept under a name is as in one of two other states. */
export const isHalfway = (found: Json | undefined, one: Json | undefined, other: Json | undefined): boolean => {
  const [now, before, unseen] = [found ?? {}, one ?? {}, other ?? {}] as const
  if (!isObject(now) || !isObject(before) || !isObject(unseen)) return false
  const isSame = (key: string) => (its: JsonObject) => JSON.stringify(its[key]) === JSON.stringify(now[key])
  const keys = new Set([now, before, unseen].flatMap((its) => Object.keys(its)))
  return [...keys].every((key) => [before, unseen].some(isSame(key)))
}

/** The words of all texts in a value. */
const wordsIn = (value: Json): ReadonlyArray<string> =>
  typeof value === "string"
    ? value.split(/[^\w.-]+/)
    : typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, item]) => [...wordsIn(key), ...wordsIn(item)])
    : []

/**
 * Makes a value independent of which of several objects was served first: a list in which every item names one of them
 * is ordered by these names. The items for one object keep their order.
 */
export const whoever = (value: Json, names: ReadonlySet<string>): Json => {
  if (Array.isArray(value)) {
    const items = (value as ReadonlyArray<Json>).map((item) => whoever(item, names))
    const told = items.map((item) => ({ item, of: wordsIn(item).filter((word) => names.has(word)).join() }))
    return told.some(({ of }) => of === "")
      ? items
      : told.toSorted((a, b) => (a.of < b.of ? -1 : a.of > b.of ? 1 : 0)).map(({ item }) => item)
  }
  return isObject(value)
    ? Object.fromEntries(
      Object.entries(value as Record<string, Json>).map(([key, item]) => [key, whoever(item, names)])
    )
    : value
}

/** Where two runs without faults differ in what is kept under a name. */
export const differing = (a: Pick<Recording, "outside">, b: typeof a, name: string): ReadonlySet<string> => {
  const found = new Set<string>()
  differ(a.outside.get(name), b.outside.get(name), pathOf(name), found)
  return found
}

const differ = (a: unknown, b: unknown, path: string, found: Set<string>): void => {
  const [one, two] = [entriesOf(a), entriesOf(b)].map((entries) => entries && byKey(entries))
  if (one !== undefined && two !== undefined) {
    const same = one.map(([key]) => key).join("\n") === two.map(([key]) => key).join("\n")
    if (!same) found.add(`${path}{}`)
    for (const [index, [key, item]] of one.entries()) {
      if (two[index] !== undefined) differ(item, two[index][1], same ? `${path}.${key}` : `${path}.*`, found)
    }
    return
  }
  const [first, second] = [itemsOf(a), itemsOf(b)]
  if (first !== undefined && second !== undefined && first.length === second.length) {
    for (const [index, item] of first.entries()) differ(item, second[index], `${path}[]`, found)
    return
  }
  if (JSON.stringify(plain(a, "", new Set())) !== JSON.stringify(plain(b, "", new Set()))) found.add(path)
}
