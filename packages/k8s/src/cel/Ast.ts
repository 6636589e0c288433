/**
 * `Ast`: the syntax tree of an expression, between parsing and planning.
 *
 * Operators are calls of functions with names such as `_+_`. Macros are expanded while parsing, so `all`, `map` and
 * similar ones all become one kind of node, the fold. `at` is the position for error messages: the operator of an
 * operation, the parenthesis of a call, the dot of a selection.
 *
 * Source: github.com/google/cel-spec/proto/cel/expr/syntax.proto.
 */
import type { Value } from "./Values.ts"

export interface Literal {
  readonly kind: "literal"
  readonly at: number
  readonly value: Value
}

export interface Ident {
  readonly kind: "ident"
  readonly at: number
  readonly name: string
}

export interface Select {
  readonly kind: "select"
  readonly at: number
  readonly operand: Expr
  readonly field: string
  /** Whether it only tests for the field: `has(operand.field)`. */
  readonly test: boolean
}

export interface Call {
  readonly kind: "call"
  readonly at: number
  readonly target: Expr | undefined
  readonly name: string
  readonly args: ReadonlyArray<Expr>
}

export interface ListLiteral {
  readonly kind: "list"
  readonly at: number
  readonly items: ReadonlyArray<Expr>
  /** Indexes of items written `?item`. */
  readonly optional: ReadonlySet<number>
}

export interface MapEntry {
  readonly at: number
  readonly key: Expr
  readonly value: Expr
  readonly optional: boolean
}

export interface MapLiteral {
  readonly kind: "map"
  readonly at: number
  readonly entries: ReadonlyArray<MapEntry>
}

export interface StructField {
  readonly at: number
  readonly name: string
  readonly value: Expr
  readonly optional: boolean
}

export interface StructLiteral {
  readonly kind: "struct"
  readonly at: number
  readonly type: string
  readonly fields: ReadonlyArray<StructField>
}

/**
 * A loop: `accu` starts as `init`, becomes `step` for each element while `condition` holds, and `result` is the value.
 */
export interface Fold {
  readonly kind: "fold"
  readonly at: number
  readonly range: Expr
  readonly variable: string
  /** The variable for the value, if `variable` is the index or key. */
  readonly variable2: string | undefined
  readonly accu: string
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

export type Expr = Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Fold

export const literal = (at: number, value: Value): Literal => ({ kind: "literal", at, value })
export const ident = (at: number, name: string): Ident => ({ kind: "ident", at, name })
export const select = (at: number, operand: Expr, field: string, test = false): Select => ({
  kind: "select",
  at,
  operand,
  field,
  test
})
export const call = (at: number, name: string, ...args: ReadonlyArray<Expr>): Call => ({
  kind: "call",
  at,
  target: undefined,
  name,
  args
})
export const memberCall = (at: number, target: Expr, name: string, ...args: ReadonlyArray<Expr>): Call => ({
  kind: "call",
  at,
  target,
  name,
  args
})

const none: ReadonlySet<number> = new Set()
export const list = (at: number, items: ReadonlyArray<Expr>, optional: ReadonlySet<number> = none): ListLiteral => ({
  kind: "list",
  at,
  items,
  optional
})
export const map = (at: number, entries: ReadonlyArray<MapEntry>): MapLiteral => ({ kind: "map", at, entries })

/** The direct subexpressions, in the order in which they are written. */
export const children = (expr: Expr): ReadonlyArray<Expr> => {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return []
    case "select":
      return [expr.operand]
    case "call":
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case "list":
      return expr.items
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case "struct":
      return expr.fields.map(({ value }) => value)
    case "fold":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result]
  }
}

/** A deep copy with new nodes. */
export const copy = (expr: Expr): Expr => {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return { ...expr }
    case "select":
      return { ...expr, operand: copy(expr.operand) }
    case "call":
      return { ...expr, target: expr.target === undefined ? undefined : copy(expr.target), args: expr.args.map(copy) }
    case "list":
      return { ...expr, items: expr.items.map(copy) }
    case "map":
      return {
        ...expr,
        entries: expr.entries.map((entry) => ({ ...entry, key: copy(entry.key), value: copy(entry.value) }))
      }
    case "struct":
      return { ...expr, fields: expr.fields.map((field) => ({ ...field, value: copy(field.value) })) }
    case "fold":
      return {
        ...expr,
        range: copy(expr.range),
        init: copy(expr.init),
        condition: copy(expr.condition),
        step: copy(expr.step),
        result: copy(expr.result)
      }
  }
}

/** `a.b.c` for plain selections, with a leading dot if it was written with one; undefined for anything else. */
export const qualifiedName = (expr: Expr): string | undefined => {
  if (expr.kind === "ident") return expr.name
  if (expr.kind !== "select" || expr.test) return undefined
  const operand = qualifiedName(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}
