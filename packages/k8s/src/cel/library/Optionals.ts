/**
 * `Optionals`: optional values, and the functions with which folds over index and value insert into maps.
 *
 * `or` and `orValue` evaluate their argument only if needed; the evaluator takes care of that.
 *
 * Source: github.com/google/cel-go/cel/library.go (optionalLib) and ext/comprehensions.go.
 */
import { define, type FunctionDeclaration, operator, overload } from "../Functions.ts"
import {
  Duration,
  EntryMap,
  Fault,
  fault,
  list,
  ListValue,
  MapValue,
  none,
  noSuchOverload,
  Optional,
  show,
  Timestamp,
  Uint,
  type Value
} from "../Values.ts"

const zeroTime = -62135596800n * 1_000_000_000n

const isZero = (value: Value): boolean => {
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof Timestamp) return value.nanos === zeroTime
  return value === null || value === false || value === 0 || value === 0n || value === ""
}

const unwrap = (items: ListValue): Value => {
  const held: Array<Value> = []
  for (const item of items.toArray()) {
    if (!(item instanceof Optional)) return fault(`value ${show(item)} is not optional`)
    if (item.value !== undefined) held.push(item.value)
  }
  return list(held)
}

const insert = (map: Value, key: Value, value: Value): Value =>
  map instanceof EntryMap ? map.insert(key, value) : noSuchOverload

const insertAll = (map: Value, more: MapValue): Value => {
  let result = map
  for (const key of more.keys()) {
    result = insert(result, key, more.find(key)!)
    if (result instanceof Fault) return result
  }
  return result
}

const evaluated = (): Value => noSuchOverload

export const optionals: ReadonlyArray<FunctionDeclaration> = [
  define("optional.of", overload("optional_of", "(V) optional<V>", (value: Value) => new Optional(value))),
  define(
    "optional.ofNonZeroValue",
    overload("optional_ofNonZeroValue", "(V) optional<V>", (value: Value) => isZero(value) ? none : new Optional(value))
  ),
  define("optional.none", overload("optional_none", "() optional<V>", () => none)),
  define(
    "value",
    overload(
      "optional_value",
      "optional<V>.() V",
      ({ value }: Optional) => value === undefined ? fault("optional.none() dereference") : value
    )
  ),
  define(
    "hasValue",
    overload("optional_hasValue", "optional<V>.() bool", ({ value }: Optional) => value !== undefined)
  ),
  operator("or", evaluated, { optional_or_optional: "optional<V>.(optional<V>) optional<V>" }),
  operator("orValue", evaluated, { optional_orValue_value: "optional<V>.(V) V" }),
  operator("_?._", evaluated, { select_optional_field: "(dyn, string) optional<V>" }),
  operator("_[?_]", evaluated, {
    list_optindex_optional_int: "(list<V>, int) optional<V>",
    optional_list_optindex_optional_int: "(optional<list<V>>, int) optional<V>",
    map_optindex_optional_value: "(map<K, V>, K) optional<V>",
    optional_map_optindex_optional_value: "(optional<map<K, V>>, K) optional<V>"
  }),
  operator("_[_]", evaluated, {
    optional_list_index_int: "(optional<list<V>>, int) optional<V>",
    optional_map_index_value: "(optional<map<K, V>>, K) optional<V>"
  }),
  define("optional.unwrap", overload("optional_unwrap", "(list<optional<V>>) list<V>", unwrap)),
  define("unwrapOpt", overload("optional_unwrapOpt", "list<optional<V>>.() list<V>", unwrap)),
  define(
    "cel.@mapInsert",
    overload("@mapInsert_map_key_value", "(map<K, V>, K, V) map<K, V>", insert),
    overload("@mapInsert_map_map", "(map<K, V>, map<K, V>) map<K, V>", insertAll)
  )
]
