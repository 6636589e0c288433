/**
 * `Attributes`: evaluates variables and selections in a run of an expression.
 *
 * A variable with its selections, `self.a[0].?b`, is one attribute. It is resolved in one step and costs one, plus one
 * for each selection. An optional selection that finds nothing ends it with an absent value, at no cost.
 *
 * Source: github.com/google/cel-go/interpreter/{attributes,runtimecost}.go.
 */
import { Fault, fault, ListValue, MapValue, none, Optional, show, typeName, Uint, type Value } from "./Values.ts"

/** A run of an expression. */
export interface Frame {
  readonly input: Readonly<Record<string, Value>>
  /** The variables of folds, one slot each. */
  readonly slots: Array<Value>
  cost: number
  readonly limit: number
}

export type Step = (frame: Frame) => Value

class CostExceeded extends Error {}
export const exceeded = new CostExceeded()

export const spend = (frame: Frame, cost: number): void => {
  frame.cost += cost
  if (frame.cost > frame.limit) throw exceeded
}

/** A variable, or any other value, with selections from it. */
export interface Attribute {
  /** The value to select from, without the cost of the attribute. */
  readonly root: Step
  /** The base cost of the attribute. */
  readonly cost: 0 | 1
  readonly selections: ReadonlyArray<Selection>
}

export interface Selection {
  readonly key: Step
  readonly constant: Value | undefined
  readonly optional: boolean
}

/** The result of an optional selection that finds nothing. */
export const absent = Symbol("absent")

const missing = (container: Value, key: Value): Fault =>
  container instanceof ListValue ? fault(`index out of bounds: ${show(key)}`) : fault(`no such key: ${show(key)}`)

/** The list index that a number stands for. */
const position = (key: Value): number | Fault => {
  if (typeof key === "bigint") return Number(key)
  if (key instanceof Uint) return Number(key.value)
  if (typeof key === "number" && Number.isInteger(key)) return key
  return fault(
    typeof key === "number"
      ? `unsupported index value ${show(key)} in list`
      : `unsupported index type '${typeName(key)}' in list`
  )
}

export const pick = (container: Value, key: Value): Value | typeof absent => {
  if (key instanceof Fault) return key
  if (container instanceof MapValue) {
    const found = container.find(key)
    return found === undefined ? absent : found
  }
  if (container instanceof ListValue) {
    const index = position(key)
    return index instanceof Fault ? index : index >= 0 && index < container.size ? container.at(index) : absent
  }
  return container instanceof Fault ? container : absent
}

/** The value at the end of the selections; an optional if one of them is optional. */
export const resolve = (frame: Frame, attribute: Attribute): Value => {
  let current = attribute.root(frame)
  if (attribute.selections.length === 0) return current
  let optional = false
  if (current instanceof Optional) {
    if (current.value === undefined) return current
    current = current.value
    optional = true
  }
  if (current instanceof Fault) return current
  for (const selection of attribute.selections) {
    optional ||= selection.optional
    const key = selection.constant ?? selection.key(frame)
    const found = pick(current, key)
    if (found === absent) {
      if (optional) return none
      spend(frame, 1)
      return missing(current, key)
    }
    spend(frame, 1)
    if (found instanceof Fault) return found
    current = found
  }
  return optional ? new Optional(current) : current
}
