/**
 * `Values`: the run-time values of expressions.
 *
 * | CEL | here |
 * |---|---|
 * | null, bool, string, double | null, boolean, string, number |
 * | int | bigint |
 * | uint, timestamp, duration, type, optional | `Uint`, `Timestamp`, `Duration`, `TypeValue`, `Optional` |
 * | bytes | Uint8Array |
 * | list, map and object | `ListValue`, `MapValue` |
 * | types of libraries | `Opaque` |
 *
 * A `Fault` is a value, too: an error is carried on until an operator such as `||` makes it irrelevant.
 */
import * as Types from "./Types.ts"

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | ListValue
  | MapValue
  | Opaque
  | Fault

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** Nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint
  /** The UTC offset in which it was written, in minutes; only its text depends on it. */
  readonly offset: number
  constructor(nanos: bigint, offset = 0) {
    this.nanos = nanos
    this.offset = offset
  }
}

export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A type as a value: `type(1) == int`. */
export class TypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export class Optional {
  /** `undefined`: no value. */
  readonly value: Value | undefined
  constructor(value: Value | undefined) {
    this.value = value
  }
}

export const none = new Optional(undefined)

/** An error, in the server's words. */
export class Fault {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

export const fault = (message: string): Fault => new Fault(message)
export const noSuchOverload = new Fault("no such overload")

/** A list, whatever its representation. */
export abstract class ListValue {
  abstract readonly size: number
  /** The item at a valid index. */
  abstract at(index: number): Value

  toArray(): ReadonlyArray<Value> {
    return Array.from({ length: this.size }, (_, index) => this.at(index))
  }
}

/** A map or an object. */
export abstract class MapValue {
  abstract readonly size: number
  abstract find(key: Value): Value | undefined
  abstract keys(): ReadonlyArray<Value>
}

/** A value of a library's type. `data` is compared by `text`. */
export class Opaque<A = unknown> {
  readonly type: Types.Type
  readonly data: A
  /** Equal for equal values. */
  readonly text: string
  constructor(type: Types.Type, data: A, text: string) {
    this.type = type
    this.data = data
    this.text = text
  }
}

export class ArrayList extends ListValue {
  private readonly items: ReadonlyArray<Value>
  constructor(items: ReadonlyArray<Value>) {
    super()
    this.items = items
  }
  get size(): number {
    return this.items.length
  }
  at(index: number): Value {
    return this.items[index]!
  }
  override toArray(): ReadonlyArray<Value> {
    return this.items
  }
}

/** A list to which folds append without copying earlier items each time. */
export class GrowingList extends ListValue {
  private readonly items: Array<Value>
  readonly size: number
  constructor(items: Array<Value>, size: number) {
    super()
    this.items = items
    this.size = size
  }
  at(index: number): Value {
    return this.items[index]!
  }
  /** Appends to the underlying array if this list ends where the array does; copies it otherwise. */
  append(more: ListValue): GrowingList {
    const items = this.items.length === this.size ? this.items : this.items.slice(0, this.size)
    for (let index = 0; index < more.size; index++) items.push(more.at(index))
    return new GrowingList(items, this.size + more.size)
  }
}

/** The text by which a key is found; equal numbers of all types have the same one. */
export const keyText = (key: Value): string | undefined => {
  switch (typeof key) {
    case "string":
      return `s${key}`
    case "bigint":
      return `n${key}`
    case "boolean":
      return `b${key}`
    case "number":
      return Number.isInteger(key) ? `n${BigInt(key)}` : `n${key}`
    default:
      return key instanceof Uint ? `n${key.value}` : undefined
  }
}

/** A map that an expression created. */
export class EntryMap extends MapValue {
  private readonly entries: ReadonlyMap<string, readonly [key: Value, value: Value]>
  constructor(entries: ReadonlyMap<string, readonly [key: Value, value: Value]>) {
    super()
    this.entries = entries
  }
  get size(): number {
    return this.entries.size
  }
  find(key: Value): Value | undefined {
    const text = keyText(key)
    return text === undefined ? undefined : this.entries.get(text)?.[1]
  }
  keys(): ReadonlyArray<Value> {
    return Array.from(this.entries.values(), ([key]) => key)
  }
  /** With an additional entry; the key must be new. */
  insert(key: Value, value: Value): EntryMap | Fault {
    const text = keyText(key)
    if (text === undefined) return fault(`unsupported key type: ${typeName(key)}`)
    if (this.entries.has(text)) return fault(`insert failed: key ${show(key)} already exists`)
    return new EntryMap(new Map(this.entries).set(text, [key, value]))
  }
}

export const emptyMap = new EntryMap(new Map())

/** An object of a declared type that an expression created. */
export class ObjectValue extends MapValue {
  readonly type: string
  readonly fields: ReadonlyMap<string, Value>
  constructor(type: string, fields: ReadonlyMap<string, Value>) {
    super()
    this.type = type
    this.fields = fields
  }
  get size(): number {
    return this.fields.size
  }
  find(key: Value): Value | undefined {
    return typeof key === "string" ? this.fields.get(key) : undefined
  }
  keys(): ReadonlyArray<Value> {
    return [...this.fields.keys()]
  }
}

export const list = (items: ReadonlyArray<Value>): ListValue => new ArrayList(items)

/** The type of a value, without the types of its contents. */
export const typeOf = (value: Value): Types.Type => {
  switch (typeof value) {
    case "string":
      return Types.string
    case "bigint":
      return Types.int
    case "boolean":
      return Types.bool
    case "number":
      return Types.double
  }
  if (value === null) return Types.nullType
  if (value instanceof ListValue) return anyList
  if (value instanceof ObjectValue) return Types.struct(value.type)
  if (value instanceof MapValue) return anyMap
  if (value instanceof Uint) return Types.uint
  if (value instanceof Timestamp) return Types.timestamp
  if (value instanceof Duration) return Types.duration
  if (value instanceof Uint8Array) return Types.bytes
  if (value instanceof TypeValue) return Types.typeType
  if (value instanceof Optional) return anyOptional
  return value instanceof Opaque ? value.type : Types.error
}

const anyList = Types.list(Types.dyn)
const anyMap = Types.map(Types.dyn, Types.dyn)
const anyOptional = Types.optional(Types.dyn)

export const typeName = (value: Value): string => typeOf(value).name

const utf8 = new TextEncoder()

/** The number of code points in a string. */
export const codePoints = (text: string): number => {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code < 0xdc00) {
      const low = text.charCodeAt(index + 1)
      if (low >= 0xdc00 && low < 0xe000) {
        count--
        index++
      }
    }
  }
  return count
}

/** The length of a string in UTF-8 bytes. */
export const byteLength = (text: string): number => utf8.encode(text).length

/** The result of `size()`; undefined for a value without a size. */
export const sizeOf = (value: Value): number | undefined => {
  if (typeof value === "string") return codePoints(value)
  if (value instanceof ListValue || value instanceof MapValue) return value.size
  return value instanceof Uint8Array ? value.length : undefined
}

/** A value in an error message. */
export const show = (value: Value): string => {
  if (value instanceof Uint) return String(value.value)
  if (value instanceof ListValue) return `[${value.toArray().map(show).join(", ")}]`
  return value instanceof Opaque ? value.text : String(value)
}
