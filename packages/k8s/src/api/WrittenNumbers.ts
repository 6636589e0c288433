/**
 * `WrittenNumbers`: the whole numbers of a JSON text that are not written as integers, such as `1.0` and `1e3`.
 *
 * A parsed JSON value cannot show them, but Go does not decode them into an integer. So they are found in the text and
 * remembered beside the parsed value.
 */

export interface Written {
  /** Keys and indexes. */
  readonly path: ReadonlyArray<string | number>
  readonly text: string
}

const remembered = new WeakMap<object, ReadonlyArray<Written>>()

const none: ReadonlyArray<Written> = []

/** Those found when the value was parsed; none for any other value. */
export const of = (value: unknown): ReadonlyArray<Written> =>
  typeof value === "object" && value !== null ? remembered.get(value) ?? none : none

/** Carries them over to a value derived from another. */
export const carry = (from: object, to: object): void => {
  const found = remembered.get(from)
  if (found !== undefined) remembered.set(to, found)
}

/** Whether there may be any: most texts have none and need no scan. */
const suspicious = /[:,[]\s*-?\d+[.eE]/

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|-?\d[\d.eE+-]*/gs

/** The numbers in a text that is valid JSON. */
export const find = (json: string): ReadonlyArray<Written> => {
  if (!suspicious.test(json)) return none
  const found: Array<Written> = []
  const path: Array<string | number> = []
  let wantsKey = false
  for (const [token] of json.matchAll(tokens)) {
    const last = path.length - 1
    switch (token[0]) {
      case "{":
      case "[":
        wantsKey = token === "{"
        path.push(wantsKey ? "" : 0)
        break
      case "}":
      case "]":
        path.pop()
        wantsKey = false
        break
      case ",": {
        const place = path[last]
        wantsKey = typeof place === "string"
        if (typeof place === "number") path[last] = place + 1
        break
      }
      case "\"":
        if (wantsKey) path[last] = JSON.parse(token) as string
        wantsKey = false
        break
      default:
        if (/[.eE]/.test(token) && Number.isInteger(Number(token))) found.push({ path: [...path], text: token })
    }
  }
  return found
}

/** Remembers the numbers of the text that a value was parsed from. */
export const note = (value: unknown, text: string): void => {
  if (typeof value !== "object" || value === null) return
  const found = find(text)
  if (found.length > 0) remembered.set(value, found)
}
