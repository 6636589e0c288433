/**
 * `Evaluator`: turns a checked expression into a program.
 *
 * Each node becomes a function of a frame; running an expression parses nothing, looks up no names and builds no tree.
 * Parts that do not depend on variables are computed in advance. Every step has a cost, and an expression that exceeds
 * its limit is cancelled.
 *
 * Costs follow the server's interpreter, with its peculiarities: a variable with its selections is one attribute, which
 * costs one plus one for each selection; as a branch of `?:` or as an index the variable itself is free; an optional
 * selection that finds nothing is free; literals are free, including lists and maps.
 *
 * Source: github.com/google/cel-go/interpreter/{planner,interpretable,attributes,runtimecost}.go.
 */
import * as Result from "effect/Result"
import * as GoRegExp from "../schema/GoRegExp.ts"
import * as Ast from "./Ast.ts"
import {
  absent,
  type Attribute,
  exceeded,
  type Frame,
  pick,
  resolve,
  type Selection,
  spend,
  type Step
} from "./Attributes.ts"
import type { Checked, Resolution } from "./Checker.ts"
import * as CallCost from "./CallCost.ts"
import { loop } from "./Folds.ts"
import { dispatch } from "./Functions.ts"
import * as Operators from "./Operators.ts"
import { conversions } from "./StandardLibrary.ts"
import {
  ArrayList,
  EntryMap,
  Fault,
  fault,
  keyText,
  ListValue,
  noSuchOverload,
  ObjectValue,
  Optional,
  show,
  TypeValue,
  type Value
} from "./Values.ts"

/** The result of a run, and its cost. */
export interface Outcome {
  readonly value: Value
  readonly cost: number
}

export interface Program {
  /** Runs the expression with the values of variables by name. */
  readonly run: (input: Readonly<Record<string, Value>>, limit?: number) => Outcome
}

/** The server's error for an expression that exceeds its cost limit. */
export const costFault = "operation cancelled: actual cost limit exceeded"

/** A program; a fault if evaluating a constant part fails. */
export const plan = (expr: Ast.Expr, checked: Checked): Program | Fault => {
  const planner = new Planner(checked)
  try {
    const { step } = planner.plan(expr)
    return {
      run: (input, limit = Infinity) => {
        const frame: Frame = { input, slots: [], cost: 0, limit }
        try {
          const value = step(frame)
          return { value, cost: frame.cost }
        } catch (error) {
          if (error !== exceeded) throw error
          return { value: fault(costFault), cost: frame.cost }
        }
      }
    }
  } catch (error) {
    if (error instanceof ConstantFault) return error.reason
    throw error
  }
}

class ConstantFault extends Error {
  readonly reason: Fault
  constructor(reason: Fault) {
    super(reason.message)
    this.reason = reason
  }
}

/** A node that is ready to run. */
interface Planned {
  readonly step: Step
  /** The value, if it is the same in every run. */
  readonly constant?: Value
  /** The parts of an attribute. */
  readonly attribute?: Attribute
}

/** Functions whose second argument is a regular expression; a literal one is compiled in advance. */
const patterned = new Set(["matches", "find", "findAll"])

const constant = (value: Value): Planned => ({ constant: value, step: () => value })

class Planner {
  private slotCount = 0
  private readonly checked: Checked
  private readonly scope: Array<ReadonlyMap<string, number>> = []

  constructor(checked: Checked) {
    this.checked = checked
  }

  plan(expr: Ast.Expr): Planned {
    switch (expr.kind) {
      case "literal":
        return constant(expr.value)
      case "ident":
        return this.reference(expr, expr.name)
      case "select":
        return this.selection(expr)
      case "call":
        return this.call(expr)
      case "list":
        return this.list(expr)
      case "map":
        return this.map(expr)
      case "struct":
        return this.struct(expr)
      case "fold":
        return this.fold(expr)
    }
  }

  private attribute(attribute: Attribute): Planned {
    return {
      attribute,
      step: (frame) => {
        const value = resolve(frame, attribute)
        if (attribute.cost === 1) spend(frame, 1)
        return value
      }
    }
  }

  private slot(name: string): number | undefined {
    for (let depth = this.scope.length - 1; depth >= 0; depth--) {
      const slot = this.scope[depth]!.get(name)
      if (slot !== undefined) return slot
    }
    return undefined
  }

  private reference(expr: Ast.Expr, written: string): Planned {
    const reference = this.checked.references.get(expr)
    if (reference?._tag === "TypeName") return constant(new TypeValue(reference.name))
    const name = reference?.name ?? written
    const slot = written.startsWith(".") ? undefined : this.slot(name)
    const root: Step = slot === undefined
      ? ({ input }) => {
        const value = input[name]
        return value === undefined ? fault(`no such attribute(s): ${name}`) : value
      }
      : ({ slots }) => slots[slot]!
    return this.attribute({ root, cost: 1, selections: [] })
  }

  private asAttribute(planned: Planned): Attribute {
    return planned.attribute ?? { root: planned.step, cost: 1, selections: [] }
  }

  private selection(expr: Ast.Select): Planned {
    if (this.checked.references.has(expr)) return this.reference(expr, Ast.qualifiedName(expr) ?? "")
    const base = this.asAttribute(this.plan(expr.operand))
    const selection: Selection = { key: () => expr.field, constant: expr.field, optional: false }
    if (!expr.test) return this.attribute({ ...base, selections: [...base.selections, selection] })
    return { step: (frame) => this.test(frame, base, expr.field) }
  }

  /** `has(operand.field)`. */
  private test(frame: Frame, base: Attribute, field: string): Value {
    const container = resolve(frame, base)
    spend(frame, container instanceof Fault ? 0 : 1)
    if (container instanceof Fault) return container
    const inner = container instanceof Optional ? container.value : container
    if (inner === undefined) return false
    const found = pick(inner, field)
    return found instanceof Fault ? found : found !== absent
  }

  private list(expr: Ast.ListLiteral): Planned {
    const items = expr.items.map((item) => this.plan(item))
    const isConstant = items.every((item) => "constant" in item) && expr.optional.size === 0
    if (isConstant) return constant(new ArrayList(items.map((item) => item.constant!)))
    return {
      step: (frame) => {
        const values: Array<Value> = []
        for (const [index, item] of items.entries()) {
          const value = item.step(frame)
          if (value instanceof Fault) return spent(frame, 10, value)
          if (!expr.optional.has(index)) values.push(value)
          else if (!(value instanceof Optional)) {
            return fault(`cannot initialize optional list element from non-optional value ${show(value)}`)
          } else if (value.value !== undefined) values.push(value.value)
        }
        return spent(frame, 10, new ArrayList(values))
      }
    }
  }

  private map(expr: Ast.MapLiteral): Planned {
    const entries = expr.entries.map((entry) => ({
      key: this.plan(entry.key),
      value: this.plan(entry.value),
      optional: entry.optional
    }))
    const make: Step = (frame) => {
      const made = new Map<string, readonly [Value, Value]>()
      for (const entry of entries) {
        const key = entry.key.step(frame)
        if (key instanceof Fault) return key
        let value = entry.value.step(frame)
        if (value instanceof Fault) return value
        if (entry.optional) {
          if (!(value instanceof Optional)) {
            return fault(`cannot initialize optional entry '${show(key)}' from non-optional value ${show(value)}`)
          }
          if (value.value === undefined) continue
          value = value.value
        }
        const text = keyText(key)
        if (text === undefined) return fault(`unsupported key type: ${show(key)}`)
        made.set(text, [key, value])
      }
      return new EntryMap(made)
    }
    const isConstant = entries.every(({ key, optional, value }) =>
      "constant" in key && "constant" in value && !optional
    )
    return isConstant
      ? constant(make({ input: {}, slots: [], cost: 0, limit: Infinity }))
      : { step: (frame) => spent(frame, 30, make(frame)) }
  }

  private struct(expr: Ast.StructLiteral): Planned {
    const fields = expr.fields.map((field) => ({ ...field, plan: this.plan(field.value) }))
    const type = expr.type.startsWith(".") ? expr.type.slice(1) : expr.type
    return {
      step: (frame) => {
        const made = new Map<string, Value>()
        for (const { name, optional, plan } of fields) {
          const value = plan.step(frame)
          if (value instanceof Fault) return value
          if (!optional) made.set(name, value)
          else if (!(value instanceof Optional)) {
            return fault(`cannot initialize optional entry '${name}' from non-optional value ${show(value)}`)
          } else if (value.value !== undefined) made.set(name, value.value)
        }
        return spent(frame, 40, new ObjectValue(type, made))
      }
    }
  }

  private call(expr: Ast.Call): Planned {
    const resolution = this.checked.calls.get(expr)!
    const { declaration, qualified } = resolution
    const all = expr.target === undefined || qualified ? expr.args : [expr.target, ...expr.args]
    switch (declaration.name) {
      case "_?_:_":
        return this.conditional(all)
      case "_&&_":
        return this.logical(all, false)
      case "_||_":
        return this.logical(all, true)
      case "_[_]":
        return this.index(all, false)
      case "_[?_]":
      case "_?._":
        return this.index(all, true)
      case "or":
      case "orValue":
        return this.otherwise(all, declaration.name === "orValue")
      default:
        return this.function(resolution, all.map((arg) => this.plan(arg)), expr)
    }
  }

  private conditional([test, whenTrue, whenFalse]: ReadonlyArray<Ast.Expr>): Planned {
    const condition = this.plan(test!)
    const [yes, no] = [whenTrue!, whenFalse!].map((branch): Step => {
      const { attribute, step } = this.plan(branch)
      return attribute === undefined ? step : (frame) => resolve(frame, attribute)
    }) as [Step, Step]
    const root: Step = (frame) => {
      const value = condition.step(frame)
      return value === true ? yes(frame) : value === false ? no(frame) : value instanceof Fault ? value : noSuchOverload
    }
    return this.attribute({ root, cost: 0, selections: [] })
  }

  private logical(terms: ReadonlyArray<Ast.Expr>, settles: boolean): Planned {
    const [left, right] = terms.map((term) => this.plan(term).step) as [Step, Step]
    const judged = (value: Value): boolean | Fault =>
      typeof value === "boolean" || value instanceof Fault ? value : noSuchOverload
    return {
      step: (frame) => {
        const first = judged(left(frame))
        if (first === settles) return first
        const second = judged(right(frame))
        if (second === settles) return second
        return first instanceof Fault ? first : second
      }
    }
  }

  private index([container, key]: ReadonlyArray<Ast.Expr>, optional: boolean): Planned {
    const base = this.asAttribute(this.plan(container!))
    const planned = this.plan(key!)
    const { attribute } = planned
    const step = attribute === undefined ? planned.step : (frame: Frame) => resolve(frame, attribute)
    const selection: Selection = { key: step, constant: planned.constant, optional }
    return this.attribute({ ...base, selections: [...base.selections, selection] })
  }

  private otherwise([first, second]: ReadonlyArray<Ast.Expr>, unwrap: boolean): Planned {
    const left = this.plan(first!).step
    const right = this.plan(second!).step
    return {
      step: (frame) => {
        const value = left(frame)
        if (!(value instanceof Optional)) return value
        return value.value === undefined ? right(frame) : unwrap ? value.value : value
      }
    }
  }

  private function(resolution: Resolution, args: ReadonlyArray<Planned>, expr: Ast.Call): Planned {
    const { declaration, overloads } = resolution
    const settled = overloads.length === 1 ? overloads[0] : undefined
    const member = expr.target !== undefined && !resolution.qualified
    const plain = runner(resolution, member)
    const isConversion = conversions.has(declaration.name) && args.length === 1
    if (isConversion && "constant" in args[0]!) {
      const value = plain([args[0].constant!])
      if (value instanceof Fault) throw new ConstantFault(value)
      return constant(value)
    }
    const pattern = patterned.has(declaration.name) ? args[1]?.constant : undefined
    if (typeof pattern === "string") {
      const compiled = GoRegExp.compile(pattern)
      if (Result.isFailure(compiled)) throw new ConstantFault(fault(compiled.failure))
    }
    // A constant pattern is compiled in advance, so that only the type of the text remains to be checked.
    const run: typeof plain = typeof pattern === "string"
      ? (values) => typeof values[0] === "string" ? plain(values) : noSuchOverload
      : plain
    if (declaration.name === "@in" && settled?.id === "in_list" && isScalarList(args[1]!.constant)) {
      return this.membership(args)
    }
    const steps = args.map(({ step }) => step)
    const cost = CallCost.atRunTime(declaration.name, settled?.id ?? "")
    const tolerant = declaration.name === "@not_strictly_false"
    return {
      step: (frame) => {
        const values: Array<Value> = []
        let wrong: Fault | undefined
        for (let index = 0; index < steps.length; index++) {
          const value = steps[index]!(frame)
          values[index] = value
          if (value instanceof Fault && wrong === undefined) {
            wrong = value
            // Only calls with more than two arguments stop evaluating at the first failed argument.
            if (steps.length > 2) break
          }
        }
        const result = wrong !== undefined && !tolerant ? wrong : run(values)
        spend(frame, cost(values, result))
        return result
      }
    }
  }

  /** `in` with a list of literals costs only its left side, and nothing if the list is empty. */
  private membership([item, container]: ReadonlyArray<Planned>): Planned {
    const { step } = item!
    const list = container!.constant as ListValue
    if (list.size === 0) return constant(false)
    const keys = new Set(list.toArray().map(keyText))
    return {
      step: (frame) => {
        const value = step(frame)
        if (value instanceof Fault) return value
        const text = keyText(value)
        return text !== undefined && keys.has(text)
      }
    }
  }

  private fold(expr: Ast.Fold): Planned {
    const range = this.plan(expr.range).step
    const init = this.plan(expr.init).step
    const accu = this.slotCount++
    this.scope.push(new Map([[expr.accu, accu]]))
    const first = this.slotCount++
    const second = expr.variable2 === undefined ? undefined : this.slotCount++
    const names = new Map([[expr.variable, first]])
    if (second !== undefined) names.set(expr.variable2!, second)
    this.scope.push(names)
    const condition = this.plan(expr.condition).step
    const step = this.plan(expr.step).step
    this.scope.pop()
    const result = this.plan(expr.result).step
    this.scope.pop()
    return { step: (frame) => loop(frame, { range, init, condition, step, result, accu, first, second }) }
  }
}

const spent = (frame: Frame, cost: number, value: Value): Value => {
  spend(frame, cost)
  return value
}

const isScalarList = (value: Value | undefined): boolean =>
  value instanceof ListValue && value.toArray().every((item) => keyText(item) !== undefined)

const runner = (resolution: Resolution, member: boolean): (args: ReadonlyArray<Value>) => Value => {
  const { declaration, overloads } = resolution
  switch (declaration.name) {
    case "_==_":
      return ([a, b]) => Operators.equals(a!, b!)
    case "_!=_":
      return ([a, b]) => Operators.equals(a!, b!) !== true
    case "@not_strictly_false":
      return ([value]) => value !== false
    default:
      return dispatch(declaration, overloads.length === 1 ? overloads[0] : undefined, member)
  }
}
