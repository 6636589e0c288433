/**
 * `PathElement`: one step from a value to a part of it, in the notation of managedFields.
 *
 * `f:NAME` is a field or key of an object, `k:{...}` an item of a list by its keys, `v:VALUE` an item of a set, `i:N`
 * an item by position. The text is canonical (keys sorted, JSON as Go writes it), so two elements are equal if and only
 * if their texts are.
 *
 * Source: sigs.k8s.io/structured-merge-diff/fieldpath (element.go, serialize-pe.go).
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"

export type PathElement = string

export type Path = ReadonlyArray<PathElement>

/** A field. */
export const field = (name: string): PathElement => `f:${name}`

const bare = /^[\w .:/-]*$/

/** A value as Go encodes it to JSON; most strings need no escaping. */
const json = (value: unknown): string =>
  typeof value === "string" && bare.test(value) ? `"${value}"` : FieldError.goJson(value)

/** An item of a set. */
export const item = (value: unknown): PathElement => `v:${json(value)}`

/** An item of a list, by the values of its keys. */
export const keyed = (keys: JsonValue.JsonObject): PathElement => {
  const names = Object.keys(keys)
  if (names.length > 1) names.sort()
  let text = ""
  for (const name of names) text += `${text === "" ? "" : ","}${json(name)}:${json(keys[name])}`
  return `k:{${text}}`
}

/** The name of a field; `undefined` for other elements. */
export const fieldName = (element: PathElement): string | undefined =>
  element.startsWith("f:") ? element.slice(2) : undefined

/** Whether this is an item of a keyed list. */
export const isKeyed = (element: PathElement): boolean => element.startsWith("k:")

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The decoded keys or value of elements in use. */
const contents = new Map<PathElement, unknown>()

const contentOf = (element: PathElement): unknown => {
  let content = contents.get(element)
  if (content === undefined) {
    if (contents.size > 1000) contents.clear()
    contents.set(element, content = parse(element.slice(2)))
  }
  return content
}

/** An element in canonical form: `undefined` for an unknown kind, an error if it is invalid. */
export const read = (text: string): { readonly element: PathElement | undefined } | { readonly error: string } => {
  if (text.length < 2) return { error: "key must be 2 characters long:" }
  if (text[1] !== ":") return { error: `missing colon: ${text}` }
  const rest = text.slice(2)
  switch (text[0]) {
    case "f":
      return { element: text }
    case "v": {
      const value = parse(rest)
      return value === undefined ? { error: `invalid value: ${rest}` } : { element: item(value) }
    }
    case "k": {
      const keys = parse(rest)
      return JsonValue.isObject(keys) ? { element: keyed(keys) } : { error: `invalid keys: ${rest}` }
    }
    case "i":
      return /^[+-]?\d+$/.test(rest) ? { element: `i:${Number(rest)}` } : { error: `invalid index: ${rest}` }
    default:
      return { element: undefined }
  }
}

const compareText = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const ranks = ["number", "string", "boolean", "list", "map", "null"]

const rank = (value: unknown): number =>
  ranks.indexOf(
    value === null ? "null" : Array.isArray(value) ? "list" : typeof value === "object" ? "map" : typeof value
  )

/** Numbers before strings before booleans; within a type by value. */
const compareValues = (a: unknown, b: unknown): number => {
  const kind = rank(a) - rank(b)
  if (kind !== 0) return kind
  if (typeof a === "number") return a - (b as number)
  if (typeof a === "string") return compareText(a, b as string)
  if (typeof a === "boolean") return Number(a) - Number(b)
  return compareText(FieldError.goJson(a), FieldError.goJson(b))
}

const compareKeys = (a: JsonValue.JsonObject, b: JsonValue.JsonObject): number => {
  const names = Object.keys(a).sort()
  const others = Object.keys(b).sort()
  for (let at = 0; at < Math.min(names.length, others.length); at++) {
    const order = compareText(names[at]!, others[at]!) || compareValues(a[names[at]!], b[others[at]!])
    if (order !== 0) return order
  }
  return names.length - others.length
}

const kinds = "fkvi"

/** The order of elements in managedFields: fields, keyed items, items of sets, positions. */
export const compare = (a: PathElement, b: PathElement): number => {
  if (a.startsWith("f:") && b.startsWith("f:")) return compareText(a, b)
  const kind = kinds.indexOf(a[0]!) - kinds.indexOf(b[0]!)
  if (kind !== 0) return kind
  const [left, right] = [contentOf(a), contentOf(b)]
  return a[0] === "k"
    ? compareKeys(left as JsonValue.JsonObject, right as JsonValue.JsonObject)
    : compareValues(left, right)
}

const printValue = (value: unknown): string =>
  typeof value === "string" ? FieldError.quote(value) : Array.isArray(value)
    ? `[${value.map(printValue).join(",")}]`
    : JsonValue.isObject(value)
    ? Object.entries(value).map(([key, inner]) => `${key}=${printValue(inner)}`).join("")
    : String(value)

/** An element in messages: `.spec`, `[name="a"]`, `[="x"]`, `[0]`. */
export const print = (element: PathElement): string => {
  const rest = element.slice(2)
  switch (element[0]) {
    case "f":
      return `.${rest}`
    case "k":
      return `[${
        Object.entries(JSON.parse(rest) as JsonValue.JsonObject)
          .map(([name, value]) => `${name}=${printValue(value)}`).join(",")
      }]`
    case "v":
      return `[=${printValue(JSON.parse(rest))}]`
    default:
      return `[${rest}]`
  }
}

/** A path in messages: `.spec.containers[name="a"].image`. */
export const printPath = (path: Path): string => path.map(print).join("")
