/**
 * `CallCost`: the run-time cost of function calls.
 *
 * Most calls cost one. Traversing a string costs a tenth of its length, and matching a regular expression that times a
 * quarter of the expression's length. Functions of lists and of libraries have rules of their own. `StaticCost`
 * estimates costs in advance.
 *
 * Source: github.com/google/cel-go/interpreter/runtimecost.go, k8s.io/apiserver/pkg/cel/library/cost.go and
 * github.com/google/cel-go/ext/{sets,lists}.go.
 */
import { byteLength, ListValue, MapValue, Opaque, Optional, sizeOf, typeOf, type Value } from "./Values.ts"

/** Computes the cost of a call from its arguments and its result. */
export type RunTimeCost = (args: ReadonlyArray<Value>, result: Value) => number

/** The cost of traversing a character. */
export const traversal = 0.1
/** The cost of a character of a regular expression. */
export const regexFactor = 0.25
/** The cost of a call to the authorizer. */
export const authorization = 350_000

/** The size on which costs depend; one for a value without a size. */
export const actualSize = (value: Value | undefined): number => {
  if (value === undefined) return 1
  if (value instanceof Optional && value.value !== undefined) return actualSize(value.value)
  if (value instanceof Opaque && hasSize(value)) return value.data.size
  return sizeOf(value) ?? 1
}

const hasSize = (value: Opaque): value is Opaque<{ readonly size: number }> =>
  typeof value.data === "object" && value.data !== null && "size" in value.data

const one: RunTimeCost = () => 1

const ceilSize = (factor: number, position = 0): RunTimeCost => (args) => Math.ceil(actualSize(args[position]) * factor)

/** The cost of traversing everything in a value. */
const traversalCost = (value: Value): number => {
  if (typeof value === "string") return Math.floor(byteLength(value) * traversal)
  if (value instanceof Uint8Array) return Math.floor(value.length * traversal)
  if (value instanceof ListValue) return value.toArray().reduce<number>((cost, item) => cost + traversalCost(item), 0)
  if (value instanceof MapValue) {
    return value.keys().reduce<number>(
      (cost, key) => cost + traversalCost(key) + traversalCost(value.find(key) ?? null),
      0
    )
  }
  return 1
}

const smaller: RunTimeCost = ([a, b]) => Math.ceil(Math.min(actualSize(a), actualSize(b)) * traversal)

const regex = (text: Value | undefined, length: number): number =>
  Math.ceil((1 + actualSize(text)) * traversal) * Math.ceil(length * regexFactor)

const matching: RunTimeCost = ([text, pattern]) => regex(text, actualSize(pattern))

const product: RunTimeCost = ([a, b]) => Math.ceil(actualSize(a) * traversal) * Math.ceil(actualSize(b) * traversal)

const joined: RunTimeCost = ([a, b]) => Math.ceil((actualSize(a) + actualSize(b)) * traversal)

const selector: RunTimeCost = ([, text]) => {
  const length = actualSize(text)
  return 10 + Math.ceil(length * traversal) + Math.ceil(Math.ceil(length * 0.5) * 50)
}

const allocating = (factor: number, size: number): number => Math.floor(size * factor) + 1 + 10

const selfCompare = (position: number): RunTimeCost => (args) => {
  const list = args[position]
  if (!(list instanceof ListValue)) return 1
  const first = list.size === 0 ? undefined : typeOf(list.at(0)).kind
  return allocating(2 + (first === "string" || first === "bytes" ? traversal : 0), list.size * list.size)
}

const flatten: RunTimeCost = ([list, depth]) =>
  allocating(typeof depth === "bigint" ? Number(depth) : 1, actualSize(list))

const resultSize: RunTimeCost = (_, result) => allocating(1, actualSize(result))

const sets = (factor: number): RunTimeCost => ([a, b]) => 1 + Math.floor(actualSize(a) * actualSize(b) * factor)

const contains = (extra: boolean, again: boolean): RunTimeCost => ([cidr, other]) => {
  const size = actualSize(cidr)
  return Math.ceil(2 * size * traversal) + (again ? Math.ceil(size * traversal) + 1 : 0) +
    (extra ? Math.ceil(actualSize(other) * traversal) : 0)
}

const validate: RunTimeCost = ([format, text]) => {
  const size = format instanceof Opaque ? (format.data as { readonly regexSize: number }).regexSize : 0
  return regex(text, size)
}

const equality: RunTimeCost = (args, result) => args[0] instanceof Opaque ? 1 : smaller(args, result)

const byFunction: Readonly<Record<string, RunTimeCost>> = {
  check: () => authorization,
  fieldSelector: selector,
  labelSelector: selector,
  ...Object.fromEntries(
    ["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"].map((name) => [
      name,
      ([list]: ReadonlyArray<Value>) => list === undefined ? 0 : traversalCost(list)
    ])
  ),
  ...Object.fromEntries(
    [
      "url",
      "lowerAscii",
      "upperAscii",
      "substring",
      "trim",
      "jsonpatch.escapeKey",
      "cidr",
      "isIP",
      "isCIDR",
      "quantity",
      "isQuantity",
      "semver",
      "isSemver"
    ].map((name) => [name, ceilSize(traversal)])
  ),
  replace: ceilSize(2 * traversal),
  split: ceilSize(2 * traversal),
  "ip.isCanonical": ceilSize(2 * traversal),
  join: (_, result) => Math.ceil(actualSize(result) * 2 * traversal),
  find: matching,
  findAll: matching,
  validate,
  "_==_": equality
}

const byOverload: Readonly<Record<string, RunTimeCost>> = {
  string_to_ip: ceilSize(traversal),
  cidr_contains_ip_string: contains(true, false),
  cidr_contains_ip_ip: contains(false, false),
  cidr_contains_cidr_string: contains(true, true),
  cidr_contains_cidr: contains(false, true),
  starts_with_string: ceilSize(traversal),
  ends_with_string: ceilSize(traversal),
  string_to_bytes: ceilSize(traversal),
  bytes_to_string: ceilSize(traversal),
  strings_quote: ceilSize(traversal),
  string_format: ceilSize(traversal),
  in_list: (args) => actualSize(args[1]),
  add_string: joined,
  add_bytes: joined,
  matches_string: matching,
  contains_string: product,
  not_equals: smaller,
  list_slice: resultSize,
  lists_range: resultSize,
  list_reverse: resultSize,
  list_flatten: flatten,
  list_flatten_int: flatten,
  list_distinct: selfCompare(0),
  list_sets_contains_list: sets(1),
  list_sets_intersects_list: sets(1),
  list_sets_equivalent_list: sets(2)
}

const ordered = /^(less|greater)(_equals)?_(string|bytes)$/

/** The cost rule of a function; `overload` is "" if the values choose it. */
export const atRunTime = (name: string, overload: string): RunTimeCost => {
  const known = Object.hasOwn(byOverload, overload) ? byOverload[overload] : undefined
  if (known !== undefined) return known
  if (ordered.test(overload)) return smaller
  if (overload.endsWith("_sort")) return selfCompare(0)
  if (overload.endsWith("_sortByAssociatedKeys")) return selfCompare(1)
  if (name === "_!=_") return smaller
  return Object.hasOwn(byFunction, name) ? byFunction[name]! : one
}
