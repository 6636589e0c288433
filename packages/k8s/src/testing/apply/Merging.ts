/**
 * `Merging`: merges a value into another, and removes fields from a value.
 *
 * `merge` removes nothing: fields of the second value win, keyed lists and sets are united, and atomic values are
 * replaced. Items that both have are in the order of the second value. Items that only the first has stay in front of
 * the item that follows them.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/{merge,remove}.go.
 */
import * as Result from "effect/Result"
import * as FieldSet from "./FieldSet.ts"
import * as Items from "./Items.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import * as Problems from "./Problems.ts"
import { deduce, fieldType, type ListType, type MapType, type Type } from "./Types.ts"

interface Indexed {
  readonly elements: ReadonlyArray<PathElement.PathElement>
  /** Null for a repeated item, with which nothing is merged. */
  readonly values: ReadonlyMap<PathElement.PathElement, unknown>
}

class Merge {
  readonly problems: Problems.Problems = []
  private readonly path: Array<PathElement.PathElement> = []

  private map(map: MapType, left: unknown, right: unknown): unknown {
    const lefts = JsonValue.isObject(left) ? left : {}
    const rights = JsonValue.isObject(right) ? right : {}
    const names = [...Object.keys(lefts), ...Object.keys(rights).filter((name) => !JsonValue.has(lefts, name))]
    if (map.atomic || names.length === 0) return right === undefined ? left : right
    const out: Array<[string, unknown]> = []
    for (const name of names) {
      const type = fieldType(map, name)
      if (type === undefined) continue
      const merged = this.below(PathElement.field(name), type, JsonValue.get(lefts, name), JsonValue.get(rights, name))
      if (merged !== undefined) out.push([name, merged])
    }
    return out.length === 0 ? undefined : Object.fromEntries(out)
  }

  private index(list: ListType, items: ReadonlyArray<unknown>, duplicates: boolean): Indexed {
    const values = new Map<PathElement.PathElement, unknown>()
    const elements: Array<PathElement.PathElement> = []
    for (const [index, value] of items.entries()) {
      const found = Items.identify(list, value)
      if ("error" in found) {
        Problems.add(this.problems, this.path, `element ${index}: ${found.error}`)
        continue
      }
      const { element } = found
      if (values.has(element) && !duplicates) {
        Problems.add(this.problems, this.path, `duplicate entries for key ${PathElement.print(element)}`)
        continue
      }
      values.set(element, values.has(element) ? null : value)
      elements.push(element)
    }
    return { elements, values }
  }

  private list(list: ListType, left: unknown, right: unknown): unknown {
    const lefts = Array.isArray(left) ? left : []
    const rights = Array.isArray(right) ? right : []
    if (!list.associative || (lefts.length === 0 && rights.length === 0)) return right === undefined ? left : right
    const before = this.index(list, lefts, true)
    const after = this.index(list, rights, false)
    if (this.problems.length > 0) return undefined
    const shared = after.elements.filter((element) => before.values.has(element))
    const done = new Set<PathElement.PathElement>()
    const out: Array<unknown> = []
    const take = (element: PathElement.PathElement, first: unknown, second: unknown): void => {
      const merged = this.below(element, list.element, first, second)
      if (merged !== undefined) out.push(merged)
    }
    let next = 0
    let atLeft = 0
    let atRight = 0
    while (atLeft < before.elements.length || atRight < after.elements.length) {
      const mine = before.elements[atLeft]
      const theirs = after.elements[atRight]
      if (mine !== undefined && theirs !== undefined) {
        if (mine === theirs) {
          done.add(mine)
          take(mine, before.values.get(mine), after.values.get(mine))
          atLeft++
          atRight++
          next++
          continue
        }
        // Common to both, but not the next one in order.
        if (after.values.has(mine) && shared[next] !== undefined && shared[next] !== mine) {
          atLeft++
          continue
        }
      }
      if (mine !== undefined) {
        if (!after.values.has(mine)) {
          take(mine, lefts[atLeft], undefined)
          atLeft++
          continue
        }
        if (done.has(mine)) atLeft++
      }
      if (theirs !== undefined) {
        done.add(theirs)
        take(theirs, before.values.get(theirs), after.values.get(theirs))
        atRight++
        if (shared[next] === theirs) next++
      }
    }
    return out.length === 0 ? undefined : out
  }

  private below(element: PathElement.PathElement, type: Type, left: unknown, right: unknown): unknown {
    this.path.push(element)
    const out = this.merge(type, left, right)
    this.path.pop()
    return out
  }

  private form(type: Type, left: unknown, right: unknown): unknown {
    if (type.map !== undefined) return this.map(type.map, left, right)
    if (type.scalar !== undefined) return this.scalar(type, left, right)
    return type.list === undefined ? undefined : this.list(type.list, left, right)
  }

  private scalar(type: Type, left: unknown, right: unknown): unknown {
    const faults = [Problems.ofScalar(type.scalar!, left), Problems.ofScalar(type.scalar!, right)]
    // At least one of both must be valid, not necessarily the one that is kept.
    if (faults[0] !== undefined && faults[1] !== undefined) {
      Problems.add(this.problems, this.path, `lhs: ${faults[0]}`)
      Problems.add(this.problems, this.path, `rhs: ${faults[1]}`)
      return undefined
    }
    return right === undefined ? left : right
  }

  merge(type: Type, left: unknown, right: unknown): unknown {
    return right === undefined
      ? this.form(deduce(type, left), left, right)
      : this.form(deduce(type, right), left, right)
  }
}

/** The second value merged into the first; the failure says which value does not match the type. */
export const merge = (type: Type, left: unknown, right: unknown): Result.Result<unknown, string> => {
  const walk = new Merge()
  const out = walk.merge(type, left, right)
  return walk.problems.length > 0 ? Result.fail(Problems.message(walk.problems)) : Result.succeed(out)
}

const removeFromList = (list: ListType, value: unknown, fields: FieldSet.FieldSet): unknown => {
  if (!Array.isArray(value) || value.length === 0 || !list.associative) return undefined
  const kept: Array<unknown> = []
  for (const item of value) {
    const found = Items.identify(list, item)
    const node = "error" in found ? undefined : fields.get(found.element)
    if (node?.member === true) continue
    kept.push(node?.below === undefined ? item : remove(list.element, item, node.below) ?? null)
  }
  return kept.length === 0 ? undefined : kept
}

const removeFromMap = (map: MapType, value: unknown, fields: FieldSet.FieldSet): unknown => {
  if (!JsonValue.isObject(value) || map.atomic) return undefined
  const kept: Array<[string, unknown]> = []
  for (const name of Object.keys(value)) {
    const node = fields.get(PathElement.field(name))
    if (node?.member === true) continue
    const type = fieldType(map, name)
    kept.push([
      name,
      node?.below === undefined || type === undefined ? value[name] : remove(type, value[name], node.below) ?? null
    ])
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** The value without the fields of a set. Parts that become empty are null; `undefined` if nothing is left. */
export const remove = (declared: Type, value: unknown, fields: FieldSet.FieldSet): unknown => {
  const { list, map, scalar } = deduce(declared, value)
  if (map !== undefined) return removeFromMap(map, value, fields)
  return scalar !== undefined ? value : list === undefined ? undefined : removeFromList(list, value, fields)
}
