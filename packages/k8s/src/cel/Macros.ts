/**
 * `Macros`: calls that are expanded to other expressions while parsing: `has`, `all`, `exists`, `exists_one`, `map`,
 * `filter`, their variants with index and value, `transformList`, `transformMap`, `transformMapEntry`, `sortBy`,
 * `optMap`, `optFlatMap` and, if the environment allows it, `cel.bind`.
 *
 * A call with the name of a macro but another number of arguments is not a macro. In error messages, everything in an
 * expansion has the position of the call.
 *
 * Source: github.com/google/cel-go/parser/macro.go, cel/library.go, ext/{bindings,comprehensions,lists}.go.
 */
import * as Ast from "./Ast.ts"

/** Why a macro is misused. */
export interface Fault {
  readonly at: number
  readonly fault: string
}

export type Macro = (at: number, target: Ast.Expr | undefined, args: ReadonlyArray<Ast.Expr>) => Ast.Expr | Fault

/** The variable that accumulates the result of a fold; expressions cannot refer to it. */
export const accumulator = "@result"
const oldAccumulator = "__result__"

const unusedVariable = "#unused"
const sorted = "@__sortBy_input__"

interface Loop {
  readonly range: Ast.Expr
  readonly names: ReadonlyArray<string>
  readonly init: Ast.Expr
  readonly condition: Ast.Expr
  readonly step: Ast.Expr
  readonly result: Ast.Expr
}

const fold = (at: number, loop: Loop): Ast.Expr => ({
  kind: "fold",
  at,
  range: loop.range,
  variable: loop.names[0]!,
  variable2: loop.names[1],
  accu: accumulator,
  init: loop.init,
  condition: loop.condition,
  step: loop.step,
  result: loop.result
})

const gathered = (at: number): Ast.Expr => Ast.ident(at, accumulator)

const notOverwriting = (expr: Ast.Expr, name: string): Fault | undefined =>
  name === accumulator || name === oldAccumulator
    ? { at: expr.at, fault: "iteration variable overwrites accumulator variable" }
    : undefined

/** The names of loop variables, or why they are invalid. */
const variables = (args: ReadonlyArray<Ast.Expr>, count: number, complaint: string): ReadonlyArray<string> | Fault => {
  const names: Array<string> = []
  for (const arg of args.slice(0, count)) {
    if (arg.kind !== "ident") return { at: arg.at, fault: complaint }
    names.push(arg.name)
  }
  if (count === 2 && names[0] === names[1]) {
    return { at: args[1]!.at, fault: `duplicate variable name: ${names[0]}` }
  }
  for (const [index, name] of names.entries()) {
    const fault = notOverwriting(args[index]!, name)
    if (fault !== undefined) return fault
  }
  return names
}

const isFault = (value: ReadonlyArray<string> | Fault): value is Fault => "fault" in value

const simpleName = "argument must be a simple name"
const notIdentifier = "argument is not an identifier"

const all = (count: number): Macro => (at, target, args) => {
  const names = variables(args, count, simpleName)
  if (isFault(names)) return names
  return fold(at, {
    range: target!,
    names,
    init: Ast.literal(at, true),
    condition: Ast.call(at, "@not_strictly_false", gathered(at)),
    step: Ast.call(at, "_&&_", gathered(at), args[count]!),
    result: gathered(at)
  })
}

const exists = (count: number): Macro => (at, target, args) => {
  const names = variables(args, count, simpleName)
  if (isFault(names)) return names
  return fold(at, {
    range: target!,
    names,
    init: Ast.literal(at, false),
    condition: Ast.call(at, "@not_strictly_false", Ast.call(at, "!_", gathered(at))),
    step: Ast.call(at, "_||_", gathered(at), args[count]!),
    result: gathered(at)
  })
}

const existsOne = (count: number): Macro => (at, target, args) => {
  const names = variables(args, count, simpleName)
  if (isFault(names)) return names
  const more = Ast.call(at, "_+_", gathered(at), Ast.literal(at, 1n))
  return fold(at, {
    range: target!,
    names,
    init: Ast.literal(at, 0n),
    condition: Ast.literal(at, true),
    step: Ast.call(at, "_?_:_", args[count]!, more, gathered(at)),
    result: Ast.call(at, "_==_", gathered(at), Ast.literal(at, 1n))
  })
}

type Gather = (at: number, names: ReadonlyArray<string>, value: Ast.Expr) => Ast.Expr

/** Collects the last argument for each element; an argument between it and the names is a filter. */
const transform = (count: number, init: (at: number) => Ast.Expr, gather: Gather): Macro => (at, target, args) => {
  const names = variables(args, count, count === 1 ? notIdentifier : simpleName)
  if (isFault(names)) return names
  const value = args[args.length - 1]!
  const step = gather(at, names, value)
  const chosen = args.length > count + 1 ? Ast.call(at, "_?_:_", args[count]!, step, gathered(at)) : step
  return fold(at, {
    range: target!,
    names,
    init: init(at),
    condition: Ast.literal(at, true),
    step: chosen,
    result: gathered(at)
  })
}

const append: Gather = (at, _names, value) => Ast.call(at, "_+_", gathered(at), Ast.list(at, [value]))
const insertAtKey: Gather = (at, [name], value) =>
  Ast.call(at, "cel.@mapInsert", gathered(at), Ast.ident(at, name!), value)
const insertEntry: Gather = (at, _names, value) => Ast.call(at, "cel.@mapInsert", gathered(at), value)
const emptyList = (at: number): Ast.Expr => Ast.list(at, [])
const emptyMap = (at: number): Ast.Expr => Ast.map(at, [])

const mapList = transform(1, emptyList, append)

const filter: Macro = (at, target, args) => {
  const names = variables(args, 1, notIdentifier)
  if (isFault(names)) return names
  const step = Ast.call(at, "_+_", gathered(at), Ast.list(at, [args[0]!]))
  return fold(at, {
    range: target!,
    names,
    init: emptyList(at),
    condition: Ast.literal(at, true),
    step: Ast.call(at, "_?_:_", args[1]!, step, gathered(at)),
    result: gathered(at)
  })
}

const has: Macro = (at, _target, [field]) =>
  field?.kind === "select" && !field.test
    ? Ast.select(at, field.operand, field.field, true)
    : { at: field!.at, fault: "invalid argument to has() macro" }

/** Binds `value` to a name in `result`. */
const bind = (at: number, name: string, value: Ast.Expr, result: Ast.Expr): Ast.Expr => ({
  kind: "fold",
  at,
  range: Ast.list(at, []),
  variable: unusedVariable,
  variable2: undefined,
  accu: name,
  init: value,
  condition: Ast.literal(at, false),
  step: Ast.ident(at, name),
  result
})

const optional = (macro: string, wrap: (at: number, result: Ast.Expr) => Ast.Expr): Macro => (at, target, args) => {
  const [variable, result] = args
  if (variable?.kind !== "ident") {
    return { at: variable!.at, fault: `${macro}() variable name must be a simple identifier` }
  }
  const held = Ast.memberCall(at, Ast.copy(target!), "value")
  return Ast.call(
    at,
    "_?_:_",
    Ast.memberCall(at, target!, "hasValue"),
    wrap(at, bind(at, variable.name, held, result!)),
    Ast.call(at, "optional.none")
  )
}

const sortBy: Macro = (at, target, args) => {
  if (target!.kind === "literal" || target!.kind === "map" || target!.kind === "struct") {
    const fault = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
    return { at: target!.at, fault }
  }
  const keys = mapList(at, Ast.ident(at, sorted), args)
  if ("fault" in keys) return keys
  return bind(at, sorted, target!, Ast.memberCall(at, Ast.ident(at, sorted), "@sortByAssociatedKeys", keys))
}

const ofMembers: Readonly<Record<string, Macro>> = {
  "all/2": all(1),
  "all/3": all(2),
  "exists/2": exists(1),
  "exists/3": exists(2),
  "exists_one/2": existsOne(1),
  "exists_one/3": existsOne(2),
  "existsOne/3": existsOne(2),
  "map/2": mapList,
  "map/3": mapList,
  "filter/2": filter,
  "transformList/3": transform(2, emptyList, append),
  "transformList/4": transform(2, emptyList, append),
  "transformMap/3": transform(2, emptyMap, insertAtKey),
  "transformMap/4": transform(2, emptyMap, insertAtKey),
  "transformMapEntry/3": transform(2, emptyMap, insertEntry),
  "transformMapEntry/4": transform(2, emptyMap, insertEntry),
  "sortBy/2": sortBy,
  "optMap/2": optional("optMap", (at, result) => Ast.call(at, "optional.of", result)),
  "optFlatMap/2": optional("optFlatMap", (_at, result) => result)
}

const namedValue: Macro = (at, _target, [variable, value, result]) =>
  variable?.kind === "ident"
    ? bind(at, variable.name, value!, result!)
    : { at: variable!.at, fault: "cel.bind() variable names must be simple identifiers" }

/** The macro that a call refers to, if any; `binds`: whether `cel.bind` is allowed. */
export const find = (
  name: string,
  count: number,
  target: Ast.Expr | undefined,
  binds: boolean
): Macro | undefined => {
  if (target === undefined) return name === "has" && count === 1 ? has : undefined
  const key = `${name}/${count}`
  if (binds && key === "bind/3" && target.kind === "ident" && target.name === "cel") return namedValue
  return Object.hasOwn(ofMembers, key) ? ofMembers[key] : undefined
}
