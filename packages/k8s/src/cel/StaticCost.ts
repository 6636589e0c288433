/**
 * `StaticCost`: estimates the maximum cost of an expression before it runs.
 *
 * Sizes of strings, lists and maps come from the schema if a path leads there, or from literals in the expression;
 * otherwise they are unlimited. Estimates are ranges, capped at 2^64.
 *
 * Source: github.com/google/cel-go/checker/cost.go.
 */
import * as Ast from "./Ast.ts"
import type { Checked } from "./Checker.ts"
import type { DeclaredType } from "./DeclaredTypes.ts"
import * as Range from "./CostRange.ts"
import { type Estimate, estimateCall, type Node } from "./StaticCallCost.ts"
import { accumulator } from "./Macros.ts"
import * as Types from "./Types.ts"
import { codePoints } from "./Values.ts"

/**
 * The origin of data: a variable, followed by fields, `@items`, `@keys` and `@values`. For data without an origin the
 * path starts with its selections, so a path of one step is taken for the root.
 */
type Path = ReadonlyArray<string>

/** The sizes of the entries of a list or map. */
interface Entries {
  readonly kind: "list" | "map"
  readonly key: Range.Range
  readonly value: Range.Range
}

interface Local {
  readonly path: Path | undefined
  readonly size: Range.Range | undefined
  readonly entries: Entries | undefined
}

const one = Range.fixed(1)

/** The cost range of an expression; `root` is the type of its variables. */
export const estimate = (expr: Ast.Expr, checked: Checked, root: DeclaredType | undefined): Range.Range =>
  new Estimator(checked, root).cost(expr)

class Estimator {
  private readonly checked: Checked
  private readonly root: DeclaredType | undefined
  private readonly paths = new Map<Ast.Expr, Path | undefined>()
  private readonly sizes = new Map<Ast.Expr, Range.Range>()
  private readonly entries = new Map<Ast.Expr, Entries>()
  private readonly locals: Array<readonly [string, Local]> = []

  constructor(checked: Checked, root: DeclaredType | undefined) {
    this.checked = checked
    this.root = root
  }

  cost(expr: Ast.Expr): Range.Range {
    switch (expr.kind) {
      case "literal":
        return Range.zero
      case "ident":
        this.paths.set(expr, this.isBound(expr.name) ? this.local(expr.name)!.path : [expr.name])
        return one
      case "select":
        return this.selection(expr)
      case "call":
        return this.call(expr)
      case "list":
        return this.list(expr)
      case "map":
        return this.map(expr)
      case "struct":
        return expr.fields.reduce((sum, { value }) => Range.add(sum, this.cost(value)), Range.fixed(40))
      case "fold":
        return isBinding(expr) ? this.binding(expr) : this.fold(expr)
    }
  }

  private local(name: string): Local | undefined {
    return this.locals.findLast(([known]) => known === name)?.[1]
  }

  private selection(expr: Ast.Select): Range.Range {
    const reference = this.checked.references.get(expr)
    if (reference !== undefined) {
      // A qualified name, such as `authorizer.requestResource`, is a variable.
      this.paths.set(expr, [reference.name])
      return one
    }
    const inner = this.cost(expr.operand)
    if (expr.test) return inner
    this.paths.set(expr, [...this.pathOf(expr.operand) ?? [], expr.field])
    const { kind } = this.checked.typeOf(expr.operand)
    return kind === "map" || kind === "struct" || kind === "param" ? Range.add(inner, one) : inner
  }

  private pathOf(expr: Ast.Expr): Path | undefined {
    return (expr.kind === "ident" ? this.local(expr.name)?.path : undefined) ?? this.paths.get(expr)
  }

  private list(expr: Ast.ListLiteral): Range.Range {
    let sum = Range.zero
    let item: Range.Range | undefined
    for (const inner of expr.items) {
      sum = Range.add(sum, this.cost(inner))
      item = Range.maybeUnion(item, this.sizeOrUnknown(inner))
    }
    this.entries.set(expr, { kind: "list", key: one, value: item ?? Range.zero })
    return Range.add(sum, Range.fixed(10))
  }

  private map(expr: Ast.MapLiteral): Range.Range {
    let sum = Range.zero
    let key: Range.Range | undefined
    let value: Range.Range | undefined
    for (const entry of expr.entries) {
      sum = Range.add(Range.add(sum, this.cost(entry.key)), this.cost(entry.value))
      key = Range.maybeUnion(key, this.sizeOrUnknown(entry.key))
      value = Range.maybeUnion(value, this.sizeOrUnknown(entry.value))
    }
    this.entries.set(expr, { kind: "map", key: key ?? Range.zero, value: value ?? Range.zero })
    return Range.add(sum, Range.fixed(30))
  }

  private call(expr: Ast.Call): Range.Range {
    const resolution = this.checked.calls.get(expr)
    const name = resolution?.declaration.name ?? expr.name
    if (name === "dyn") {
      const cost = this.cost(expr.args[0]!)
      this.copySizes(expr, expr.args[0]!)
      return Range.add(cost, one)
    }
    const costs = expr.args.map((arg) => this.cost(arg))
    const args = expr.args.map((arg) => this.node(arg))
    if (resolution === undefined) return Range.zero
    const isMember = expr.target !== undefined && !resolution.qualified
    const base = isMember ? this.cost(expr.target!) : Range.zero
    const target = isMember ? this.node(expr.target!) : undefined
    const ids = name === "_?._" ? ["select_optional_field"] : resolution.overloads.map(({ id }) => id)
    let total: Range.Range | undefined
    let size: Range.Range | undefined
    for (const id of ids) {
      const made = this.function(expr, name, id, target, args, costs)
      total = Range.maybeUnion(total, made.cost)
      if (made.size !== undefined) size = Range.maybeUnion(size, made.size)
      if (id === "index_list" || id === "index_map") {
        size = this.entriesOf(expr.args[0]!)?.value
        const path = this.pathOf(expr.args[0]!) ?? []
        this.paths.set(expr, [...path, id === "index_list" ? "@items" : "@values"])
      }
      size ??= this.size(expr)
    }
    if (size !== undefined) this.sizes.set(expr, size)
    return Range.add(base, total ?? Range.zero)
  }

  /** The cost of one overload, including its arguments. */
  private function(
    expr: Ast.Call,
    name: string,
    id: string,
    target: Node | undefined,
    args: ReadonlyArray<Node>,
    costs: ReadonlyArray<Range.Range>
  ): Estimate {
    switch (id) {
      case "logical_or":
      case "logical_and":
        return { cost: { min: costs[0]!.min, max: Range.add(costs[0]!, costs[1]!).max } }
      case "conditional": {
        const [, yes, no] = expr.args
        const entries = unionEntries(this.entriesOf(yes!), this.entriesOf(no!))
        if (entries !== undefined) this.entries.set(expr, entries)
        return {
          cost: Range.add(costs[0]!, Range.union(costs[1]!, costs[2]!)),
          size: Range.union(this.sizeOrUnknown(yes!), this.sizeOrUnknown(no!))
        }
      }
      case "add_string":
      case "add_bytes":
      case "add_list": {
        const entries = unionEntries(this.entriesOf(expr.args[0]!), this.entriesOf(expr.args[1]!))
        if (entries !== undefined) this.entries.set(expr, entries)
        break
      }
    }
    const made = estimateCall(name, id, target, args)
    return { ...made, cost: costs.reduce(Range.add, made.cost) }
  }

  private node(expr: Ast.Expr): Node {
    const path = this.pathOf(expr)
    const visible = path?.[0] === accumulator ? undefined : path
    return {
      type: this.checked.typeOf(expr),
      literal: expr.kind === "literal" ? expr.value : undefined,
      size: this.size(expr),
      itemSize: () => visible === undefined ? undefined : this.declaredSize([...visible, "@items"])
    }
  }

  private isBound(name: string): boolean {
    return this.local(name) !== undefined
  }

  private binding(expr: Ast.Fold): Range.Range {
    const sum = Range.add(this.cost(expr.range), this.cost(expr.init))
    this.locals.push([expr.accu, this.localOf(expr.init)])
    const result = this.cost(expr.result)
    this.copySizes(expr, expr.result)
    this.locals.pop()
    return Range.add(sum, result)
  }

  private localOf(expr: Ast.Expr): Local {
    return { path: this.pathOf(expr), size: this.size(expr), entries: this.entriesOf(expr) }
  }

  private fold(expr: Ast.Fold): Range.Range {
    const sum = Range.add(this.cost(expr.range), this.cost(expr.init))
    this.locals.push([expr.accu, this.localOf(expr.init)])
    const entries = this.entriesOf(expr.range)
    const kind = entries?.kind ?? (this.checked.typeOf(expr.range).kind === "list" ? "list" : "map")
    const path = this.pathOf(expr.range)
    const variable = (name: string, part: string, size: Range.Range | undefined): void => {
      this.locals.push([name, { path: [...path ?? [], part], size, entries: undefined }])
    }
    if (expr.variable2 === undefined) {
      variable(expr.variable, kind === "list" ? "@items" : "@keys", kind === "list" ? entries?.value : entries?.key)
    } else {
      variable(expr.variable, kind === "list" ? "@indices" : "@keys", entries?.key)
      variable(expr.variable2, kind === "list" ? "@items" : "@values", entries?.value)
    }
    const step = Range.add(this.cost(expr.condition), this.cost(expr.step))
    const stepEntries = this.entriesOf(expr.step)
    this.locals.length -= expr.variable2 === undefined ? 1 : 2
    const result = this.cost(expr.result)
    this.locals.pop()
    const count = this.sizeOrUnknown(expr.range)
    if (expr.init.kind === "literal") {
      const size = this.size(expr.init)
      if (size !== undefined) this.sizes.set(expr, size)
    } else if (expr.init.kind === "list" || expr.init.kind === "map") {
      this.sizes.set(expr, count)
      if (stepEntries !== undefined) this.entries.set(expr, stepEntries)
    }
    return Range.add(Range.add(sum, result), Range.multiply(count, step))
  }

  private copySizes(to: Ast.Expr, from: Ast.Expr): void {
    const size = this.size(from)
    if (size !== undefined) this.sizes.set(to, size)
    const entries = this.entriesOf(from)
    if (entries !== undefined) this.entries.set(to, entries)
  }

  private entriesOf(expr: Ast.Expr): Entries | undefined {
    return this.entries.get(expr) ?? (expr.kind === "ident" ? this.local(expr.name)?.entries : undefined)
  }

  private sizeOrUnknown(expr: Ast.Expr): Range.Range {
    return this.size(expr) ?? Range.unknown
  }

  private size(expr: Ast.Expr): Range.Range | undefined {
    const known = this.sizes.get(expr) ?? ownSize(expr)
    if (known !== undefined) return known
    const path = this.pathOf(expr)
    const declared = path === undefined ? undefined : this.declaredSize(path)
    if (declared !== undefined) {
      this.sizes.set(expr, declared)
      return declared
    }
    if (isScalar(this.checked.typeOf(expr))) return one
    return expr.kind === "ident" && this.isBound(expr.name) ? this.local(expr.name)!.size : undefined
  }

  private declaredSize(path: Path): Range.Range | undefined {
    if (this.root === undefined || path.length === 0) return undefined
    let current: DeclaredType | undefined = this.root
    for (const part of path.slice(1)) {
      current = part === "@items" || part === "@values"
        ? current.items
        : part === "@keys"
        ? current.keys
        : current.fields?.get(part)
      if (current === undefined) return undefined
    }
    return { min: 0, max: current.maxElements }
  }
}

/** A fold that only binds a value to a name. */
const isBinding = (expr: Ast.Fold): boolean =>
  expr.range.kind === "list" && expr.range.items.length === 0 && expr.condition.kind === "literal" &&
  expr.condition.value === false && expr.accu !== accumulator

const unionEntries = (a: Entries | undefined, b: Entries | undefined): Entries | undefined =>
  a === undefined || b === undefined
    ? undefined
    : { kind: a.kind, key: Range.union(a.key, b.key), value: Range.union(a.value, b.value) }

/** The size of a literal. */
const ownSize = (expr: Ast.Expr): Range.Range | undefined => {
  switch (expr.kind) {
    case "literal":
      return Range.fixed(
        typeof expr.value === "string"
          ? codePoints(expr.value)
          : expr.value instanceof Uint8Array
          ? expr.value.length
          : 1
      )
    case "list":
      return Range.fixed(expr.items.length)
    case "map":
      return Range.fixed(expr.entries.length)
    default:
      return undefined
  }
}

const scalars: ReadonlySet<Types.Kind> = new Set<Types.Kind>(["bool", "double", "duration", "int", "timestamp", "uint"])

const isScalar = (type: Types.Type): boolean =>
  scalars.has(type.kind) || Types.isOptional(type) && isScalar(type.params[0]!)
