/**
 * `Validators`: finds errors other than type errors in a checked expression: invalid literals of durations, timestamps,
 * regular expressions and formats, and lists and maps of mixed types.
 *
 * Source: github.com/google/cel-go/cel/validator.go and ext/formatting.go.
 */
import * as Result from "effect/Result"
import * as GoRegExp from "../schema/GoRegExp.ts"
import * as Ast from "./Ast.ts"
import type { Checked } from "./Checker.ts"
import * as Conversions from "./Conversions.ts"
import { complaints, interpolate, type Verb } from "./library/StringFormat.ts"
import type { Issue } from "./Source.ts"
import * as Types from "./Types.ts"
import { Fault, type Value } from "./Values.ts"

type Visit = (expr: Ast.Expr, inFormat: boolean) => void

const walk = (expr: Ast.Expr, visit: Visit, inFormat = false): void => {
  visit(expr, inFormat)
  const inside = inFormat || expr.kind === "call" && expr.name === "format"
  for (const child of Ast.children(expr)) walk(child, visit, inside)
}

const functionOf = (expr: Ast.Expr, checked: Checked): string | undefined =>
  expr.kind === "call" ? checked.calls.get(expr)?.declaration.name : undefined

/** Errors for invalid literals as the first argument of a function. */
const literals = (
  root: Ast.Expr,
  checked: Checked,
  name: string,
  isWrong: (value: Value) => boolean
): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  walk(root, (expr) => {
    if (expr.kind !== "call" || functionOf(expr, checked) !== name) return
    const [argument] = expr.args
    if (argument?.kind === "literal" && isWrong(argument.value)) {
      issues.push({ at: argument.at, message: `invalid ${name} argument` })
    }
  })
  return issues
}

const isNoPattern = (value: Value): boolean => typeof value === "string" && Result.isFailure(GoRegExp.compile(value))

const mismatch = (at: number, expected: Types.Type, found: Types.Type): Issue => ({
  at,
  message: `expected type '${Types.format(expected)}' but found '${Types.format(found)}'`
})

const isEquivalent = (a: Types.Type, b: Types.Type): boolean =>
  a.kind === b.kind && a.name === b.name && a.params.length === b.params.length &&
  a.params.every((inner, index) => isEquivalent(inner, b.params[index]!))

const mixedList = (expr: Ast.ListLiteral, checked: Checked): ReadonlyArray<Issue> => {
  let first: Types.Type | undefined
  for (const [index, item] of expr.items.entries()) {
    const type = checked.typeOf(item)
    const held = expr.optional.has(index) ? Types.unwrapOptional(type) : type
    first ??= held
    if (!isEquivalent(first, held)) return [mismatch(item.at, first, held)]
  }
  return []
}

const mixedMap = (expr: Ast.MapLiteral, checked: Checked): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  let keys: Types.Type | undefined
  let values: Types.Type | undefined
  for (const { key, optional, value } of expr.entries) {
    const keyType = checked.typeOf(key)
    const type = checked.typeOf(value)
    const valueType = optional ? Types.unwrapOptional(type) : type
    keys ??= keyType
    values ??= valueType
    if (!isEquivalent(keys, keyType)) issues.push(mismatch(key.at, keys, keyType))
    if (!isEquivalent(values, valueType)) issues.push(mismatch(value.at, values, valueType))
  }
  return issues
}

const mixed = (root: Ast.Expr, checked: Checked): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  walk(root, (expr, inFormat) => {
    if (inFormat) return
    if (expr.kind === "list") issues.push(...mixedList(expr, checked))
    if (expr.kind === "map") issues.push(...mixedMap(expr, checked))
  })
  return issues
}

/** The kinds of arguments that each clause accepts. */
const formattable: Readonly<Record<Verb, ReadonlySet<Types.Kind>>> = {
  s: new Set<Types.Kind>([
    "list",
    "map",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "timestamp",
    "bytes",
    "duration",
    "type",
    "null"
  ]),
  d: new Set<Types.Kind>(["int", "uint"]),
  f: new Set<Types.Kind>(["double", "string"]),
  e: new Set<Types.Kind>(["double", "string"]),
  b: new Set<Types.Kind>(["int", "uint", "bool"]),
  x: new Set<Types.Kind>(["int", "uint", "string", "bytes"]),
  X: new Set<Types.Kind>(["int", "uint", "string", "bytes"]),
  o: new Set<Types.Kind>(["int", "uint"])
}

/** The first part of an argument that its clause does not accept. */
const unformattable = (verb: Verb, expr: Ast.Expr, checked: Checked): Ast.Expr | undefined => {
  const { kind } = checked.typeOf(expr)
  if (kind !== "dyn" && !formattable[verb].has(kind)) return expr
  if (verb !== "s" || expr.kind !== "list" && expr.kind !== "map") return undefined
  for (const child of Ast.children(expr)) {
    const wrong = unformattable(verb, child, checked)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const formats = (root: Ast.Expr, checked: Checked): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  walk(root, (expr) => {
    if (expr.kind !== "call" || functionOf(expr, checked) !== "format" || expr.target?.kind !== "literal") return
    const [args] = expr.args
    if (args?.kind !== "list" || typeof expr.target.value !== "string") return
    let at = expr.at
    const read = interpolate(expr.target.value, args.items.length, (verb, index) => {
      const wrong = unformattable(verb, args.items[index]!, checked)
      if (wrong === undefined) return { text: "" }
      at = wrong.at
      return { fault: `${complaints[verb]}, was given ${checked.typeOf(wrong).name}` }
    })
    if ("fault" in read) issues.push({ at, message: read.fault })
    else if (args.items.length > read.used!) {
      const counts = `expected ${read.used}, got ${args.items.length}`
      issues.push({ at, message: `too many arguments supplied to string.format (${counts})` })
    }
  })
  return issues
}

/** All errors in an expression whose types are right. */
export const validate = (root: Ast.Expr, checked: Checked): ReadonlyArray<Issue> => [
  ...literals(root, checked, "duration", (value) => Conversions.toDuration(value) instanceof Fault),
  ...literals(root, checked, "timestamp", (value) => Conversions.toTimestamp(value) instanceof Fault),
  ...literals(root, checked, "matches", isNoPattern),
  ...mixed(root, checked),
  ...formats(root, checked)
]
