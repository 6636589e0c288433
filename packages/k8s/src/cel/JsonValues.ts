/**
 * `JsonValues`: converts JSON without type information to values of expressions, and back.
 *
 * Whole numbers are ints, others doubles. Nothing is copied: lists and maps read the JSON on access.
 */
import * as JsonValue from "../schema/JsonValue.ts"
import * as Time from "./Time.ts"
import * as Values from "./Values.ts"
import type { Value } from "./Values.ts"

class JsonList extends Values.ListValue {
  private readonly items: ReadonlyArray<unknown>
  constructor(items: ReadonlyArray<unknown>) {
    super()
    this.items = items
  }
  get size(): number {
    return this.items.length
  }
  at(index: number): Value {
    return fromJson(this.items[index])
  }
}

class JsonMap extends Values.MapValue {
  private readonly object: JsonValue.JsonObject
  constructor(object: JsonValue.JsonObject) {
    super()
    this.object = object
  }
  get size(): number {
    return Object.keys(this.object).length
  }
  find(key: Value): Value | undefined {
    return typeof key === "string" && JsonValue.has(this.object, key) ? fromJson(this.object[key]) : undefined
  }
  keys(): ReadonlyArray<Value> {
    return Object.keys(this.object)
  }
}

/** A number as the server's JSON decoder reads it. */
export const fromNumber = (value: number): Value =>
  Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? BigInt(value) : value

/** JSON of any shape; undefined is null. */
export const fromJson = (json: unknown): Value => {
  switch (typeof json) {
    case "string":
    case "boolean":
      return json
    case "number":
      return fromNumber(json)
    default:
      if (json === null || json === undefined) return null
      return JsonValue.isArray(json) ? new JsonList(json) : new JsonMap(json as JsonValue.JsonObject)
  }
}

const base64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))

/** A value as JSON, or why that is impossible. */
export const toJson = (value: Value): { readonly json: unknown } | { readonly fault: string } => {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
      return { json: value }
    case "bigint":
      return { json: Number(value) }
  }
  if (value === null) return { json: null }
  if (value instanceof Values.Uint) return { json: Number(value.value) }
  if (value instanceof Uint8Array) return { json: base64(value) }
  if (value instanceof Values.Timestamp) return { json: Time.formatTimestamp(value) }
  if (value instanceof Values.Duration) return { json: Time.formatDuration(value) }
  if (value instanceof Values.ListValue) return listToJson(value)
  if (value instanceof Values.MapValue) return mapToJson(value)
  return { fault: value instanceof Values.Fault ? value.message : `unsupported type: ${Values.typeName(value)}` }
}

const listToJson = (list: Values.ListValue): ReturnType<typeof toJson> => {
  const items: Array<unknown> = []
  for (const item of list.toArray()) {
    const made = toJson(item)
    if ("fault" in made) return made
    items.push(made.json)
  }
  return { json: items }
}

const mapToJson = (map: Values.MapValue): ReturnType<typeof toJson> => {
  const entries: Array<[string, unknown]> = []
  for (const key of map.keys()) {
    if (typeof key !== "string") return { fault: `unsupported key type: ${Values.typeName(key)}` }
    const made = toJson(map.find(key) ?? null)
    if ("fault" in made) return made
    entries.push([key, made.json])
  }
  return { json: Object.fromEntries(entries) }
}
