/** `GoValue`: a JSON value as Go prints it with `%v`, as in some messages of a server. */
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

/** The Go type to which a JSON value is decoded. Lists whose items have the same type can be merged. */
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
