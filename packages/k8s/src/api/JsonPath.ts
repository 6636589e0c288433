/**
 * `JsonPath`: the paths of printer columns, as the API server evaluates them.
 *
 * `.a.b`, `['a.b']` (parsed as a path, so dots are escaped with `\`), `[0]`, `[-1]`, `[0:2]`, `[*]`, `.*`, `..name`,
 * unions in brackets, and filters such as `[?(@.type=="Ready")]`. A missing field yields no value. An index out of
 * bounds, an index into something other than a list, or a comparison of values of different types makes the whole path
 * yield nothing. Odd paths are parsed as the server does: `.a.['b']` reads a field without a name.
 *
 * Source: k8s.io/client-go/util/jsonpath, parser.go and jsonpath.go.
 */
import * as JsonValue from "../schema/JsonValue.ts"

type Node =
  | { readonly _tag: "Value"; readonly value: string | number | boolean }
  | { readonly _tag: "Field"; readonly name: string }
  | { readonly _tag: "Wildcard" }
  | { readonly _tag: "Recursive" }
  | { readonly _tag: "Slice"; readonly from: number; readonly to: number | undefined; readonly step: number }
  | { readonly _tag: "Union"; readonly paths: ReadonlyArray<Path> }
  | { readonly _tag: "Filter"; readonly left: Path; readonly right: Path; readonly operator: string }
  /** A word without a meaning. */
  | { readonly _tag: "Unknown" }

export type Path = ReadonlyArray<Node>

/** The nodes parsed from a position, and where they end. */
interface Read {
  readonly nodes: ReadonlyArray<Node>
  readonly end: number
}

const fieldAt = (text: string, start: number): Read => {
  const [name = ""] = /^(?:\\[^]|[^\\ \t\r\n.,[\]$@{}])*/.exec(text.slice(start)) ?? []
  const node: Node = name === "*" ? { _tag: "Wildcard" } : { _tag: "Field", name: name.replaceAll("\\", "") }
  return { nodes: [node], end: start + name.length }
}

const sliceOf = (text: string): Node | undefined => {
  const parts = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/.exec(text)
  if (parts === null || parts.slice(1).includes("-")) return undefined
  const [, from = "", to, step = ""] = parts
  const first = Number(from)
  return {
    _tag: "Slice",
    from: first,
    // `[-1]` extends to the end of the list.
    to: to === undefined ? (first === -1 ? undefined : first + 1) : to === "" ? undefined : Number(to),
    step: step === "" ? 1 : Number(step)
  }
}

const bracketAt = (text: string, start: number): Read | undefined => {
  const close = text.indexOf("]", start)
  if (close < 0) return undefined
  const inner = text.slice(start + 1, close)
  const end = close + 1
  const parts = inner.split(",")
  if (parts.length > 1) {
    const paths = parts.map((part) => parse(`[${part.replace(/^ +| +$/g, "")}]`))
    return paths.includes(undefined)
      ? undefined
      : { nodes: [{ _tag: "Union", paths: paths as ReadonlyArray<Path> }], end }
  }
  const quoted = /^'([^']*)'$/.exec(inner)
  if (quoted !== null) {
    const nodes = parse(`.${quoted[1]}`)
    return nodes && { nodes, end }
  }
  const slice = sliceOf(inner === "*" ? ":" : inner)
  return slice && { nodes: [slice], end }
}

const filterAt = (text: string, start: number): Read | undefined => {
  const condition = /^\[\?\(((?:[^"')]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')*)\)\]/.exec(text.slice(start))
  if (condition === null) return undefined
  const [whole, inner = ""] = condition
  const [, before = inner, operator = "exists", after = ""] = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(inner) ?? []
  const [left, right] = [parse(before), parse(after)]
  return left && right && { nodes: [{ _tag: "Filter", left, right, operator }], end: start + whole.length }
}

const literalAt = (text: string, start: number): Read | undefined => {
  const rest = text.slice(start)
  const quoted = /^(?:"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)')/.exec(rest)
  if (quoted !== null) {
    const value = (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/g, "$1")
    return { nodes: [{ _tag: "Value", value }], end: start + quoted[0].length }
  }
  const number = /^[+-]?[\d.]+/.exec(rest)
  if (number !== null) {
    const value = Number(number[0])
    return Number.isNaN(value) ? undefined : { nodes: [{ _tag: "Value", value }], end: start + number[0].length }
  }
  const word = /^[\p{L}_][^ \t\r\n.,[\]$@{}]*/u.exec(rest)?.[0]
  if (word === undefined) return undefined
  const isBoolean = word === "true" || word === "false"
  return {
    nodes: [isBoolean ? { _tag: "Value", value: word === "true" } : { _tag: "Unknown" }],
    end: start + word.length
  }
}

const partAt = (text: string, start: number, before: Node | undefined): Read | undefined => {
  if (text.startsWith("[?(", start)) return filterAt(text, start)
  if (text.startsWith("..", start)) {
    if (before?._tag === "Recursive") return undefined
    const recursive: Node = { _tag: "Recursive" }
    if (!/^[\p{L}\p{N}_]/u.test(text.slice(start + 2))) return { nodes: [recursive], end: start + 2 }
    const { end, nodes } = fieldAt(text, start + 2)
    return { nodes: [recursive, ...nodes], end }
  }
  switch (text[start]) {
    case " ":
    case "@":
    case "$":
      return { nodes: [], end: start + 1 }
    case "[":
      return bracketAt(text, start)
    case ".":
      return fieldAt(text, start + 1)
    default:
      return literalAt(text, start)
  }
}

/** Parses a path; undefined if it is invalid. */
export const parse = (text: string): Path | undefined => {
  const nodes: Array<Node> = []
  for (let at = 0; at < text.length && text[at] !== "}";) {
    const part = partAt(text, at, nodes.at(-1))
    if (part === undefined) return undefined
    nodes.push(...part.nodes)
    at = part.end
  }
  return nodes
}

/** The values found; undefined if the path does not fit the value. */
type Found = ReadonlyArray<unknown> | undefined

const children = (value: unknown): ReadonlyArray<unknown> =>
  JsonValue.isArray(value) ? value : JsonValue.isObject(value) ? Object.values(value) : []

/** All values that contain others, outermost first. */
const descend = (values: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  values.flatMap((value) => {
    const inner = children(value)
    return inner.length === 0 ? [] : [value, ...descend(inner)]
  })

const sliced = (value: unknown, { from, step, to }: Node & { readonly _tag: "Slice" }): Found => {
  if (value === null) return []
  if (!JsonValue.isArray(value)) return undefined
  const { length } = value
  const begin = from < 0 ? from + length : from
  const end = to === undefined ? length : to < 0 ? to + length : to
  if (begin === end) return []
  if (begin < 0 || begin >= length || end < 0 || end > length || begin > end || step <= 0) return undefined
  return value.slice(begin, end).filter((_, index) => index % step === 0)
}

const operators: Readonly<Record<string, (order: number) => boolean>> = {
  "==": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0
}

const isWhole = (value: unknown): boolean => typeof value !== "number" || Number.isInteger(value)

const compared = (left: unknown, right: unknown, operator: string): boolean | undefined => {
  const holds = operators[operator]
  const comparable = typeof left === typeof right && isWhole(left) === isWhole(right) &&
    (typeof left === "string" || typeof left === "number" || typeof left === "boolean" && /^[!=]=$/.test(operator))
  if (holds === undefined || !comparable) return undefined
  const [a, b] = [left as string | number, right as string | number]
  return holds(a < b ? -1 : a > b ? 1 : 0)
}

const filtered = (value: unknown, { left, operator, right }: Node & { readonly _tag: "Filter" }): Found => {
  if (!JsonValue.isArray(value)) return undefined
  const passed: Array<unknown> = []
  for (const item of value) {
    const lefts = walk([item], left)
    if (operator === "exists") {
      if (lefts !== undefined && lefts.length > 0) passed.push(item)
      continue
    }
    if (lefts?.length === 0) continue
    const rights = lefts && walk([item], right)
    if (rights?.length === 0) continue
    if (lefts?.length !== 1 || rights?.length !== 1) return undefined
    const pass = compared(lefts[0], rights[0], operator)
    if (pass === undefined) return undefined
    if (pass) passed.push(item)
  }
  return passed
}

/** What `f` finds for each value, in one list. */
const each = (values: ReadonlyArray<unknown>, f: (value: unknown) => Found): Found => {
  const found: Array<unknown> = []
  for (const value of values) {
    const some = f(value)
    if (some === undefined) return undefined
    found.push(...some)
  }
  return found
}

const step = (values: ReadonlyArray<unknown>, node: Node): Found => {
  switch (node._tag) {
    case "Value":
      return typeof node.value === "string" ? [node.value] : values.map(() => node.value)
    case "Field":
      return values.flatMap((value) =>
        JsonValue.isObject(value) && JsonValue.has(value, node.name) ? [value[node.name]] : []
      )
    case "Wildcard":
      return values.flatMap(children)
    case "Recursive":
      return descend(values)
    case "Slice":
      return each(values, (value) => sliced(value, node))
    case "Union":
      return each(node.paths, (path) => walk(values, path as Path))
    case "Filter":
      return each(values, (value) => filtered(value, node))
    case "Unknown":
      return undefined
  }
}

const walk = (values: ReadonlyArray<unknown>, path: Path): Found =>
  path.reduce<Found>((found, node) => found && step(found, node), values)

/** All values that a path yields. */
export const find = (value: unknown, path: Path): ReadonlyArray<unknown> => walk([value], path) ?? []
