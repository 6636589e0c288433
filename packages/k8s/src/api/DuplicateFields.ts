/**
 * `DuplicateFields`: the keys that occur twice in one object of a JSON text.
 *
 * A JSON value cannot say so, but `fieldValidation` asks for it: the paths are found in the text and remembered beside
 * the value that was read from it. Source: sigs.k8s.io/json `UnmarshalStrict`.
 */

const remembered = new WeakMap<object, ReadonlyArray<string>>()

const none: ReadonlyArray<string> = []

/** The paths found when a value was read; none for a value that came otherwise. */
export const of = (value: unknown): ReadonlyArray<string> =>
  typeof value === "object" && value !== null ? remembered.get(value) ?? none : none

/** Where a string that begins at a quote ends: after its closing quote. */
const stringEnd = (text: string, start: number): number => {
  let at = start + 1
  while (text[at] !== "\"") at += text[at] === "\\" ? 2 : 1
  return at + 1
}

interface Level {
  /** Of an object: its keys so far. */
  readonly keys: Set<string> | undefined
  readonly path: string
  /** Of an array: the index of the present item. */
  index: number
  /** Of an object: the key of the present value. */
  key: string
}

const pathOf = ({ index, key, keys, path }: Level): string =>
  keys === undefined ? `${path}[${index}]` : path === "" ? key : `${path}.${key}`

/** The paths of repeated keys in a text that is valid JSON, each once. */
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

/** Remembers what is repeated in the text a value was read from. */
export const note = (value: unknown, text: string): void => {
  if (typeof value !== "object" || value === null) return
  const found = find(text)
  if (found.length > 0) remembered.set(value, found)
}
