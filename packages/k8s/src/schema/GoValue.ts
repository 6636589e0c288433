/**
 * `GoValue`: a JSON value as Go prints it with `%v`, which is how some messages of a server show one.
 */
import * as GoInt64 from "./GoInt64.ts"
import * as JsonValue from "./JsonValue.ts"

/** `map[a:1 b:[x y]]`: no quotes, keys sorted, `<nil>` for null. */
export const print = (value: unknown): string => {
  if (value === null || value === undefined) return "<nil>"
  if (JsonValue.isArray(value)) return `[${value.map(print).join(" ")}]`
  if (JsonValue.isObject(value)) {
    return `map[${Object.keys(value).sort().map((key) => `${key}:${print(value[key])}`).join(" ")}]`
  }
  return String(value)
}

/** The Go type that a JSON value is decoded to; a list of values of one type is merged, of several is not. */
export const typeName = (value: unknown): string => {
  if (value === null || value === undefined) return "nil"
  if (JsonValue.isArray(value)) return "[]interface {}"
  switch (typeof value) {
    case "object":
      return "map[string]interface {}"
    case "number":
      return GoInt64.is(value) ? "int64" : "float64"
    case "boolean":
      return "bool"
    default:
      return "string"
  }
}
