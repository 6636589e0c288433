/**
 * `StandardLibrary`: the operators and functions of the language itself.
 *
 * The order of overloads matters: if several match, the first determines the result type, unless another one differs.
 *
 * Source: github.com/google/cel-go/common/stdlib/standard.go.
 */
import * as GoMatch from "../schema/GoMatch.ts"
import * as Result from "effect/Result"
import * as Conversions from "./Conversions.ts"
import { define, type FunctionDeclaration, operator, overload } from "./Functions.ts"
import * as Operators from "./Operators.ts"
import * as Time from "./Time.ts"
import {
  Duration,
  Fault,
  fault,
  ListValue,
  MapValue,
  noSuchOverload,
  sizeOf,
  Timestamp,
  typeOf,
  TypeValue,
  Uint,
  type Value
} from "./Values.ts"

const isNumber = (value: Value): boolean =>
  typeof value === "bigint" || typeof value === "number" || value instanceof Uint
const isText = (value: Value): boolean => typeof value === "string" || value instanceof Uint8Array
const isTime = (value: Value): boolean => value instanceof Timestamp || value instanceof Duration

const isAdder = (value: Value): boolean =>
  isNumber(value) || isText(value) || isTime(value) || value instanceof ListValue
const isSubtractor = (value: Value): boolean => isNumber(value) || isTime(value)
const isInteger = (value: Value): boolean => typeof value === "bigint" || value instanceof Uint
const isNegatable = (value: Value): boolean =>
  typeof value === "bigint" || typeof value === "number" || typeof value === "boolean" || value instanceof Duration
const isOrdered = (value: Value): boolean =>
  isNumber(value) || isText(value) || isTime(value) || typeof value === "boolean"

const all = (types: ReadonlyArray<string>, suffix: string): Record<string, string> =>
  Object.fromEntries(types.map((type) => [`${suffix}_${ids[type] ?? type}`, `(${type}, ${type}) ${type}`]))

/** The names of types in overload ids. */
const ids: Readonly<Record<string, string>> = { int: "int64", uint: "uint64" }

/** Ordered types, in the order of the overloads, with the types they can be compared to. */
const ordered: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["bool", ["bool"]],
  ["int", ["int", "double", "uint"]],
  ["uint", ["uint", "double", "int"]],
  ["double", ["double", "int", "uint"]],
  ["string", ["string"]],
  ["bytes", ["bytes"]],
  ["timestamp", ["timestamp"]],
  ["duration", ["duration"]]
]

const comparison = (
  name: string,
  prefix: string,
  holds: (order: number) => boolean
): FunctionDeclaration => {
  const signatures = ordered.flatMap(([left, rights]) =>
    rights.map((right) => {
      const id = left === right ? ids[left] ?? left : `${ids[left] ?? left}_${ids[right] ?? right}`
      return [`${prefix}_${id}`, `(${left}, ${right}) bool`] as const
    })
  )
  const run = (a: Value, b: Value): Value => {
    const order = Operators.compare(a, b)
    return order instanceof Fault ? order : holds(order)
  }
  return operator(name, run as (...args: ReadonlyArray<Value>) => Value, Object.fromEntries(signatures), isOrdered)
}

const binary = (run: (a: Value, b: Value) => Value) => run as (...args: ReadonlyArray<Value>) => Value
const unary = (run: (a: Value) => Value) => run as (...args: ReadonlyArray<Value>) => Value

const not = (value: Value): Value => typeof value === "boolean" ? !value : noSuchOverload

const index = (container: Value, key: Value): Value => {
  if (!(container instanceof MapValue)) return noSuchOverload
  const found = container.find(key)
  return found === undefined ? fault(`no such key: ${String(key)}`) : found
}

/** Whether the text contains a match of the pattern, by Go's rules. */
export const matches = (text: Value, pattern: Value): Value => {
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload
  const found = GoMatch.matches(pattern, text)
  return Result.isSuccess(found) ? found.success : fault(found.failure)
}

const textual = (test: (text: string, other: string) => boolean) =>
  binary((text, other) => typeof text === "string" && typeof other === "string" ? test(text, other) : noSuchOverload)

const size = (value: Value): Value => BigInt(sizeOf(value)!)

const conversion = (
  name: string,
  to: (value: Value) => Value,
  signatures: ReadonlyArray<readonly [id: string, from: string]>
): FunctionDeclaration => define(name, ...signatures.map(([id, from]) => overload(id, `(${from}) ${name}`, to)))

/** Overload ids of the functions that return a part of a timestamp. */
const partIds: Readonly<Record<string, string>> = {
  getFullYear: "timestamp_to_year",
  getMonth: "timestamp_to_month",
  getDayOfYear: "timestamp_to_day_of_year",
  getDayOfMonth: "timestamp_to_day_of_month",
  getDate: "timestamp_to_day_of_month_1_based",
  getDayOfWeek: "timestamp_to_day_of_week",
  getHours: "timestamp_to_hours",
  getMinutes: "timestamp_to_minutes",
  getSeconds: "timestamp_to_seconds",
  getMilliseconds: "timestamp_to_milliseconds"
}

const parts = Object.entries(partIds).map(([name, id]) => {
  const unit = Time.durationParts[name]
  return define(
    name,
    overload(id, "timestamp.() int", (at: Timestamp) => Time.timestampPart(name, at)),
    overload(
      `${id}_with_tz`,
      "timestamp.(string) int",
      (at: Timestamp, zone: string) => Time.timestampPart(name, at, zone)
    ),
    ...(unit === undefined
      ? []
      : [
        overload(id.replace("timestamp", "duration"), "duration.() int", (length: Duration) => length.nanos / unit)
      ])
  )
})

const unreachable = (): Value => noSuchOverload

export const standardLibrary: ReadonlyArray<FunctionDeclaration> = [
  // The evaluator implements these itself.
  operator("_?_:_", unreachable, { conditional: "(bool, A, A) A" }),
  operator("_&&_", unreachable, { logical_and: "(bool, bool) bool" }),
  operator("_||_", unreachable, { logical_or: "(bool, bool) bool" }),
  operator("@not_strictly_false", unreachable, { not_strictly_false: "(bool) bool" }),
  operator("_==_", unreachable, { equals: "(A, A) bool" }),
  operator("_!=_", unreachable, { not_equals: "(A, A) bool" }),
  operator("!_", unary(not), { logical_not: "(bool) bool" }),
  operator("_+_", binary(Operators.add), {
    add_bytes: "(bytes, bytes) bytes",
    add_double: "(double, double) double",
    add_duration_duration: "(duration, duration) duration",
    add_duration_timestamp: "(duration, timestamp) timestamp",
    add_timestamp_duration: "(timestamp, duration) timestamp",
    add_int64: "(int, int) int",
    add_list: "(list<A>, list<A>) list<A>",
    add_string: "(string, string) string",
    add_uint64: "(uint, uint) uint"
  }, isAdder),
  operator("_/_", binary(Operators.divide), all(["double", "int", "uint"], "divide"), isNumber),
  operator("_%_", binary(Operators.modulo), all(["int", "uint"], "modulo"), isInteger),
  operator("_*_", binary(Operators.multiply), all(["double", "int", "uint"], "multiply"), isNumber),
  operator("-_", unary(Operators.negate), {
    negate_double: "(double) double",
    negate_int64: "(int) int"
  }, isNegatable),
  operator("_-_", binary(Operators.subtract), {
    subtract_double: "(double, double) double",
    subtract_duration_duration: "(duration, duration) duration",
    subtract_int64: "(int, int) int",
    subtract_timestamp_duration: "(timestamp, duration) timestamp",
    subtract_timestamp_timestamp: "(timestamp, timestamp) duration",
    subtract_uint64: "(uint, uint) uint"
  }, isSubtractor),
  comparison("_<_", "less", (order) => order < 0),
  comparison("_<=_", "less_equals", (order) => order <= 0),
  comparison("_>_", "greater", (order) => order > 0),
  comparison("_>=_", "greater_equals", (order) => order >= 0),
  operator("_[_]", binary(index), { index_list: "(list<A>, int) A", index_map: "(map<A, B>, A) B" }),
  operator("@in", binary(Operators.contains), { in_list: "(A, list<A>) bool", in_map: "(A, map<A, B>) bool" }),
  operator("size", unary(size), {
    size_bytes: "(bytes) int",
    bytes_size: "bytes.() int",
    size_list: "(list<A>) int",
    list_size: "list<A>.() int",
    size_map: "(map<A, B>) int",
    map_size: "map<A, B>.() int",
    size_string: "(string) int",
    string_size: "string.() int"
  }, (value) => sizeOf(value) !== undefined),
  operator("type", unary((value) => new TypeValue(typeOf(value).name)), { type: "(A) type<A>" }),
  conversion("bool", Conversions.toBool, [["bool_to_bool", "bool"], ["string_to_bool", "string"]]),
  conversion("bytes", Conversions.toBytes, [["bytes_to_bytes", "bytes"], ["string_to_bytes", "string"]]),
  conversion("double", Conversions.toDouble, [
    ["double_to_double", "double"],
    ["int64_to_double", "int"],
    ["string_to_double", "string"],
    ["uint64_to_double", "uint"]
  ]),
  conversion("duration", Conversions.toDuration, [
    ["duration_to_duration", "duration"],
    ["int64_to_duration", "int"],
    ["string_to_duration", "string"]
  ]),
  operator("dyn", unary((value) => value), { to_dyn: "(A) dyn" }),
  conversion("int", Conversions.toInt, [
    ["int64_to_int64", "int"],
    ["double_to_int64", "double"],
    ["duration_to_int64", "duration"],
    ["string_to_int64", "string"],
    ["timestamp_to_int64", "timestamp"],
    ["uint64_to_int64", "uint"]
  ]),
  conversion("string", Conversions.toText, [
    ["string_to_string", "string"],
    ["bool_to_string", "bool"],
    ["bytes_to_string", "bytes"],
    ["double_to_string", "double"],
    ["duration_to_string", "duration"],
    ["int64_to_string", "int"],
    ["timestamp_to_string", "timestamp"],
    ["uint64_to_string", "uint"]
  ]),
  conversion("timestamp", Conversions.toTimestamp, [
    ["timestamp_to_timestamp", "timestamp"],
    ["int64_to_timestamp", "int"],
    ["string_to_timestamp", "string"]
  ]),
  conversion("uint", Conversions.toUint, [
    ["uint64_to_uint64", "uint"],
    ["double_to_uint64", "double"],
    ["int64_to_uint64", "int"],
    ["string_to_uint64", "string"]
  ]),
  operator("contains", textual((text, part) => text.includes(part)), { contains_string: "string.(string) bool" }),
  operator("endsWith", textual((text, end) => text.endsWith(end)), { ends_with_string: "string.(string) bool" }),
  operator("startsWith", textual((text, start) => text.startsWith(start)), {
    starts_with_string: "string.(string) bool"
  }),
  operator("matches", binary(matches), {
    matches: "(string, string) bool",
    matches_string: "string.(string) bool"
  }, (value) => typeof value === "string"),
  ...parts
]

/** Functions that are evaluated at compile time for literals. */
export const conversions: ReadonlySet<string> = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint"
])
