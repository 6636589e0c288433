/**
 * `Comparison`: the fields that were added, modified or removed between two values.
 *
 * This runs for every write of every object, so parts that are identical in memory are skipped at once, and memory is
 * allocated only for differences. A Go struct contains some fields that are not set (`MapType.zeros`): if both values
 * are structs, these count as present on both sides, so a struct that gets its first field is not itself added.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/compare.go.
 */
import * as FieldSet from "./FieldSet.ts"
import * as Items from "./Items.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import { deduce, fieldType, type ListType, type MapType, namesOf, type Type, valueOf } from "./Types.ts"

export interface Comparison {
  readonly added: FieldSet.FieldSet
  readonly modified: FieldSet.FieldSet
  readonly removed: FieldSet.FieldSet
  /** The fields that were added or modified. */
  readonly changed: FieldSet.FieldSet
}

/** Combines the parts of a comparison. */
export const make = (
  added: FieldSet.FieldSet,
  modified: FieldSet.FieldSet,
  removed: FieldSet.FieldSet
): Comparison => ({ added, modified, removed, changed: FieldSet.union(modified, added) })

/** The fields of a frozen value, cached with its type. */
type Known = WeakMap<object, { readonly type: Type; readonly fields: FieldSet.FieldSet | undefined }>

const structs: Known = new WeakMap()
const plain: Known = new WeakMap()

class Walk {
  readonly added = new FieldSet.Builder()
  readonly modified = new FieldSet.Builder()
  readonly removed = new FieldSet.Builder()
  /** The current path. */
  readonly path: Array<PathElement.PathElement> = []
  private readonly structs: boolean

  constructor(structs: boolean) {
    this.structs = structs
  }

  private leaf(before: unknown, after: unknown): void {
    if (!JsonValue.equals(before, after)) this.modified.add(this.path)
  }

  private map(map: MapType, before: unknown, after: unknown): void {
    const left = JsonValue.isObject(before) ? before : undefined
    const right = JsonValue.isObject(after) ? after : undefined
    const zeros = this.structs ? map.zeros : undefined
    const bare = zeros === undefined && hasNoKeys(left) && hasNoKeys(right)
    if (map.atomic || bare) return this.leaf(before, after)
    if (left !== undefined) {
      for (const name of namesOf(left, zeros)) {
        this.field(map, name, valueOf(left, name, zeros), valueOf(right, name, zeros))
      }
    }
    if (right !== undefined) {
      for (const name of namesOf(right, zeros)) {
        if (valueOf(left, name, zeros) === undefined) this.field(map, name, undefined, valueOf(right, name, zeros))
      }
    }
  }

  private field(map: MapType, name: string, before: unknown, after: unknown): void {
    if (before === after) return
    const type = fieldType(map, name)
    if (type === undefined) return
    this.path.push(PathElement.field(name))
    this.compare(type, before, after)
    this.path.pop()
  }

  private list(list: ListType, before: unknown, after: unknown): void {
    const left = Array.isArray(before) ? before : []
    const right = Array.isArray(after) ? after : []
    if (!list.associative || (left.length === 0 && right.length === 0)) return this.leaf(before, after)
    // Most lists have not changed, which is quicker to find out than the elements of their items.
    if (JsonValue.equals(before, after)) return
    const skip = () => undefined
    const lefts = Items.byElement(list, left, skip)
    const rights = Items.byElement(list, right, skip)
    for (const [element, items] of lefts) this.item(list, element, items, rights.get(element) ?? [])
    for (const [element, items] of rights) if (!lefts.has(element)) this.item(list, element, [], items)
  }

  /** Repeated items count as one leaf. */
  private item(
    list: ListType,
    element: PathElement.PathElement,
    before: ReadonlyArray<unknown>,
    after: ReadonlyArray<unknown>
  ): void {
    this.path.push(element)
    if (before.length <= 1 && after.length <= 1) {
      if (before[0] !== after[0]) this.compare(list.element, before[0], after[0])
    } else if (before.length >= 2 && after.length >= 2) {
      if (!JsonValue.equals(before, after)) this.modified.add(this.path)
    } else if (before.length >= 2) {
      if (after.length > 0) this.compare(list.element, undefined, after[0])
      this.removed.add(this.path)
    } else {
      if (before.length > 0) this.compare(list.element, before[0], undefined)
      this.added.add(this.path)
    }
    this.path.pop()
  }

  private form(type: Type, before: unknown, after: unknown): void {
    if (type.map !== undefined) this.map(type.map, before, after)
    else if (type.scalar !== undefined) this.leaf(before, after)
    else if (type.list !== undefined) this.list(type.list, before, after)
  }

  /** All fields of a value that the other side lacks; cached if it is frozen. */
  private whole(type: Type, value: unknown): FieldSet.FieldSet | undefined {
    if (typeof value !== "object" || value === null) return undefined
    const known = (this.structs ? structs : plain).get(value)
    if (known !== undefined && known.type === type) return known.fields
    const fields = this.fieldsOf(type, value)
    if (Object.isFrozen(value)) (this.structs ? structs : plain).set(value, { type, fields })
    return fields
  }

  private fieldsOf(type: Type, value: object): FieldSet.FieldSet | undefined {
    const { list, map, scalar } = deduce(type, value)
    const nodes = new Map<PathElement.PathElement, FieldSet.Node>()
    if (map !== undefined) {
      if (map.atomic || !JsonValue.isObject(value)) return undefined
      const zeros = this.structs ? map.zeros : undefined
      for (const name of namesOf(value, zeros)) {
        const inner = fieldType(map, name)
        if (inner === undefined) continue
        nodes.set(PathElement.field(name), { member: true, below: this.whole(inner, valueOf(value, name, zeros)) })
      }
    } else if (scalar === undefined && list?.associative === true && Array.isArray(value)) {
      for (const [element, items] of Items.byElement(list, value, () => undefined)) {
        nodes.set(element, { member: true, below: items.length === 1 ? this.whole(list.element, items[0]) : undefined })
      }
    }
    return nodes.size === 0 ? undefined : nodes
  }

  compare(type: Type, before: unknown, after: unknown): void {
    if (before === undefined) return this.added.graft(this.path, this.whole(type, after))
    if (after === undefined) return this.removed.graft(this.path, this.whole(type, before))
    this.both(type, before, after)
  }

  private both(type: Type, before: unknown, after: unknown): void {
    const left = deduce(type, before)
    const right = deduce(type, after)
    // If the form of a value changes, the fields of the old form are removed and those of the new one are added.
    if (left !== right) this.form(left, before, after)
    this.form(right, before, after)
  }
}

const hasNoKeys = (value: JsonValue.JsonObject | undefined): boolean => {
  if (value !== undefined) { for (const key in value) if (JsonValue.has(value, key)) return false }
  return true
}

/** Compares two values, both Go structs or both plain JSON. `undefined` is an absent value. */
export const compare = (type: Type, before: unknown, after: unknown, form: "structs" | "plain"): Comparison => {
  const walk = new Walk(form === "structs")
  if (before !== after) walk.compare(type, before, after)
  return make(walk.added.set, walk.modified.set, walk.removed.set)
}
