/**
 * `StaticCallCost`: estimates the maximum cost of a function call, without its arguments, and the size of its result.
 * `CallCost` has the run-time costs of the same calls.
 *
 * Source: github.com/google/cel-go/checker/cost.go (functionCost), k8s.io/apiserver/pkg/cel/library/cost.go
 * (EstimateCallCost) and github.com/google/cel-go/ext/{sets,lists}.go.
 */
import { authorization, regexFactor, traversal } from "./CallCost.ts"
import * as Range from "./CostRange.ts"
import type * as Types from "./Types.ts"
import type { Value } from "./Values.ts"

/** An argument, as far as it matters for costs. */
export interface Node {
  readonly type: Types.Type
  readonly literal: Value | undefined
  readonly size: Range.Range | undefined
  /** The size of a list's items according to its schema. */
  readonly itemSize: () => Range.Range | undefined
}

export interface Estimate {
  readonly cost: Range.Range
  readonly size?: Range.Range
}

type Rule = (target: Node | undefined, args: ReadonlyArray<Node>, overload: string) => Estimate | undefined

const sizeOf = (node: Node | undefined): Range.Range => node?.size ?? Range.unknown

const one: Estimate = { cost: Range.fixed(1) }
const through = (size: Range.Range, factor = traversal): Range.Range => Range.scale(size, factor)

const ofTarget: Rule = (target) =>
  target === undefined ? undefined : { cost: through(sizeOf(target)), size: sizeOf(target) }

const ofArgument = (factor = traversal): Rule => (_, [arg]) =>
  arg === undefined ? undefined : { cost: through(sizeOf(arg), factor) }

const isText = (type: Types.Type): boolean => type.kind === "string" || type.kind === "bytes"

/** The size of the items of a list; undefined for anything else. */
const itemSize = (list: Node): Range.Range | undefined =>
  list.type.params.length === 0 ? undefined : list.itemSize() ?? Range.unknown

const traversing: Rule = (target) => {
  if (target === undefined) return undefined
  const item = target.type.params[0]
  if (item === undefined) return { cost: through(sizeOf(target)) }
  const each = isText(item) ? Range.add(Range.fixed(1), through(itemSize(target)!)) : Range.fixed(1)
  return { cost: Range.multiply(sizeOf(target), each) }
}

const regex = (text: Range.Range, pattern: Range.Range): Range.Range =>
  Range.multiply(through(Range.add(text, Range.fixed(1))), Range.scale(pattern, regexFactor))

const finding: Rule = (target, [pattern]) =>
  target === undefined || pattern === undefined
    ? undefined
    : { cost: regex(sizeOf(target), sizeOf(pattern)), size: { min: 0, max: sizeOf(target).max } }

const replacing: Rule = (target, [old, next]) => {
  if (target === undefined || old === undefined || next === undefined) return undefined
  const size = sizeOf(target)
  const before = sizeOf(old)
  const after = sizeOf(next)
  const most = before.min === 0
    ? { count: Math.min(size.max + 1, Range.limit), kept: size.max }
    : after.max <= before.min
    ? { count: 0, kept: size.max }
    : { count: Math.ceil(size.max / before.min), kept: 0 }
  const least = before.max === 0
    ? { count: Math.min(size.min + 1, Range.limit), kept: size.min }
    : before.max <= after.min
    ? { count: 0, kept: size.min }
    : { count: Math.ceil(size.min / before.max), kept: 0 }
  const result = Range.add(
    Range.multiply({ min: least.count, max: most.count }, after),
    { min: least.kept, max: most.kept }
  )
  return { cost: through(size, 2 * traversal), size: result }
}

const splitting: Rule = (target, [, limit]) => {
  if (target === undefined) return undefined
  const size = sizeOf(target)
  const max = typeof limit?.literal === "bigint"
    ? limit.literal < 0n ? Range.limit : Number(limit.literal)
    : size.max
  return { cost: through(size, 2 * traversal), size: { min: 0, max } }
}

const joining: Rule = (target, [separator]) => {
  if (target === undefined) return undefined
  const count = sizeOf(target)
  let size = Range.multiply(count, itemSize(target) ?? Range.zero)
  if (separator !== undefined) {
    const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
    size = Range.add(size, Range.multiply(sizeOf(separator), gaps))
  }
  return { cost: through(size), size }
}

const selector: Rule = (_, [text]) => {
  if (text === undefined) return undefined
  const size = sizeOf(text)
  const requirements = Range.scale(Range.scale(size, 0.5), 50)
  return { cost: Range.add(Range.add(Range.fixed(10), through(size)), requirements) }
}

/** An address has 4 to 16 bytes. */
const address = { min: 4, max: 16 }

const containing = (again: boolean): Rule => (_, [other], overload) => {
  if (other === undefined) return undefined
  let cost = through(Range.add(address, address))
  if (again) cost = Range.add(Range.add(cost, through(address)), Range.fixed(1))
  return { cost: overload.endsWith("_string") ? Range.add(cost, through(sizeOf(other))) : cost }
}

const validating: Rule = (_, [text]) =>
  text === undefined ? undefined : { cost: Range.scale(through(sizeOf(text)), 128 * regexFactor) }

const constantEquality: ReadonlySet<string> = new Set([
  "net.IP",
  "net.CIDR",
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "kubernetes.authorization.Authorizer",
  "kubernetes.authorization.PathCheck",
  "kubernetes.authorization.GroupCheck",
  "kubernetes.authorization.ResourceCheck",
  "kubernetes.authorization.Decision"
])

const equality: Rule = (_, [left, right]) => {
  const name = left?.type.name
  if (name === undefined || name !== right?.type.name) return undefined
  if (constantEquality.has(name)) return one
  if (name === "kubernetes.NamedFormat") return { cost: through({ min: 1, max: 64 }) }
  return name === "kubernetes.URL" ? { cost: through({ min: 1, max: right.size?.max ?? 1 }) } : undefined
}

const fixed = (cost: number): Rule => () => ({ cost: Range.fixed(cost) })

const table = (names: ReadonlyArray<string>, rule: Rule): Record<string, Rule> =>
  Object.fromEntries(names.map((name) => [name, rule]))

/** Kubernetes' rules for functions, by name. */
const byName: Readonly<Record<string, Rule>> = {
  check: fixed(authorization),
  fieldSelector: selector,
  labelSelector: selector,
  ...table(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], traversing),
  ...table(
    ["url", "jsonpatch.escapeKey"],
    (_, [text]) => text === undefined ? undefined : { cost: through(sizeOf(text)), size: sizeOf(text) }
  ),
  ...table(["lowerAscii", "upperAscii", "substring", "trim"], ofTarget),
  replace: replacing,
  split: splitting,
  join: joining,
  find: finding,
  findAll: finding,
  ...table(["cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"], ofArgument()),
  ip: (target, args, overload) => overload === "cidr_ip" ? one : ofArgument()(target, args, overload),
  "ip.isCanonical": ofArgument(2 * traversal),
  containsIP: containing(false),
  containsCIDR: containing(true),
  validate: validating,
  "_==_": equality
}

const allocating = (factor: number, size: Range.Range): Estimate => ({
  cost: Range.add(Range.scale(size, factor), Range.fixed(11)),
  size
})

const whole = (node: Node | undefined, otherwise: number): number =>
  typeof node?.literal === "bigint" ? Math.max(0, Number(node.literal)) : otherwise

const squared = (node: Node | undefined, factor: number): Estimate => {
  const size = sizeOf(node)
  return allocating(factor, Range.multiply(size, size))
}

const sets = (factor: number): Rule => (_, [a, b]) => ({
  cost: Range.add(Range.scale(Range.multiply(sizeOf(a), sizeOf(b)), factor), Range.fixed(1))
})

const flattening: Rule = (target, [depth]) =>
  target === undefined
    ? undefined
    : allocating(depth === undefined ? 1 : whole(depth, Range.limit), sizeOf(target))

/** The libraries' rules for their overloads. */
const byOverload: Readonly<Record<string, Rule>> = {
  list_slice: (target, [start, end]) => {
    const size = whole(end, sizeOf(target).max) - whole(start, 0)
    return allocating(1, Range.fixed(size < 0 ? Range.limit : size))
  },
  list_flatten: flattening,
  list_flatten_int: flattening,
  lists_range: (_, [count]) => allocating(1, Range.fixed(whole(count, Range.limit))),
  list_reverse: (target) => allocating(1, sizeOf(target)),
  list_distinct: (target) => squared(target, 2),
  list_sets_contains_list: sets(1),
  list_sets_intersects_list: sets(1),
  list_sets_equivalent_list: sets(2)
}

const sorting = /^list_(.*)_(sort|sortByAssociatedKeys)$/

const sorted = (overload: string, target: Node | undefined, args: ReadonlyArray<Node>): Estimate | undefined => {
  const match = sorting.exec(overload)
  if (match === null) return undefined
  const factor = match[1] === "string" || match[1] === "bytes" ? 2 + traversal : 2
  return squared(match[2] === "sort" ? target : args[0], factor)
}

const smallerOf = (left: Range.Range, right: Range.Range): Range.Range => {
  const max = Math.min(left.max, right.max)
  return { min: max > 0 ? 1 : 0, max }
}

const comparing: Rule = (_, [left, right]) => ({ cost: through(smallerOf(sizeOf(left), sizeOf(right))) })

const product: Rule = (target, [part]) =>
  target === undefined ? undefined : { cost: Range.multiply(through(sizeOf(target)), through(sizeOf(part))) }

/** The rules for the language's own overloads. */
const standard: Readonly<Record<string, Rule>> = {
  string_format: (target) => target === undefined ? undefined : { cost: through(sizeOf(target)) },
  string_to_bytes: (_, [text]) => ({
    cost: through(sizeOf(text)),
    size: { min: sizeOf(text).min, max: Math.min(sizeOf(text).max * 4, Range.limit) }
  }),
  bytes_to_string: (_, [bytes]) => ({
    cost: through(sizeOf(bytes)),
    size: { min: Math.floor(sizeOf(bytes).min / 4), max: sizeOf(bytes).max }
  }),
  strings_quote: (_, [text]) => ({
    cost: through(sizeOf(text)),
    size: { min: sizeOf(text).min + 2, max: Math.min(sizeOf(text).max * 2 + 2, Range.limit) }
  }),
  starts_with_string: ofArgument(),
  ends_with_string: ofArgument(),
  in_list: (_, [, list]) => ({ cost: sizeOf(list) }),
  matches_string: (target, [pattern]) =>
    target === undefined ? undefined : { cost: regex(sizeOf(target), sizeOf(pattern)) },
  contains_string: product,
  add_list: (_, [a, b]) => ({ cost: Range.fixed(1), size: Range.add(sizeOf(a), sizeOf(b)) }),
  ...table(["add_string", "add_bytes"], (_, [a, b]) => {
    const size = Range.add(sizeOf(a), sizeOf(b))
    return { cost: through(size), size }
  }),
  ...table(
    ["less", "greater", "less_equals", "greater_equals"].flatMap((name) => [`${name}_string`, `${name}_bytes`]),
    comparing
  ),
  equals: comparing,
  not_equals: comparing
}

const rule = (rules: Readonly<Record<string, Rule>>, key: string): Rule | undefined =>
  Object.hasOwn(rules, key) ? rules[key] : undefined

/** The estimate for one overload of a function. */
export const estimateCall = (
  name: string,
  overload: string,
  target: Node | undefined,
  args: ReadonlyArray<Node>
): Estimate =>
  rule(byOverload, overload)?.(target, args, overload) ??
    sorted(overload, target, args) ??
    rule(byName, name)?.(target, args, overload) ??
    rule(standard, overload)?.(target, args, overload) ??
    one
