/**
 * `Interning`: equal strings of many objects, once in memory.
 *
 * The parser shares names of fields and the shortest strings by itself; images, paths, times, labels and owners it does
 * not. Most fields hold what they held in the object before, which costs one comparison; otherwise a table knows the
 * strings seen lately: two generations, of which the older is dropped when the younger is full. A field whose values are
 * always new, as a uid is, is left alone for a while. All of it is bounded, and nobody can see it but by memory.
 */

/** Figures of the table. */
export const defaults = {
  /** Strings of a generation. */
  size: 4_096,
  /** Shorter ones the parser shares; longer ones are rarely equal, and expensive to compare. */
  shortest: 11,
  longest: 256,
  /** Names of fields that are told apart; strings in others are left as they are. */
  fields: 1_024,
  /** New values in a row after which a field is left alone, and for how many values. */
  patience: 32,
  pause: 1_000
} as const

/** What is known of the values of a name. */
interface Field {
  last: string
  /** New values in a row. */
  news: number
}

const fields = new Map<string, Field>()
let young = new Map<string, string>()
let old = new Map<string, string>()

/** Replaces the strings in a value that was just parsed, and that nobody else has yet. */
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

/** The same string, as it is known already if it is. */
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

/** The string as it was seen before; remembers it if it was not. */
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
