/**
 * `ListTypes`: validates that lists of type `set` have no duplicates, and lists of type `map` no duplicate keys.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype.
 */
import * as FieldError from "./FieldError.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Schema from "./Schema.ts"

/** The duplicates in all lists of the object; each value once, at its second occurrence. */
export const validate = (schema: Schema.Schema, object: unknown): ReadonlyArray<FieldError.FieldError> =>
  walk(schema, object, "")

const walk = (schema: Schema.Schema, value: unknown, path: string): ReadonlyArray<FieldError.FieldError> => {
  if (!Schema.hasDistinctItems(schema)) return []
  if (JsonValue.isArray(value)) {
    const { items } = schema
    return [
      ...repeats(schema, value, path),
      ...(items === undefined ? [] : value.flatMap((item, index) => walk(items, item, `${path}[${index}]`)))
    ]
  }
  if (!JsonValue.isObject(value)) return []
  const values = Schema.mapValue(schema)
  return Object.entries(value).flatMap(([key, item]) => {
    const known = Schema.property(schema, key)
    if (known !== undefined) return walk(known, item, Schema.childPath(path, key))
    return values === undefined ? [] : walk(values, item, Schema.keyPath(path, key))
  })
}

const repeats = (
  schema: Schema.Schema,
  list: ReadonlyArray<unknown>,
  path: string
): ReadonlyArray<FieldError.FieldError> => {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return second(list).map((index) => FieldError.duplicate(`${path}[${index}]`, list[index]))
    case "map": {
      const wrong = list.findIndex((item) => item !== null && !JsonValue.isObject(item))
      if (wrong >= 0) {
        return [FieldError.invalid(`${path}[${wrong}]`, list[wrong], "must be an object for an array of list-type map")]
      }
      const names = schema["x-kubernetes-list-map-keys"] ?? []
      const keys = list.map((item) =>
        JsonValue.isObject(item)
          ? Object.fromEntries(names.filter((name) => JsonValue.has(item, name)).map((name) => [name, item[name]]))
          : {}
      )
      return second(keys).map((index) => FieldError.duplicate(`${path}[${index}]`, keys[index]))
    }
    default:
      return []
  }
}

/** The positions at which a value occurs for the second time. */
const second = (list: ReadonlyArray<unknown>): ReadonlyArray<number> => {
  const seen = new Map<string, number>()
  const positions: Array<number> = []
  for (const [index, item] of list.entries()) {
    const key = FieldError.goJson(item)
    const times = seen.get(key) ?? 0
    if (times === 1) positions.push(index)
    seen.set(key, times + 1)
  }
  return positions
}
