/**
 * `DuplicateFields`: keys that occur more than once in an object of a JSON text.
 *
 * A parsed JSON value cannot show them, but `fieldValidation` needs them, and some Go types merge repeated keys. So the
 * paths, and the objects with every entry, are remembered beside the parsed value.
 *
 * Source: sigs.k8s.io/json `UnmarshalStrict`.
 */
import * as GoInt64 from "../schema/GoInt64.ts"

/** An object with all its entries, as written. */
export class Entries {
  readonly entries: Array<readonly [key: string, value: Written]> = []
}

/** A JSON value whose objects keep all entries. */
export type Written = string | number | boolean | null | ReadonlyArray<Written> | Entries

interface Remembered {
  readonly paths: ReadonlyArray<string>
  readonly written: Written
  readonly said?: ReadonlyArray<string>
}

const remembered = new WeakMap<object, Remembered>()

const none: ReadonlyArray<string> = []

const noted = (value: unknown): Remembered | undefined =>
  typeof value === "object" && value !== null ? remembered.get(value) : undefined

/** The paths found when the value was parsed; empty for any other value. */
export const of = (value: unknown): ReadonlyArray<string> => noted(value)?.paths ?? none

/** The value as written if a key is repeated in it; otherwise undefined. */
export const writtenOf = (value: unknown): Written | undefined => noted(value)?.written

/** Remembers the strict decoding errors of a value beside the object that a type has made of it. */
export const read = (from: unknown, object: object, said: ReadonlyArray<string>): void => {
  const found = noted(from)
  if (found !== undefined) remembered.set(object, { ...found, said })
}

/**
 * The strict decoding errors of a value in order, unknown and repeated fields together; undefined if none were
 * remembered.
 */
export const saidOf = (value: unknown): ReadonlyArray<string> | undefined => noted(value)?.said

/** Strings, punctuation and other tokens. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs

/** Parses a text that is valid JSON, keeping all entries of its objects. Nesting may be arbitrarily deep. */
export const parse = (text: string): Written => {
  const levels: Array<Array<Written> | Entries> = []
  let key: string | undefined
  let whole: Written = null
  const add = (value: Written) => {
    const level = levels.at(-1)
    if (level === undefined) whole = value
    else if (level instanceof Entries) level.entries.push([key!, value])
    else level.push(value)
    key = undefined
  }
  for (const [token] of GoInt64.readable(text).matchAll(tokens)) {
    switch (token) {
      case "{":
      case "[": {
        const level = token === "{" ? new Entries() : []
        add(level)
        levels.push(level)
        break
      }
      case "}":
      case "]":
        levels.pop()
        break
      case ",":
      case ":":
        break
      default: {
        const value = JSON.parse(token) as Written
        if (levels.at(-1) instanceof Entries && key === undefined) key = value as string
        else add(value)
      }
    }
  }
  return whole
}

/** The index after the closing quote of the string that starts at `start`. */
const stringEnd = (text: string, start: number): number => {
  let at = start + 1
  while (text[at] !== "\"") at += text[at] === "\\" ? 2 : 1
  return at + 1
}

interface Level {
  /** For an object: its keys so far. */
  readonly keys: Set<string> | undefined
  readonly path: string
  /** For an array: the index of the current item. */
  index: number
  /** For an object: the key of the current value. */
  key: string
}

const pathOf = ({ index, key, keys, path }: Level): string =>
  keys === undefined ? `${path}[${index}]` : path === "" ? key : `${path}.${key}`

/** The paths of repeated keys in a text that is valid JSON, without duplicates. */
export const find = (text: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  const levels: Array<Level> = []
  let level: Level | undefined
  let wantsKey = false
  for (let at = 0; at < text.length;) {
    switch (text[at]) {
      case "{":
      case "[": {
        const object = text[at] === "{"
        const path: string = level === undefined ? "" : pathOf(level)
        if (level !== undefined) levels.push(level)
        level = { keys: object ? new Set() : undefined, path, index: 0, key: "" }
        wantsKey = object
        at += 1
        break
      }
      case "}":
      case "]":
        level = levels.pop()
        wantsKey = false
        at += 1
        break
      case ",":
        if (level !== undefined) level.index += 1
        wantsKey = level?.keys !== undefined
        at += 1
        break
      case "\"": {
        const end = stringEnd(text, at)
        if (wantsKey && level?.keys !== undefined) {
          level.key = JSON.parse(text.slice(at, end)) as string
          if (level.keys.has(level.key)) found.add(pathOf(level))
          level.keys.add(level.key)
          wantsKey = false
        }
        at = end
        break
      }
      default:
        at += 1
    }
  }
  return [...found]
}

/** Remembers the repeated keys of the text that a value was parsed from. */
export const note = (value: unknown, text: string): void => {
  if (typeof value !== "object" || value === null) return
  const found = find(text)
  if (found.length > 0) remembered.set(value, { paths: found, written: parse(text) })
}
