/**
 * `Checking`: whether a value matches its type.
 *
 * An applied configuration must match: every field is declared, every value has its type, and no item of a set or keyed
 * list is repeated. Stored objects may contain repeated items, since only apply refuses them.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/validate.go.
 */
import * as Items from "./Items.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import * as Problems from "./Problems.ts"
import { deduce, fieldType, type ListType, type MapType, type Type } from "./Types.ts"

interface Walk {
  readonly problems: Problems.Problems
  readonly duplicates: boolean
}

const checkList = (walk: Walk, list: ListType, value: unknown, path: PathElement.Path): void => {
  if (value === null) return
  if (!Array.isArray(value)) return Problems.add(walk.problems, path, `expected list, got ${Problems.held(value)}`)
  const seen = new Set<PathElement.PathElement>()
  for (const [index, item] of value.entries()) {
    let element = `i:${index}`
    if (list.associative) {
      const found = Items.identify(list, item)
      if ("error" in found) return Problems.add(walk.problems, path, `element ${index}: ${found.error}`)
      element = found.element
      if (seen.has(element) && !walk.duplicates) {
        Problems.add(walk.problems, path, `duplicate entries for key ${PathElement.print(element)}`)
      }
      seen.add(element)
    }
    check(walk, list.element, item, [...path, element])
  }
}

const checkMap = (walk: Walk, map: MapType, value: unknown, path: PathElement.Path): void => {
  if (value === null) return
  if (!JsonValue.isObject(value)) return Problems.add(walk.problems, path, `expected map, got ${Problems.held(value)}`)
  for (const name of Object.keys(value)) {
    const type = fieldType(map, name)
    const at = [...path, PathElement.field(name)]
    if (type === undefined) return Problems.add(walk.problems, at, "field not declared in schema")
    check(walk, type, value[name], at)
  }
}

const check = (walk: Walk, declared: Type, value: unknown, path: PathElement.Path): void => {
  const type = deduce(declared, value)
  if (type.map !== undefined) return checkMap(walk, type.map, value, path)
  if (type.scalar !== undefined) {
    const wrong = Problems.ofScalar(type.scalar, value)
    if (wrong !== undefined) Problems.add(walk.problems, path, wrong)
    return
  }
  if (type.list !== undefined) checkList(walk, type.list, value, path)
}

/** The problems of a value; empty if it matches. */
export const problems = (type: Type, value: unknown, duplicates: "allowed" | "refused"): ReadonlyArray<string> => {
  const walk: Walk = { problems: [], duplicates: duplicates === "allowed" }
  check(walk, type, value, [])
  return walk.problems
}
