/**
 * `Lists`: functions of lists: `sum`, `min`, `max`, `isSorted`, `indexOf`, `lastIndexOf`, `slice`, `flatten`, `sort`,
 * `distinct`, `reverse`, `lists.range`, `first`, `last`, and `sets.*`.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/lists.go, github.com/google/cel-go/ext/{lists,sets}.go.
 */
import { define, type FunctionDeclaration, operator, type Overload, overload } from "../Functions.ts"
import * as Operators from "../Operators.ts"
import {
  Duration,
  Fault,
  fault,
  list,
  ListValue,
  none,
  noSuchOverload,
  Optional,
  typeName,
  typeOf,
  Uint,
  type Value
} from "../Values.ts"

/** Ordered types. */
const comparable = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"]
/** Types with a sum, and the sum of an empty list. */
const summable: Readonly<Record<string, Value>> = { int: 0n, uint: new Uint(0n), double: 0, duration: new Duration(0n) }

const isSorted = (items: ListValue): Value => {
  for (let index = 1; index < items.size; index++) {
    const order = Operators.compare(items.at(index - 1), items.at(index))
    if (order instanceof Fault) return order
    if (order > 0) return false
  }
  return true
}

const sum = (zero: Value) => (items: ListValue): Value => {
  let total = zero
  for (let index = 0; index < items.size; index++) {
    total = Operators.add(total, items.at(index))
    if (total instanceof Fault) return total
  }
  return total
}

/** The minimum (`sign` 1) or maximum of a list. */
const extreme = (name: string, sign: 1 | -1) => (items: ListValue): Value => {
  if (items.size === 0) return fault(`${name} called on empty list`)
  let found = items.at(0)
  for (let index = 1; index < items.size; index++) {
    const order = Operators.compare(found, items.at(index))
    if (order instanceof Fault) return order
    if (order * sign > 0) found = items.at(index)
  }
  return found
}

const indexOf = (items: ListValue, item: Value): Value =>
  BigInt(items.toArray().findIndex((other) => Operators.equals(other, item) === true))

const lastIndexOf = (items: ListValue, item: Value): Value =>
  BigInt(items.toArray().findLastIndex((other) => Operators.equals(other, item) === true))

const slice = (items: ListValue, start: bigint, end: bigint): Value => {
  const refused = (why: string) => fault(`cannot slice(${start}, ${end}), ${why}`)
  if (start < 0n || end < 0n) return refused("negative indexes not supported")
  if (start > end) return refused("start index must be less than or equal to end index")
  return items.size < end
    ? refused(`list is length ${items.size}`)
    : list(items.toArray().slice(Number(start), Number(end)))
}

const flattened = (items: ListValue, depth: number): ReadonlyArray<Value> =>
  items.toArray().flatMap((item) => item instanceof ListValue && depth > 0 ? flattened(item, depth - 1) : [item])

/** Accepts any value, because the contents of a dynamic list are not checked before the call. */
const flatten = (items: Value, depth?: Value): Value =>
  !(items instanceof ListValue) || (depth !== undefined && typeof depth !== "bigint")
    ? fault(`no such overload: ${typeName(items)}.flatten(${depth === undefined ? "" : typeName(depth)})`)
    : depth !== undefined && depth < 0n
    ? fault("level must be non-negative")
    : list(flattened(items, Number(depth ?? 1n)))

const distinct = (items: ListValue): Value => {
  const found: Array<Value> = []
  for (const item of items.toArray()) {
    if (!found.some((other) => Operators.equals(item, other) === true)) found.push(item)
  }
  return list(found)
}

const sortByKeys = (items: ListValue, keys: ListValue): Value => {
  if (items.size !== keys.size) {
    return fault(
      "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
        `${items.size} and ${keys.size} elements respectively`
    )
  }
  if (items.size === 0) return items
  const values = keys.toArray()
  if (Operators.compare(values[0]!, values[0]!) instanceof Fault) return fault("list elements must be comparable")
  const kind = typeOf(values[0]!).kind
  if (values.some((value) => typeOf(value).kind !== kind)) return fault("list elements must have the same type")
  const order = values.map((_, index) => index).sort((a, b) => {
    const sign = Operators.compare(values[a]!, values[b]!)
    return sign instanceof Fault ? 0 : sign
  })
  return list(order.map((index) => items.at(index)))
}

const sort = (items: Value, keys: Value = items): Value =>
  items instanceof ListValue && keys instanceof ListValue ? sortByKeys(items, keys) : noSuchOverload

const end = (at: 0 | -1) => (items: ListValue): Value =>
  items.size === 0 ? none : new Optional(items.at(at === 0 ? 0 : items.size - 1))

const containsAll = (items: ListValue, wanted: ListValue): Value => {
  for (const item of wanted.toArray()) {
    const found = Operators.contains(item, items)
    if (found !== true) return found
  }
  return true
}

const equivalent = (a: ListValue, b: ListValue): Value => {
  const found = containsAll(a, b)
  return found === true ? containsAll(b, a) : found
}

const intersects = (a: ListValue, b: ListValue): Value =>
  a.toArray().some((item) => Operators.contains(item, b) === true)

const each = (make: (type: string) => Overload, types: ReadonlyArray<string> = comparable) => types.map(make)

/** The names of types in overload ids. */
const idOf: Readonly<Record<string, string>> = {
  duration: "google.protobuf.Duration",
  timestamp: "google.protobuf.Timestamp"
}

const signatures = (suffix: string, signature: (type: string) => string): Record<string, string> =>
  Object.fromEntries(comparable.map((type) => [`list_${idOf[type] ?? type}_${suffix}`, signature(type)]))

const isList = (value: Value): boolean => value instanceof ListValue

export const lists: ReadonlyArray<FunctionDeclaration> = [
  define("isSorted", ...each((type) => overload(`list_${type}_is_sorted_bool`, `list<${type}>.() bool`, isSorted))),
  define(
    "sum",
    ...each(
      (type) => overload(`list_${type}_sum_${type}`, `list<${type}>.() ${type}`, sum(summable[type]!)),
      Object.keys(summable)
    )
  ),
  define(
    "max",
    ...each((type) => overload(`list_${type}_max_${type}`, `list<${type}>.() ${type}`, extreme("max", -1)))
  ),
  define("min", ...each((type) => overload(`list_${type}_min_${type}`, `list<${type}>.() ${type}`, extreme("min", 1)))),
  define("indexOf", overload("list_a_index_of_int", "list<A>.(A) int", indexOf)),
  define("lastIndexOf", overload("list_a_last_index_of_int", "list<A>.(A) int", lastIndexOf)),
  define("slice", overload("list_slice", "list<T>.(int, int) list<T>", slice)),
  operator("flatten", flatten, {
    list_flatten: "list<list<T>>.() list<T>",
    list_flatten_int: "list<dyn>.(int) list<dyn>"
  }),
  operator("sort", sort, signatures("sort", (type) => `list<${type}>.() list<${type}>`), isList),
  operator(
    "@sortByAssociatedKeys",
    sort,
    signatures("sortByAssociatedKeys", (type) => `list<T>.(list<${type}>) list<T>`),
    isList
  ),
  define(
    "lists.range",
    overload(
      "lists_range",
      "(int) list<int>",
      (count: bigint) => list(Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)))
    )
  ),
  define(
    "reverse",
    overload("list_reverse", "list<T>.() list<T>", (items: ListValue) => list(items.toArray().toReversed()))
  ),
  define("distinct", overload("list_distinct", "list<T>.() list<T>", distinct)),
  define("last", overload("list_last", "list<V>.() optional<V>", end(-1))),
  define("first", overload("list_first", "list<V>.() optional<V>", end(0))),
  define("sets.contains", overload("list_sets_contains_list", "(list<T>, list<T>) bool", containsAll)),
  define("sets.equivalent", overload("list_sets_equivalent_list", "(list<T>, list<T>) bool", equivalent)),
  define("sets.intersects", overload("list_sets_intersects_list", "(list<T>, list<T>) bool", intersects))
]
