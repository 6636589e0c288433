/**
 * `Modest`: a drawn value of everyday size, as far as its Schema allows.
 *
 * A Schema allows a thousand replicas, an image called `"\n"`, and namespaces that do not exist. Nobody wants these,
 * and their effects hide what matters: most bugs show with few items (the small scope hypothesis, Jackson 2006).
 */
import { isObject, type JsonObject } from "../../../schema/JsonValue.ts"

export const defaults = {
  /** Whole numbers are below this, */
  few: 9,
  /** or below this, one in four, */
  some: 41,
  /** a list has the same twice in one of so many specs, */
  twice: 4,
  /** and the value of a field named like a namespace is a namespace that every cluster has. */
  namespaces: ["default", "kube-public"]
} as const

type Path = ReadonlyArray<string | number>

/** `chance(n)` draws a number below n; `fits` says whether a Schema allows a value. */
export const modest = (
  drawn: JsonObject,
  chance: (below: number) => number,
  fits: (value: JsonObject) => boolean
): JsonObject => {
  const named = renamed(drawn)
  const plainly = isObject(named) && fits(named) ? named : drawn
  const once = distinct(plainly) as JsonObject
  const isTwice = JSON.stringify(once) !== JSON.stringify(plainly)
  const start = isTwice && chance(defaults.twice) > 0 && fits(once) ? once : plainly
  return [...leaves(start)].reduce((value, [path, leaf]) => {
    for (const candidate of candidates(leaf, path, chance)) {
      const changed = replaced(value, path, candidate)
      if (isObject(changed) && fits(changed)) return changed
    }
    return value
  }, start)
}

const candidates = (leaf: unknown, path: Path, chance: (below: number) => number): ReadonlyArray<unknown> => {
  if (typeof leaf === "string") {
    const names = path.some((key) => typeof key === "string" && /namespaces?$/i.test(key)) ? defaults.namespaces : []
    return names.length > 0 ? [names[chance(names.length)], plain(leaf)] : [plain(leaf)]
  }
  if (typeof leaf !== "number" || !Number.isInteger(leaf) || Math.abs(leaf) < defaults.few) return []
  const [few, some] = [leaf % defaults.few, leaf % defaults.some]
  return chance(4) === 0 ? [some, few] : [few, some]
}

/** A text of the same length, of letters and digits. */
const plain = (text: string): string =>
  text.toLowerCase().replace(/[^a-z0-9]/gu, (other) => letters[other.codePointAt(0)! % letters.length]!)

const letters = "abcdefghijklmnopqrstuvwxyz"

/** Drawn keys, such as those of labels, consist of letters and digits too. */
const renamed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(renamed)
    : isObject(value)
    ? Object.fromEntries(
      Object.entries(value).map((
        [key, item]
      ) => [/^[a-z_][\w.-]*$/i.test(key) ? key : plain(key) || "a", renamed(item)])
    )
    : value

/** Lists in which nothing is twice. */
const distinct = (value: unknown): unknown =>
  Array.isArray(value)
    ? [...new Map(value.map((item) => [JSON.stringify(item), distinct(item)])).values()]
    : isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, distinct(item)]))
    : value

function* leaves(value: unknown, path: Path = []): Generator<readonly [Path, unknown]> {
  if (Array.isArray(value)) { for (const [index, item] of value.entries()) yield* leaves(item, [...path, index]) }
  else if (isObject(value)) { for (const [key, item] of Object.entries(value)) yield* leaves(item, [...path, key]) }
  else yield [path, value]
}

const replaced = (value: unknown, [key, ...rest]: Path, by: unknown): unknown =>
  key === undefined
    ? by
    : Array.isArray(value)
    ? value.with(Number(key), replaced(value[Number(key)], rest, by))
    : { ...value as JsonObject, [key]: replaced((value as JsonObject)[key], rest, by) }
