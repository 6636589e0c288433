/**
 * `SchemaValues`: converts data of a custom resource to values of expressions, by its schema.
 *
 * Formats become typed values (`date-time` a timestamp). A null field of an object is absent. Lists of type set and map
 * are equal in any order, and `+` joins them as sets and maps. What the schema does not specify cannot be accessed, but
 * counts when objects are compared.
 *
 * Source: k8s.io/apiserver/pkg/cel/common/valuesunstructured.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as GoValue from "../schema/GoValue.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Schema from "../schema/Schema.ts"
import * as SchemaFormats from "../schema/SchemaFormats.ts"
import * as CelName from "@effect-operator/core/CelName"
import { withTypeAndObjectMeta } from "./DeclaredTypes.ts"
import * as Operators from "./Operators.ts"
import * as Time from "./Time.ts"
import * as Types from "./Types.ts"
import * as Values from "./Values.ts"
import { Fault, fault, ListValue, MapValue, noSuchOverload, type Value } from "./Values.ts"

const preserved = Types.opaque("unknown")

const decoded = (text: string): Uint8Array => Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

const formatted = (text: string, format: string | undefined): Value => {
  const isValid = SchemaFormats.rule(format)?.(text) === true
  switch (format) {
    case "duration":
      return Time.parseDuration(text) ?? fault(`Invalid duration ${text}: unable to parse ${text} as duration`)
    case "date":
      return Time.parseDate(text) ?? fault(`Invalid date formatted string ${text}`)
    case "date-time":
      return Time.parseTimestamp(text.toUpperCase()) ?? fault(`Invalid date-time formatted string ${text}`)
    case "byte":
      return isValid ? decoded(text) : fault(`Invalid byte formatted string ${text}`)
    default:
      return text
  }
}

const unexpected = (expected: string, found: unknown): Fault =>
  fault(`invalid data, expected ${expected}, got ${GoValue.typeName(found)}`)

const isWhole = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value)

/** A value with its schema. */
export const fromData = (data: unknown, schema: Schema.Schema): Value => {
  if (data === null || data === undefined) {
    return schema.nullable === true ? null : fault("invalid data, got null for schema with nullable=false")
  }
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (typeof data === "string") return data
    return isWhole(data)
      ? BigInt(data)
      : fault("invalid data, expected XIntOrString value to be either a string or integer")
  }
  switch (schema.type) {
    case "object":
      return JsonValue.isObject(data)
        ? object(data, schema)
        : fault("invalid data, expected a map for the provided schema with type=object")
    case "array":
      return JsonValue.isArray(data)
        ? list(data, schema)
        : fault("invalid data, expected an array for the provided schema with type=array")
    case "string":
      return typeof data === "string" ? formatted(data, schema.format) : unexpected("string", data)
    case "number":
      return typeof data === "number" ? data : unexpected("float", data)
    case "integer":
      return isWhole(data) ? BigInt(data) : unexpected("int", data)
    case "boolean":
      return typeof data === "boolean" ? data : unexpected("bool", data)
    default:
      return new Values.Opaque(preserved, data, FieldError.goJson(data))
  }
}

const object = (data: JsonValue.JsonObject, written: Schema.Schema): Value => {
  const schema = written["x-kubernetes-embedded-resource"] === true ? withTypeAndObjectMeta(written) : written
  return new ObjectData(data, schema)
}

/** The root of an object, whose apiVersion, kind and name are always visible. */
export const fromRoot = (data: JsonValue.JsonObject, schema: Schema.Schema): Value =>
  new ObjectData(data, withTypeAndObjectMeta(schema))

class ObjectData extends MapValue implements Operators.Special {
  private readonly data: JsonValue.JsonObject
  private readonly schema: Schema.Schema
  private readonly values: Schema.Schema | undefined

  constructor(data: JsonValue.JsonObject, schema: Schema.Schema) {
    super()
    this.data = data
    this.schema = schema
    this.values = schema.properties === undefined ? Schema.mapValue(schema) : undefined
  }

  get size(): number {
    return Object.keys(this.data).length
  }

  private schemaOf(key: string): Schema.Schema | undefined {
    return this.values ?? Schema.property(this.schema, key)
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return noSuchOverload
    const isObject = this.values === undefined
    const name = isObject && this.schema.properties !== undefined ? CelName.unescape(key) : key
    if (name === undefined || !JsonValue.has(this.data, name)) return undefined
    const data = this.data[name]
    if (isObject && data === null) return undefined
    const schema = this.schemaOf(name)
    return schema === undefined ? undefined : fromData(data, schema)
  }

  keys(): ReadonlyArray<Value> {
    const known = Object.keys(this.data).filter((key) => this.schemaOf(key) !== undefined)
    return this.values === undefined ? known.map((key) => CelName.escape(key) ?? key) : known
  }

  equalsTo(other: Value): boolean | Fault {
    if (!(other instanceof MapValue)) return noSuchOverload
    if (this.size !== other.size) return false
    for (const [key, data] of Object.entries(this.data)) {
      if (this.schemaOf(key) === undefined) {
        if (!(other instanceof ObjectData)) return noSuchOverload
        if (JsonValue.has(other.data, key) && !JsonValue.equals(data, other.data[key])) return false
        continue
      }
      const mine = this.find(key)
      const theirs = other.find(key)
      if (mine === undefined || theirs === undefined) {
        if (mine !== theirs) return false
        continue
      }
      const same = Operators.equals(mine, theirs)
      if (same !== true) return same
    }
    return true
  }
}

const list = (items: ReadonlyArray<unknown>, schema: Schema.Schema): Value => {
  if (schema.items === undefined) return fault("invalid array type, expected Items with a non-empty Schema")
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return new MapListData(items, schema.items, schema["x-kubernetes-list-map-keys"] ?? [])
    case "set":
      return new SetData(items, schema.items)
    default:
      return new ListData(items, schema.items)
  }
}

class ListData extends ListValue implements Operators.Special {
  protected readonly items: ReadonlyArray<unknown>
  protected readonly schema: Schema.Schema

  constructor(items: ReadonlyArray<unknown>, schema: Schema.Schema) {
    super()
    this.items = items
    this.schema = schema
  }

  get size(): number {
    return this.items.length
  }

  at(index: number): Value {
    return fromData(this.items[index], this.schema)
  }

  equalsTo(other: Value): boolean | Fault {
    return other instanceof ListValue ? Operators.listsEqual(this, other) : noSuchOverload
  }
}

/** The identity of a value as member of a set. */
const member = (value: Value): string => Values.keyText(value) ?? `?${Values.show(value)}`

class SetData extends ListData {
  override equalsTo(other: Value): boolean | Fault {
    if (!(other instanceof ListValue)) return noSuchOverload
    if (this.size !== other.size) return false
    const members = new Set(this.toArray().map(member))
    return other.toArray().every((item) => members.has(member(item)))
  }

  /** Members that only the other list has are appended. */
  plus(other: ListValue): Value {
    const members = new Set(this.toArray().map(member))
    const added = other.toArray().filter((item) => {
      const text = member(item)
      if (members.has(text)) return false
      members.add(text)
      return true
    })
    return new JoinedSet([...this.toArray(), ...added])
  }
}

class JoinedSet extends Values.ArrayList implements Operators.Special {
  equalsTo(other: Value): boolean | Fault {
    if (!(other instanceof ListValue)) return noSuchOverload
    const members = new Set(this.toArray().map(member))
    return this.size === other.size && other.toArray().every((item) => members.has(member(item)))
  }
}

/** The map keys of an entry in a list of type map, as one text. */
const entryKey = (entry: Value, keys: ReadonlyArray<string>): string =>
  entry instanceof MapValue
    ? keys.map((key) => {
      const value = entry.find(CelName.escape(key) ?? key)
      return value === undefined ? "-" : member(value)
    }).join("\u0000")
    : "?"

const mapListsEqual = (a: ListValue, b: Value, keys: ReadonlyArray<string>): boolean | Fault => {
  if (!(b instanceof ListValue)) return noSuchOverload
  if (a.size !== b.size) return false
  const entries = new Map(a.toArray().map((entry) => [entryKey(entry, keys), entry]))
  for (const other of b.toArray()) {
    const mine = entries.get(entryKey(other, keys))
    if (mine === undefined) return false
    const same = Operators.equals(mine, other)
    if (same !== true) return same
  }
  return true
}

/** Entries of the second list replace those with the same keys; others are appended. */
const mergedEntries = (a: ListValue, b: ListValue, keys: ReadonlyArray<string>): ReadonlyArray<Value> => [
  ...new Map([...a.toArray(), ...b.toArray()].map((entry) => [entryKey(entry, keys), entry])).values()
]

class MapListData extends ListData {
  private readonly mapKeys: ReadonlyArray<string>

  constructor(items: ReadonlyArray<unknown>, schema: Schema.Schema, mapKeys: ReadonlyArray<string>) {
    super(items, schema)
    this.mapKeys = mapKeys
  }

  override equalsTo(other: Value): boolean | Fault {
    return mapListsEqual(this, other, this.mapKeys)
  }

  plus(other: ListValue): Value {
    return new MergedMapList(mergedEntries(this, other, this.mapKeys), this.mapKeys)
  }
}

class MergedMapList extends Values.ArrayList implements Operators.Special {
  private readonly mapKeys: ReadonlyArray<string>

  constructor(items: ReadonlyArray<Value>, mapKeys: ReadonlyArray<string>) {
    super(items)
    this.mapKeys = mapKeys
  }

  equalsTo(other: Value): boolean | Fault {
    return mapListsEqual(this, other, this.mapKeys)
  }

  plus(other: ListValue): Value {
    return new MergedMapList(mergedEntries(this, other, this.mapKeys), this.mapKeys)
  }
}
