/**
 * `Checker`: determines the types of an expression, or its type errors.
 *
 * Every node gets a type, every call the matching overloads. A type known only at run time is `dyn` and matches
 * everything; several overloads may then remain. Errors are worded as the server's, one for each position.
 *
 * Source: github.com/google/cel-go/checker/checker.go.
 */
import * as Ast from "./Ast.ts"
import type { FunctionDeclaration, Functions, Overload } from "./Functions.ts"
import type { Issue } from "./Source.ts"
import * as Types from "./Types.ts"
import * as Values from "./Values.ts"

/** The object types that an expression may use, and their fields. */
export interface TypeProvider {
  /**
   * The type of a field; undefined if there is no such field. `keyword`: a field may also be found under its escaped
   * name.
   */
  readonly field: (type: string, name: string) => Types.Type | undefined
  /** True if there is such an object type. */
  readonly isStruct: (type: string) => boolean
}

export interface Declarations {
  readonly variables: ReadonlyMap<string, Types.Type>
  readonly functions: Functions
  readonly provider: TypeProvider
}

/** What a name refers to. */
export type Reference =
  | { readonly _tag: "Variable"; readonly name: string }
  | { readonly _tag: "TypeName"; readonly name: string }

/** The resolved function of a call. */
export interface Resolution {
  readonly declaration: FunctionDeclaration
  readonly overloads: ReadonlyArray<Overload>
  /** True if the function's name is qualified, and the call's target is part of that name. */
  readonly qualified: boolean
}

export interface Checked {
  readonly issues: ReadonlyArray<Issue>
  readonly typeOf: (expr: Ast.Expr) => Types.Type
  readonly references: ReadonlyMap<Ast.Expr, Reference>
  readonly calls: ReadonlyMap<Ast.Expr, Resolution>
}

export const check = (expr: Ast.Expr, declarations: Declarations): Checked => {
  const checker = new Checker(declarations)
  checker.check(expr)
  const types = checker.types
  const finished = new Map<Ast.Expr, Types.Type>()
  return {
    issues: checker.issues,
    references: checker.references,
    calls: checker.calls,
    typeOf: (node) => {
      let type = finished.get(node)
      if (type === undefined) {
        type = checker.known.apply(types.get(node) ?? Types.error, false)
        finished.set(node, type)
      }
      return type
    }
  }
}

/** Types with a name in the language. */
const typeNames: ReadonlyMap<string, Types.Type> = new Map([
  ...[
    Types.bool,
    Types.bytes,
    Types.double,
    Types.duration,
    Types.int,
    Types.nullType,
    Types.string,
    Types.timestamp,
    Types.typeType,
    Types.uint
  ].map((type) => [type.name, type] as const),
  ["list", Types.list(Types.dyn)] as const,
  ["map", Types.map(Types.dyn, Types.dyn)] as const,
  ["optional_type", Types.optional(Types.dyn)] as const,
  ["net.IP", Types.opaque("net.IP")] as const,
  ["net.CIDR", Types.opaque("net.CIDR")] as const
])

class Checker {
  readonly issues: Array<Issue> = []
  readonly types = new Map<Ast.Expr, Types.Type>()
  readonly references = new Map<Ast.Expr, Reference>()
  readonly calls = new Map<Ast.Expr, Resolution>()
  readonly known = new Types.Substitution()
  private readonly declarations: Declarations
  private readonly locals: Array<ReadonlyMap<string, Types.Type>> = []
  private freeTypes = 0

  constructor(declarations: Declarations) {
    this.declarations = declarations
  }

  check(expr: Ast.Expr): Types.Type {
    const type = this.typeOfNode(expr)
    this.types.set(expr, type)
    return type
  }

  private complain(at: number, message: string): Types.Type {
    this.issues.push({ at, message })
    return Types.error
  }

  private typeOfNode(expr: Ast.Expr): Types.Type {
    switch (expr.kind) {
      case "literal":
        return Values.typeOf(expr.value)
      case "ident":
        return this.named(expr, expr.name) ?? this.undeclared(expr.at, expr.name)
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

  private undeclared(at: number, name: string): Types.Type {
    return this.complain(at, `undeclared reference to '${name}' (in container '')`)
  }

  private local(name: string): Types.Type | undefined {
    for (let depth = this.locals.length - 1; depth >= 0; depth--) {
      const type = this.locals[depth]!.get(name)
      if (type !== undefined) return type
    }
    return undefined
  }

  /** The type of a variable or type name; records which of the two it is. */
  private named(expr: Ast.Expr, written: string): Types.Type | undefined {
    const name = written.startsWith(".") ? written.slice(1) : written
    const variable = (written === name ? this.local(name) : undefined) ?? this.declarations.variables.get(name)
    if (variable !== undefined) {
      this.references.set(expr, { _tag: "Variable", name })
      return variable
    }
    const type = typeNames.get(name) ?? (this.declarations.provider.isStruct(name) ? Types.struct(name) : undefined)
    if (type === undefined) return undefined
    this.references.set(expr, { _tag: "TypeName", name })
    return Types.typeOf(type)
  }

  private selection(expr: Ast.Select): Types.Type {
    const name = Ast.qualifiedName(expr)
    const whole = name === undefined ? undefined : this.named(expr, name)
    if (whole !== undefined) return whole
    const type = this.field(expr, expr.operand, expr.field, false)
    return expr.test ? Types.bool : this.known.apply(type)
  }

  private field(expr: Ast.Expr, operand: Ast.Expr, name: string, optional: boolean): Types.Type {
    const whole = this.known.apply(this.check(operand))
    const target = Types.unwrapOptional(whole)
    const result = this.fieldOf(expr, target, name)
    return optional || Types.isOptional(whole) ? Types.optional(result) : result
  }

  private fieldOf(expr: Ast.Expr, target: Types.Type, name: string): Types.Type {
    switch (target.kind) {
      case "map":
        return target.params[1]!
      case "struct":
        return this.declarations.provider.field(target.name, name) ??
          this.complain(
            expr.at,
            this.declarations.provider.isStruct(target.name)
              ? `undefined field '${name}'`
              : `unexpected failed resolution of '${target.name}'`
          )
      case "param":
        this.known.assign([Types.dyn], [target])
        return Types.dyn
      default:
        if (!Types.isDyn(target) && target.kind !== "error") {
          this.complain(expr.at, `type '${Types.format(target)}' does not support field selection`)
        }
        return Types.dyn
    }
  }

  private call(expr: Ast.Call): Types.Type {
    const { functions } = this.declarations
    if (expr.name === "_?._") return this.optionalSelection(expr)
    const args = expr.args.map((arg) => this.check(arg))
    const places = expr.args.map(({ at }) => at)
    if (expr.target === undefined) {
      const name = expr.name.startsWith(".") ? expr.name.slice(1) : expr.name
      const declaration = functions.get(name)
      return declaration === undefined
        ? this.undeclared(expr.at, expr.name)
        : this.resolve(expr, declaration, undefined, args, places)
    }
    const prefix = Ast.qualifiedName(expr.target)
    const qualified = prefix === undefined ? undefined : functions.get(`${prefix}.${expr.name}`)
    if (qualified !== undefined) return this.resolve(expr, qualified, undefined, args, places)
    const target = this.check(expr.target)
    const declaration = functions.get(expr.name)
    return declaration === undefined
      ? this.undeclared(expr.at, expr.name)
      : this.resolve(expr, declaration, target, args, places)
  }

  private optionalSelection(expr: Ast.Call): Types.Type {
    const [operand, field] = expr.args
    const name = field?.kind === "literal" ? String(field.value) : ""
    const type = this.known.apply(this.field(expr, operand!, name, true))
    const declaration = this.declarations.functions.get("_?._")!
    this.types.set(field!, Types.string)
    this.calls.set(expr, { declaration, overloads: declaration.overloads, qualified: false })
    return type
  }

  private resolve(
    expr: Ast.Call,
    declaration: FunctionDeclaration,
    target: Types.Type | undefined,
    args: ReadonlyArray<Types.Type>,
    places: ReadonlyArray<number>
  ): Types.Type {
    const qualified = target === undefined && expr.target !== undefined
    if (declaration.name === "_&&_" || declaration.name === "_||_") {
      return this.logical(expr, declaration, args, places)
    }
    const given = target === undefined ? args : [target, ...args]
    const fitting: Array<Overload> = []
    let result: Types.Type | undefined
    for (const overload of declaration.overloads) {
      if (overload.member !== (target !== undefined)) continue
      const fresh = new Map<string, Types.Type>()
      const wanted = overload.params.map((param) => this.instantiate(param, fresh))
      if (!this.known.assign(given, wanted)) continue
      fitting.push(overload)
      const type = this.known.apply(this.instantiate(overload.result, fresh))
      result = result === undefined || !Types.isDyn(result) && Types.same(type, result)
        ? type
        : Types.isDyn(result)
        ? result
        : Types.dyn
    }
    if (result === undefined) {
      const shown = given.map((type) => Types.format(this.known.apply(type, false)))
      const [first, ...rest] = shown
      const signature = target === undefined ? `(${shown.join(", ")})` : `${first}.(${rest.join(", ")})`
      return this.complain(
        expr.at,
        `found no matching overload for '${declaration.name}' applied to '${signature}'`
      )
    }
    this.calls.set(expr, { declaration, overloads: fitting, qualified })
    return result
  }

  private logical(
    expr: Ast.Call,
    declaration: FunctionDeclaration,
    args: ReadonlyArray<Types.Type>,
    places: ReadonlyArray<number>
  ): Types.Type {
    let right = true
    for (const [index, type] of args.entries()) {
      if (this.known.assign([type], [Types.bool])) continue
      right = false
      this.mismatch(places[index]!, Types.bool, type)
    }
    if (!right) return Types.error
    this.calls.set(expr, { declaration, overloads: declaration.overloads, qualified: false })
    return Types.bool
  }

  private freeType(): Types.Type {
    return Types.param(`_var${this.freeTypes++}`)
  }

  /** The type with its type parameters replaced by fresh ones, consistently. */
  private instantiate(type: Types.Type, fresh: Map<string, Types.Type>): Types.Type {
    if (type.kind !== "param") {
      return type.params.length === 0
        ? type
        : { ...type, params: type.params.map((inner) => this.instantiate(inner, fresh)) }
    }
    let made = fresh.get(type.name)
    if (made === undefined) {
      made = this.freeType()
      fresh.set(type.name, made)
    }
    return made
  }

  private mismatch(at: number, expected: Types.Type, found: Types.Type): Types.Type {
    return this.complain(at, `expected type '${Types.format(expected)}' but found '${Types.format(found)}'`)
  }

  /** The more general of two compatible types; dyn if they are not compatible. */
  private joined(previous: Types.Type | undefined, current: Types.Type): Types.Type {
    if (previous === undefined) return current
    if (this.known.assign([previous], [current])) {
      return Types.moreGeneral(previous, current) ? previous : current
    }
    // The validators report literals of mixed types.
    return Types.dyn
  }

  private held(expr: Ast.Expr, type: Types.Type, optional: boolean): Types.Type {
    if (!optional) return type
    if (!Types.isOptional(type) && !Types.isDyn(type)) this.mismatch(expr.at, Types.optional(type), type)
    return Types.unwrapOptional(type)
  }

  private list(expr: Ast.ListLiteral): Types.Type {
    let item: Types.Type | undefined
    for (const [index, inner] of expr.items.entries()) {
      const type = this.held(inner, this.check(inner), expr.optional.has(index))
      item = this.joined(item, type)
    }
    return Types.list(item ?? this.freeType())
  }

  private map(expr: Ast.MapLiteral): Types.Type {
    let key: Types.Type | undefined
    let value: Types.Type | undefined
    for (const entry of expr.entries) {
      key = this.joined(key, this.check(entry.key))
      const type = this.held(entry.value, this.check(entry.value), entry.optional)
      value = this.joined(value, type)
    }
    return Types.map(key ?? this.freeType(), value ?? this.freeType())
  }

  private struct(expr: Ast.StructLiteral): Types.Type {
    const name = expr.type.startsWith(".") ? expr.type.slice(1) : expr.type
    const { provider } = this.declarations
    const known = provider.isStruct(name)
    if (!known) {
      const type = typeNames.get(name)
      if (type === undefined) return this.undeclared(expr.at, expr.type)
      this.complain(expr.at, `'${name}' is not a message type`)
    }
    for (const field of expr.fields) {
      const given = this.held(field.value, this.check(field.value), field.optional)
      const wanted = known ? provider.field(name, field.name) : Types.error
      if (wanted === undefined) this.complain(field.at, `undefined field '${field.name}'`)
      else if (!this.known.assign([wanted], [given])) {
        const types = `'${Types.format(wanted)}' but provided type is '${Types.format(given)}'`
        this.complain(field.at, `expected type of field '${field.name}' is ${types}`)
      }
    }
    return known ? Types.struct(name) : Types.error
  }

  private fold(expr: Ast.Fold): Types.Type {
    this.check(expr.range)
    const accu = this.check(expr.init)
    const range = this.known.apply(this.types.get(expr.range)!)
    this.locals.push(new Map([[expr.accu, accu]]))
    const [first, second] = this.loopTypes(expr, range)
    const loop = new Map([[expr.variable, first]])
    if (expr.variable2 !== undefined) loop.set(expr.variable2, second)
    this.locals.push(loop)
    this.asserted(expr.condition, Types.bool)
    this.asserted(expr.step, accu)
    this.locals.pop()
    const result = this.check(expr.result)
    this.locals.pop()
    return this.known.apply(result)
  }

  private asserted(expr: Ast.Expr, wanted: Types.Type): void {
    const found = this.check(expr)
    if (!this.known.assign([wanted], [found])) this.mismatch(expr.at, wanted, found)
  }

  private loopTypes(expr: Ast.Fold, range: Types.Type): readonly [Types.Type, Types.Type] {
    const pair = expr.variable2 !== undefined
    switch (range.kind) {
      case "list":
        return pair ? [Types.int, range.params[0]!] : [range.params[0]!, Types.error]
      case "map":
        return [range.params[0]!, range.params[1]!]
      case "dyn":
      case "any":
      case "error":
      case "param":
        this.known.assign([Types.dyn], [range])
        return [Types.dyn, Types.dyn]
      default: {
        const what = `expression of type '${Types.format(range)}'`
        this.complain(expr.range.at, `${what} cannot be range of a comprehension (must be list, map, or dynamic)`)
        return [Types.error, Types.error]
      }
    }
  }
}
