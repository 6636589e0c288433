/**
 * `StrategicMergePatch`: the merge patch of built-in kinds, which knows the keys of lists.
 *
 * Objects merge and null deletes, as in a merge patch. A list is replaced, unless its type says that it merges: then
 * objects are matched by their merge key, and other items form a set. Directives in the patch:
 * - `$patch: replace` in an object replaces it, `$patch: delete` empties it. In an item of a merging list they replace
 *   the list or delete the item. In a new field they drop the object that contains them.
 * - `$retainKeys: [a, b]` deletes all other keys of the object.
 * - `$deleteFromPrimitiveList/x: [v]` removes values from the list `x`.
 * - `$setElementOrder/x: [...]` sets the order of the items of `x`.
 *
 * A violation fails with the code and message of a real server, which has no error code for most of them (500).
 *
 * Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, StrategicMergeMapPatch.
 */
import * as Result from "effect/Result"
import { definitions, type Schema } from "../../kinds/definitions.ts"
import * as GoValue from "../../schema/GoValue.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as ListOrder from "../../schema/ListOrder.ts"
import * as PatchFailure from "./PatchFailure.ts"

type Merged<A> = Result.Result<A, PatchFailure.PatchFailure>
type Obj = JsonValue.JsonObject
type List = ReadonlyArray<unknown>

const deletePrefix = "$deleteFromPrimitiveList"
const orderPrefix = "$setElementOrder"
const badOrder = PatchFailure.malformed("invalid patch format of setElementOrder list")
const badRetainKeys = PatchFailure.malformed("invalid patch format of retainKeys")

/** The object with the patch applied. `definition` names the object's type in the OpenAPI document. */
export const apply = (definition: string, object: unknown, patch: unknown): Merged<unknown> => {
  if (!JsonValue.isObject(patch)) {
    const found = JsonValue.isArray(patch) ? "array" : typeof patch
    return Result.fail(
      PatchFailure.malformed(`json: cannot unmarshal ${found} into Go value of type map[string]interface {}`)
    )
  }
  return applyWith({ ref: definition }, object, patch)
}

/** As `apply`, for any schema: for tests, and for parts of objects. */
export const applyWith = (schema: Schema, object: unknown, patch: Obj): Merged<Obj> =>
  mergeObject(JsonValue.isObject(object) ? object : {}, patch, resolve(schema))

const resolve = (schema: Schema): Schema =>
  schema.ref === undefined ? schema : { ...definitions[schema.ref], ...schema }

/** How a field merges. */
interface Field {
  readonly strategy: string
  readonly mergeKey: string
  /** The schema of the object, or of the list's items. */
  readonly schema: Schema
}

const lookup = (schema: Schema, key: string): Merged<Field> => {
  if (schema.values !== undefined) {
    return Result.fail(PatchFailure.internal("merging an object in json but data type is not struct, instead is: map"))
  }
  const found = schema.properties !== undefined && Object.hasOwn(schema.properties, key)
    ? schema.properties[key]
    : undefined
  if (found === undefined) {
    const name = schema.ref?.split(".").at(-1) ?? ""
    return Result.fail(
      PatchFailure.internal(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`)
    )
  }
  const inner = resolve(found)
  return Result.succeed({
    strategy: found.patchStrategy?.find((strategy) => strategy !== "retainKeys") ?? "",
    mergeKey: found.patchMergeKey ?? "",
    schema: inner.items === undefined ? inner : resolve(inner.items)
  })
}

const mergeObject = (original: Obj, patch: Obj, schema: Schema): Merged<Obj> =>
  Result.gen(function*() {
    if (JsonValue.has(patch, "$patch")) return yield* replaceWhole(patch)
    const kept = yield* retainKeys(
      original,
      JsonValue.remove(patch, "$retainKeys"),
      JsonValue.get(patch, "$retainKeys")
    )
    const ordered = yield* orderLists(kept, JsonValue.remove(patch, "$retainKeys"), schema)
    const changes = new Map<string, unknown>()
    for (const [name, value] of Object.entries(ordered.patch)) {
      const isDelete = name.startsWith(deletePrefix)
      if (isDelete && !name.startsWith(`${deletePrefix}/`)) {
        return yield* Result.fail(PatchFailure.malformed("invalid patch format of primitive list"))
      }
      const key = isDelete ? name.slice(deletePrefix.length + 1) : name
      if (value === null) {
        changes.set(key, undefined)
        continue
      }
      // A patch may mention a list twice: with items to delete, and with items to merge.
      const current = changes.has(key) ? changes.get(key) : JsonValue.get(ordered.original, key)
      if (current === undefined || GoValue.typeName(current) !== GoValue.typeName(value)) {
        if (!isDelete) changes.set(key, withoutDirectives(withoutNulls(value)))
      } else if (JsonValue.isObject(value)) {
        const field = yield* lookup(schema, key)
        const merged = field.strategy === "replace" ? value : yield* mergeObject(current as Obj, value, field.schema)
        changes.set(key, merged)
      } else if (JsonValue.isArray(value)) {
        const field = yield* lookup(schema, key)
        changes.set(key, yield* mergeField(current as List, value, field, isDelete))
      } else {
        changes.set(key, value)
      }
    }
    return JsonValue.change(ordered.original, changes)
  })

const replaceWhole = (patch: Obj): Merged<Obj> => {
  switch (patch["$patch"]) {
    case "replace":
      return Result.succeed(JsonValue.remove(patch, "$patch"))
    case "delete":
      return Result.succeed({})
    default:
      return Result.fail(unknownPatchType(patch))
  }
}

const unknownPatchType = (patch: Obj): PatchFailure.PatchFailure =>
  PatchFailure.internal(`unknown patch type: ${GoValue.print(patch["$patch"])} in map: ${GoValue.print(patch)}`)

const retainKeys = (original: Obj, patch: Obj, keys: unknown): Merged<Obj> => {
  if (keys === undefined) return Result.succeed(original)
  if (!JsonValue.isArray(keys)) return Result.fail(badRetainKeys)
  const missing = Object.entries(patch).some(([key, value]) =>
    value !== null && !key.startsWith(deletePrefix) && !key.startsWith(orderPrefix) && !keys.includes(key)
  )
  return missing
    ? Result.fail(badRetainKeys)
    : Result.succeed(JsonValue.mapObject(original, (value, key) => keys.includes(key) ? value : undefined))
}

/** Merges the lists that have a `$setElementOrder`. Returns the object with those lists, and the patch without them. */
const orderLists = (
  original: Obj,
  patch: Obj,
  schema: Schema
): Merged<{ readonly original: Obj; readonly patch: Obj }> =>
  Result.gen(function*() {
    let result = original
    let rest = patch
    for (const [name, order] of Object.entries(patch)) {
      if (!name.startsWith(orderPrefix)) continue
      rest = JsonValue.remove(rest, name)
      if (!JsonValue.isArray(order)) return yield* Result.fail(wrongArgument("[]interface {}", order))
      if (!name.startsWith(`${orderPrefix}/`)) return yield* Result.fail(badOrder)
      const key = name.slice(orderPrefix.length + 1)
      const before = JsonValue.get(result, key)
      const after = JsonValue.get(rest, key)
      for (const list of [before, after]) {
        if (list !== undefined && !JsonValue.isArray(list)) {
          return yield* Result.fail(wrongArgument("[]interface {}", list))
        }
      }
      const field = yield* lookup(schema, key)
      const from = before as List | undefined
      const to = after as List | undefined
      yield* checkOrder(to ?? [], order, field.mergeKey)
      if (from === undefined && to === undefined) continue
      const merged = to === undefined
        ? from!
        : from === undefined
        ? withoutDirectives(to) as List
        : yield* mergeField(from, to, field, false)
      yield* checkKeys([...merged, ...order], field.mergeKey)
      yield* elementType(from ?? [], to ?? [])
      const serverOrder = orderAfterMerge(from ?? [], to ?? [], field.mergeKey)
      result = JsonValue.set(result, key, ListOrder.arrange(merged, order, serverOrder, field.mergeKey))
      rest = JsonValue.remove(rest, key)
    }
    return { original: result, patch: rest }
  })

/**
 * The server's item order after a merge.
 *
 * Deleting items from the list frees slots in the array that the server still reads, and new items fill them, so a new
 * item can end up among the old ones. Clients see this whenever an apply replaces one item by another.
 */
const orderAfterMerge = (server: List, patch: List, mergeKey: string): List => {
  if (mergeKey === "") return server
  const isDelete = (item: unknown): boolean => JsonValue.isObject(item) && item["$patch"] === "delete"
  const has = (list: List, item: unknown): boolean =>
    list.some((other) => ListOrder.identity(other, mergeKey) === ListOrder.identity(item, mergeKey))
  const kept = server.filter((item) => !has(patch.filter(isDelete), item))
  const added = patch.filter((item) => !(JsonValue.isObject(item) && JsonValue.has(item, "$patch")) && !has(kept, item))
  return [...kept, ...added].slice(0, server.length)
}

const wrongArgument = (expected: string, value: unknown): PatchFailure.PatchFailure =>
  PatchFailure.internal(`expected a ${expected}, but received a ${GoValue.typeName(value)}`)

/** The items of the patch must all be in the order list, in the same order. */
const checkOrder = (patch: List, order: List, mergeKey: string): Merged<void> =>
  Result.gen(function*() {
    if (patch.length === 0 || order.length === 0) return
    const items = patch.filter((item) => !(JsonValue.isObject(item) && item["$patch"] === "delete"))
    const isMarked = (item: unknown): boolean => JsonValue.isObject(item) && JsonValue.has(item, "$patch")
    yield* checkKeys(items.filter((item) => !isMarked(item)), mergeKey)
    let at = 0
    for (const item of order) {
      while (at < items.length && isMarked(items[at])) at++
      if (at === items.length) break
      yield* checkKeys([item], mergeKey)
      if (ListOrder.identity(items[at], mergeKey) === ListOrder.identity(item, mergeKey)) at++
    }
    // An item with a directive after the end of the order counts as missing from it: a bug of the server.
    if (at < items.length) {
      return yield* Result.fail(PatchFailure.internal(
        `The order in patch list:\n${GoValue.print(patch)}\n doesn't match ${orderPrefix} list:\n${
          GoValue.print(order)
        }\n`
      ))
    }
  })

/** Items of a list with a merge key must be objects that have the key. */
const checkKeys = (items: List, mergeKey: string): Merged<void> => {
  if (mergeKey === "") return Result.succeed(undefined)
  for (const item of items) {
    if (!JsonValue.isObject(item)) return Result.fail(wrongArgument("map[string]interface {}", item))
    if (!JsonValue.has(item, mergeKey)) return Result.fail(noMergeKey(item, mergeKey))
  }
  return Result.succeed(undefined)
}

const noMergeKey = (item: Obj, mergeKey: string): PatchFailure.PatchFailure =>
  PatchFailure.internal(`map: ${GoValue.print(item)} does not contain declared merge key: ${mergeKey}`)

/** The common type of all items. Lists of lists are refused with 422, mixed and empty lists with 500. */
const elementType = (...lists: ReadonlyArray<List>): Merged<string> => {
  const items = lists.flat()
  if (items.length === 0) return Result.fail(PatchFailure.internal("no elements in any of the given slices"))
  if (JsonValue.isArray(items[0])) return Result.fail(PatchFailure.unprocessable("lists of lists are not supported"))
  const type = GoValue.typeName(items[0])
  return items.every((item) => GoValue.typeName(item) === type)
    ? Result.succeed(type)
    : Result.fail(PatchFailure.internal(`list element types are not identical: ${GoValue.print(lists)}`))
}

const mergeField = (original: List, patch: List, field: Field, isDelete: boolean): Merged<List> =>
  Result.gen(function*() {
    if (field.strategy !== "merge" && !isDelete) return patch
    if (original.length === 0 && patch.length === 0) return original
    const type = yield* elementType(original, patch)
    if (type !== "map[string]interface {}") {
      if (isDelete) return original.filter((item) => !patch.includes(item))
      return ListOrder.arrange([...new Set([...original, ...patch])], patch, original, "")
    }
    if (field.mergeKey === "") {
      return yield* Result.fail(PatchFailure.internal("cannot merge lists without merge key for struct"))
    }
    return yield* mergeItems(original as ReadonlyArray<Obj>, patch as ReadonlyArray<Obj>, field)
  })

const mergeItems = (original: ReadonlyArray<Obj>, patch: ReadonlyArray<Obj>, field: Field): Merged<List> =>
  Result.gen(function*() {
    const { mergeKey } = field
    const matches = (item: Obj, other: Obj): boolean =>
      JsonValue.has(item, mergeKey) && item[mergeKey] === other[mergeKey]
    let before = original
    let replace = false
    const additions: Array<Obj> = []
    for (const item of patch) {
      switch (item["$patch"]) {
        case undefined:
          additions.push(item)
          break
        case "delete":
          if (!JsonValue.has(item, mergeKey)) return yield* Result.fail(noMergeKey(item, mergeKey))
          before = before.filter((other) => !matches(other, item))
          break
        case "replace":
          replace = true
          break
        case "merge":
          return yield* Result.fail(PatchFailure.internal("merging lists cannot yet be specified in the patch"))
        default:
          return yield* Result.fail(unknownPatchType(item))
      }
    }
    if (replace) {
      yield* checkKeys(additions, mergeKey)
      return additions.map(withoutDirectiveKeys)
    }
    let merged: ReadonlyArray<Obj> = before
    for (const item of additions) {
      if (!JsonValue.has(item, mergeKey)) return yield* Result.fail(noMergeKey(item, mergeKey))
      const at = merged.findIndex((other) => matches(other, item))
      merged = at < 0
        ? [...merged, withoutDirectiveKeys(withoutNulls(item)) as Obj]
        : merged.with(at, yield* mergeObject(merged[at]!, item, field.schema))
    }
    yield* checkKeys(merged, mergeKey)
    return ListOrder.arrange(merged, additions, before, mergeKey)
  })

const withoutNulls = (value: unknown): unknown => {
  if (JsonValue.isArray(value)) return JsonValue.mapArray(value, withoutNulls)
  if (!JsonValue.isObject(value)) return value
  return JsonValue.mapObject(value, (item) => item === null ? undefined : withoutNulls(item))
}

/** The value of a new field: undefined if a `$patch` drops it; other directives have no effect. */
const withoutDirectives = (value: unknown): unknown => {
  if (JsonValue.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!JsonValue.isObject(value)) return value
  if (JsonValue.has(value, "$patch")) return undefined
  return JsonValue.mapObject(value, (item, key) => isDirective(key) ? undefined : withoutDirectives(item))
}

/** A new item of a list: the server takes it as it is, without evaluating its directives. */
const withoutDirectiveKeys = (value: unknown): unknown => {
  if (JsonValue.isArray(value)) return JsonValue.mapArray(value, withoutDirectiveKeys)
  if (!JsonValue.isObject(value)) return value
  return JsonValue.mapObject(value, (item, key) => isDirective(key) ? undefined : withoutDirectiveKeys(item))
}

const isDirective = (key: string): boolean =>
  key === "$patch" || key === "$retainKeys" || key.startsWith(`${deletePrefix}/`) || key.startsWith(`${orderPrefix}/`)
