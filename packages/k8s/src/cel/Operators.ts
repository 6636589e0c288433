/**
 * `Operators`: equality, order and arithmetic of values.
 *
 * Values of different types are unequal, except numbers, which are compared by value. Order exists within a type and
 * between numbers. Integers have 64 bits, and overflow is a fault; division by zero is a fault only for integers.
 *
 * Source: github.com/google/cel-go/common/types.
 */
import {
  Duration,
  Fault,
  fault,
  GrowingList,
  ListValue,
  MapValue,
  noSuchOverload,
  ObjectValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value
} from "./Values.ts"

/** A list or map with its own equality or addition, such as a list of type set. */
export interface Special {
  equalsTo(other: Value): boolean | Fault
  plus?(other: ListValue): Value
}

const isSpecial = (value: Value): value is Value & Special =>
  typeof value === "object" && value !== null && "equalsTo" in value

const isNumber = (value: Value): value is bigint | number | Uint =>
  typeof value === "bigint" || typeof value === "number" || value instanceof Uint

const plain = (value: bigint | number | Uint): bigint | number => value instanceof Uint ? value.value : value

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])

/** `a == b`. */
export const equals = (a: Value, b: Value): boolean | Fault => {
  if (a instanceof Fault) return a
  if (b instanceof Fault) return b
  if (a === null || b === null) return a === b
  if (typeof a === typeof b && typeof a !== "object") return a === b
  // JavaScript compares bigint and number by value as well.
  if (isNumber(a)) return isNumber(b) && plain(a) == plain(b)
  if (typeof a !== "object") return false
  if (isSpecial(a)) return a.equalsTo(b)
  if (a instanceof ListValue) return b instanceof ListValue && listsEqual(a, b)
  if (a instanceof MapValue) return b instanceof MapValue && mapsEqual(a, b)
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && sameBytes(a, b)
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof Opaque) {
    return b instanceof Opaque && a.type.name === b.type.name ? a.text === b.text : noSuchOverload
  }
  if (!(a instanceof Optional) || !(b instanceof Optional)) return false
  return a.value === undefined || b.value === undefined ? a.value === b.value : equals(a.value, b.value)
}

/** Items that cannot be compared do not make two lists unequal. */
export const listsEqual = (a: ListValue, b: ListValue): boolean => {
  if (a.size !== b.size) return false
  for (let index = 0; index < a.size; index++) {
    if (equals(a.at(index), b.at(index)) === false) return false
  }
  return true
}

const mapsEqual = (a: MapValue, b: MapValue): boolean => {
  if (a.size !== b.size) return false
  if (a instanceof ObjectValue && b instanceof ObjectValue && a.type !== b.type) return false
  for (const key of a.keys()) {
    const other = b.find(key)
    if (other === undefined) return false
    if (equals(a.find(key)!, other) === false) return false
  }
  return true
}

const sign = (less: boolean, same: boolean): number => less ? -1 : same ? 0 : 1

const orderBytes = (a: Uint8Array, b: Uint8Array): number => {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    if (a[index] !== b[index]) return a[index]! < b[index]! ? -1 : 1
  }
  return a.length - b.length
}

/** By code point, which is equivalent to Go's comparison of bytes. */
export const orderStrings = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left !== right) {
      const high = (code: number) => code >= 0xd800 && code < 0xe000 ? code + 0x10000 : code
      return high(left) - high(right)
    }
  }
  return a.length - b.length
}

/** Negative, zero or positive; a fault if the values have no order. */
export const compare = (a: Value, b: Value): number | Fault => {
  if (a instanceof Fault) return a
  if (b instanceof Fault) return b
  if (isNumber(a) && isNumber(b)) {
    const left = plain(a)
    const right = plain(b)
    if (Number.isNaN(left) || Number.isNaN(right)) return fault("NaN values cannot be ordered")
    return sign(left < right, left == right)
  }
  if (typeof a === "string" && typeof b === "string") return orderStrings(a, b)
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b)
  if (a instanceof Timestamp && b instanceof Timestamp) return sign(a.nanos < b.nanos, a.nanos === b.nanos)
  if (a instanceof Duration && b instanceof Duration) return sign(a.nanos < b.nanos, a.nanos === b.nanos)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return orderBytes(a, b)
  return noSuchOverload
}

const minInt = -(2n ** 63n)
const maxInt = 2n ** 63n - 1n
const maxUint = 2n ** 64n - 1n
const minTime = -62135596800n * 1_000_000_000n
const maxTime = 253402300800n * 1_000_000_000n - 1n

export const isInt = (value: bigint): boolean => value >= minInt && value <= maxInt
export const isUint = (value: bigint): boolean => value >= 0n && value <= maxUint

export const int = (value: bigint): Value => isInt(value) ? value : fault("integer overflow")
export const uint = (value: bigint): Value => isUint(value) ? new Uint(value) : fault("unsigned integer overflow")
export const duration = (nanos: bigint): Value => isInt(nanos) ? new Duration(nanos) : fault("integer overflow")
export const timestamp = (nanos: bigint, offset = 0): Value =>
  nanos >= minTime && nanos <= maxTime ? new Timestamp(nanos, offset) : fault("timestamp overflow")

type Binary = (a: Value, b: Value) => Value

const concatBytes = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}

export const add: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a + b)
  if (typeof a === "string" && typeof b === "string") return a + b
  if (typeof a === "number" && typeof b === "number") return a + b
  if (a instanceof ListValue && b instanceof ListValue) return concat(a, b)
  if (a instanceof Uint && b instanceof Uint) return uint(a.value + b.value)
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos + b.nanos)
  if (a instanceof Duration && b instanceof Timestamp) return timestamp(a.nanos + b.nanos, b.offset)
  if (a instanceof Timestamp && b instanceof Duration) return timestamp(a.nanos + b.nanos, a.offset)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return concatBytes(a, b)
  return noSuchOverload
}

const concat = (a: ListValue, b: ListValue): Value => {
  if (isSpecial(a) && a.plus !== undefined) return a.plus(b)
  if (a.size === 0 && !(b instanceof GrowingList)) return new GrowingList([...b.toArray()], b.size)
  return a instanceof GrowingList ? a.append(b) : new GrowingList([...a.toArray(), ...b.toArray()], a.size + b.size)
}

export const subtract: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a - b)
  if (typeof a === "number" && typeof b === "number") return a - b
  if (a instanceof Uint && b instanceof Uint) return uint(a.value - b.value)
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos - b.nanos)
  if (a instanceof Timestamp && b instanceof Duration) return timestamp(a.nanos - b.nanos, a.offset)
  if (a instanceof Timestamp && b instanceof Timestamp) return duration(a.nanos - b.nanos)
  return noSuchOverload
}

export const multiply: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a * b)
  if (typeof a === "number" && typeof b === "number") return a * b
  return a instanceof Uint && b instanceof Uint ? uint(a.value * b.value) : noSuchOverload
}

export const divide: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return b === 0n ? fault("division by zero") : int(a / b)
  if (typeof a === "number" && typeof b === "number") return a / b
  if (!(a instanceof Uint) || !(b instanceof Uint)) return noSuchOverload
  return b.value === 0n ? fault("division by zero") : uint(a.value / b.value)
}

export const modulo: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") {
    return b === 0n ? fault("modulus by zero") : a === minInt && b === -1n ? fault("integer overflow") : a % b
  }
  if (!(a instanceof Uint) || !(b instanceof Uint)) return noSuchOverload
  return b.value === 0n ? fault("modulus by zero") : uint(a.value % b.value)
}

export const negate = (a: Value): Value =>
  typeof a === "bigint"
    ? int(-a)
    : typeof a === "number"
    ? -a
    : a instanceof Duration
    ? duration(-a.nanos)
    : noSuchOverload

/** `item in list` or `key in map`. */
export const contains = (item: Value, container: Value): Value => {
  if (container instanceof MapValue) {
    const found = container.find(item)
    return found instanceof Fault ? found : found !== undefined
  }
  if (!(container instanceof ListValue)) return noSuchOverload
  for (let index = 0; index < container.size; index++) if (equals(item, container.at(index)) === true) return true
  return false
}
