/**
 * `Fields`: the set of fields in a value: its leaves, the items of its lists, and the keys of its maps.
 *
 * An atomic value is one leaf. A declared field with content is not a member itself. A key of a map and an item of a
 * list are, so that they can be owned even if they are empty.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/tofieldset.go.
 */
import * as FieldSet from "./FieldSet.ts"
import * as Items from "./Items.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import { deduce, fieldType, type ListType, type MapType, type Type } from "./Types.ts"

const isEmptyMap = (value: unknown): boolean => JsonValue.isObject(value) && Object.keys(value).length === 0

const ofMap = (set: FieldSet.Builder, map: MapType, value: JsonValue.JsonObject, path: PathElement.Path): void => {
  for (const name of Object.keys(value)) {
    const inner = value[name]
    const at = [...path, PathElement.field(name)]
    const type = fieldType(map, name)
    if (type !== undefined) walk(set, type, inner, at)
    if (inner === null || isEmptyMap(inner) || !map.fields.has(name)) set.add(at)
  }
}

const ofList = (
  set: FieldSet.Builder,
  list: ListType,
  value: ReadonlyArray<unknown>,
  path: PathElement.Path
): void => {
  for (const [element, items] of Items.byElement(list, value, () => undefined)) {
    const at = [...path, element]
    // A repeated item can be owned only as a whole.
    if (items.length === 1) walk(set, list.element, items[0], at)
    set.add(at)
  }
}

const walk = (set: FieldSet.Builder, declared: Type, value: unknown, path: PathElement.Path): void => {
  const { list, map, scalar } = deduce(declared, value)
  if (map !== undefined) {
    if (map.atomic) set.add(path)
    else if (JsonValue.isObject(value)) ofMap(set, map, value, path)
  } else if (scalar !== undefined) set.add(path)
  else if (list !== undefined) {
    if (!list.associative) set.add(path)
    else if (Array.isArray(value)) ofList(set, list, value, path)
  }
}

/** The fields of a value. */
export const fieldsOf = (type: Type, value: unknown): FieldSet.FieldSet => {
  const set = new FieldSet.Builder()
  walk(set, type, value, [])
  return set.set
}
