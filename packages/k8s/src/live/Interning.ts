/**
 * `Interning`: shares equal strings of many objects in memory.
 *
 * The parser shares field names and the shortest strings by itself, but not images, paths, timestamps, labels and
 * owners. Most fields have the same value as in the object before, which costs one comparison. Otherwise a table of
 * recent strings is consulted; it has two generations, the older of which is dropped when the younger is full. A field
 * whose values are always new, such as a uid, is skipped for a while. Everything is bounded, and only memory use shows
 * it.
 */

/** Defaults of the table. */
export const defaults = {
  /** The number of strings in a generation. */
  size: 4_096,
  /** Shorter strings are shared by the parser; longer ones are rarely equal, and expensive to compare. */
  shortest: 11,
  longest: 256,
  /** The number of field names that are tracked; strings in others are left alone. */
  fields: 1_024,
  /** After this many new values in a row, a field is skipped for `pause` values. */
  patience: 32,
  pause: 1_000
} as const

/** What is known about the values of a field name. */
interface Field {
  last: string
  /** New values in a row. */
  news: number
}

const fields = new Map<string, Field>()
let young = new Map<string, string>()
let old = new Map<string, string>()

/** Replaces the strings in a value that was just parsed and is not shared yet. */
export const intern = (value: object): void => {
  if (Array.isArray(value)) return list(value, "")
  const object = value as Record<string, unknown>
  for (const name in object) {
    const part = object[name]
    if (typeof part === "string") {
      if (part.length >= defaults.shortest) object[name] = shared(name, part)
    } else if (typeof part === "object" && part !== null) {
      if (Array.isArray(part)) list(part, name)
      else intern(part)
    }
  }
}

/** The elements of a list count as values of the list's name. */
const list = (values: Array<unknown>, name: string): void => {
  for (let index = 0; index < values.length; index++) {
    const part = values[index]
    if (typeof part === "string") {
      if (part.length >= defaults.shortest) values[index] = shared(name, part)
    } else if (typeof part === "object" && part !== null) intern(part)
  }
}

/** The same string, shared if it is known. */
const shared = (name: string, text: string): string => {
  if (text.length > defaults.longest) return text
  const field = fields.get(name)
  if (field === undefined) {
    if (fields.size < defaults.fields) fields.set(name, { last: remembered(text) ?? text, news: 0 })
    return text
  }
  if (field.last === text) return field.last
  if (field.news >= defaults.patience) {
    field.news = field.news < defaults.patience + defaults.pause ? field.news + 1 : 0
    return text
  }
  const known = remembered(text)
  field.news = known === undefined ? field.news + 1 : 0
  return field.last = known ?? text
}

/** The known equal string; if there is none, remembers this one. */
const remembered = (text: string): string | undefined => {
  const known = young.get(text)
  if (known !== undefined) return known
  const older = old.get(text)
  young.set(older ?? text, older ?? text)
  if (young.size >= defaults.size) {
    old = young
    young = new Map()
  }
  return older
}
