/**
 * `Selector`: label and field selectors, as Kubernetes writes them: `app=web,tier in (a,b),!legacy` and
 * `metadata.name=x`.
 *
 * Parsing is total, and reports what it did not understand in the API server's words. `!=` and `notin` also match
 * objects without the key.
 *
 * Source: "Labels and Selectors" and "Field Selectors" of the Kubernetes documentation.
 */
import * as Result from "effect/Result"
import { keyFault, valueFault } from "./internal/LabelSyntax.ts"

/** One condition on a label. */
export type Requirement =
  | { readonly operator: "=" | "!="; readonly key: string; readonly value: string }
  | { readonly operator: "in" | "notin"; readonly key: string; readonly values: ReadonlyArray<string> }
  | { readonly operator: "exists" | "!exists"; readonly key: string }
  | { readonly operator: ">" | "<"; readonly key: string; readonly value: string }

/** All requirements must hold; the empty selector matches everything. */
export type LabelSelector = ReadonlyArray<Requirement>

/** One condition on a field. */
export interface FieldRequirement {
  readonly operator: "=" | "!="
  readonly field: string
  readonly value: string
}

export type FieldSelector = ReadonlyArray<FieldRequirement>

/** A `LabelSelector` as objects carry it (`spec.selector` of a Deployment). */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: string
    readonly values?: ReadonlyArray<string>
  }>
}

type Labels = Readonly<Record<string, string>> | undefined

const tokens = (text: string): ReadonlyArray<string> => text.match(/[^ \t\r\n=!(),<>]+|==|!=|[=!(),<>]/g) ?? []

const isWord = (token: string | undefined): token is string => token !== undefined && !/^[=!(),<>]/.test(token)

const found = (token: string | undefined, expected: string) => `found '${token ?? ""}', expected: ${expected}`

/** Parses a label selector; a failure is the reason, in the API server's words. */
export const parseLabels = (text: string): Result.Result<LabelSelector, string> => {
  const input = tokens(text)
  const requirements: Array<Requirement> = []
  const begins = (at: number) => input[at] === "!" || isWord(input[at])
  let at = 0
  while (at < input.length) {
    if (!begins(at)) return Result.fail(found(input[at], "!, identifier, or 'end of string'"))
    const parsed = parseRequirement(input, at)
    if (typeof parsed === "string") return Result.fail(`unable to parse requirement: ${parsed}`)
    requirements.push(parsed.requirement)
    at = parsed.next
    if (at === input.length) break
    if (input[at] !== ",") return Result.fail(found(input[at], "',' or 'end of string'"))
    at += 1
    if (!begins(at)) return Result.fail(found(input[at], "identifier after ','"))
  }
  return Result.succeed(requirements)
}

/** One requirement and where it ends, or what is wrong with it. */
const parseRequirement = (
  input: ReadonlyArray<string>,
  start: number
): { readonly requirement: Requirement; readonly next: number } | string => {
  const negated = input[start] === "!"
  const at = negated ? start + 1 : start
  const key = input[at]
  if (!isWord(key)) return found(key, "identifier")
  const fault = keyFault(key)
  if (fault !== undefined) return invalid("<nil>", key, fault)
  if (negated) return { requirement: { operator: "!exists", key }, next: at + 1 }
  const operator = input[at + 1]
  switch (operator) {
    case undefined:
    case ",":
      return { requirement: { operator: "exists", key }, next: at + 1 }
    case "in":
    case "notin": {
      const list = parseValues(input, at + 2)
      if (typeof list === "string") return list
      const values = [...new Set(list.values)].sort()
      return valueFaults(key, values) ?? { requirement: { operator, key, values }, next: list.next }
    }
    case "=":
    case "==":
    case "!=":
    case ">":
    case "<": {
      const token = input[at + 2]
      const empty = token === undefined || token === ","
      if (!empty && !isWord(token)) return found(token, "identifier")
      const value = empty ? "" : token
      const next = empty ? at + 2 : at + 3
      if (operator === "=" || operator === "==" || operator === "!=") {
        return valueFaults(key, [value]) ??
          { requirement: { operator: operator === "!=" ? "!=" : "=", key, value }, next }
      }
      const notWhole = toInteger(value) === undefined
        ? [invalid("values[0]", value, "for 'Gt', 'Lt' operators, the value must be an integer")]
        : []
      return valueFaults(key, [value], notWhole) ?? { requirement: { operator, key, value }, next }
    }
    default:
      return found(operator, "in, notin, =, ==, !=, gt, lt")
  }
}

/** The values between parentheses. A missing value, between two commas or at either end, is the empty one. */
const parseValues = (
  input: ReadonlyArray<string>,
  start: number
): { readonly values: ReadonlyArray<string>; readonly next: number } | string => {
  if (input[start] !== "(") return `found '${input[start] ?? ""}' expected: '('`
  const values: Array<string> = []
  let at = start + 1
  while (true) {
    const token = input[at]
    if (isWord(token)) {
      values.push(token)
      at += 1
      if (input[at] !== "," && input[at] !== ")") return found(input[at], "',' or ')'")
    } else if (token === "," || token === ")") values.push("")
    else return found(token, at === start + 1 ? "',', ')' or identifier" : "',', or identifier")
    at += 1
    if (input[at - 1] === ")") return { values, next: at }
  }
}

/** The server's text for an invalid field. */
const invalid = (field: string, value: string, detail: string): string =>
  `${field}: Invalid value: ${JSON.stringify(value)}: ${detail}`

const valueFaults = (
  key: string,
  values: ReadonlyArray<string>,
  before: ReadonlyArray<string> = []
): string | undefined => {
  const own = values.flatMap((value, i) => {
    const fault = valueFault(value)
    return fault === undefined ? [] : [invalid(`values[${i}][${key}]`, value, fault)]
  })
  const all = [...before, ...own]
  return all.length === 0 ? undefined : all.length === 1 ? all[0] : `[${all.join(", ")}]`
}

/** A 64-bit integer, as Go parses it. */
const toInteger = (text: string): bigint | undefined => {
  if (!/^[+-]?\d+$/.test(text)) return undefined
  const value = BigInt(text.replace("+", ""))
  return value === BigInt.asIntN(64, value) ? value : undefined
}

/** Formats a selector as `parseLabels` reads it. */
export const formatLabels = (selector: LabelSelector): string =>
  selector.map((r) => {
    switch (r.operator) {
      case "exists":
        return r.key
      case "!exists":
        return `!${r.key}`
      case "in":
      case "notin":
        return `${r.key} ${r.operator} (${r.values.join(",")})`
      default:
        return `${r.key}${r.operator}${r.value}`
    }
  }).join(",")

const matchesRequirement = (requirement: Requirement, labels: Labels): boolean => {
  const value = labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined
  switch (requirement.operator) {
    case "=":
      return value === requirement.value
    case "!=":
      return value !== requirement.value
    case "in":
      return value !== undefined && requirement.values.includes(value)
    case "notin":
      return value === undefined || !requirement.values.includes(value)
    case "exists":
      return value !== undefined
    case "!exists":
      return value === undefined
    case ">":
    case "<": {
      const [have, want] = [toInteger(value ?? ""), toInteger(requirement.value)]
      return have !== undefined && want !== undefined && (requirement.operator === ">" ? have > want : have < want)
    }
  }
}

/** Whether labels satisfy every requirement. */
export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean =>
  selector.every((requirement) => matchesRequirement(requirement, labels))

/** The ways to write a label selector in a program: parsed, as labels that an object must have, or as text. */
export type LabelsInput = LabelSelector | Readonly<Record<string, string>> | string

const isSelector = (input: LabelsInput): input is LabelSelector => Array.isArray(input)

/** The text of a selector in any form; undefined if it selects everything. */
export const labelsText = (input: LabelsInput | undefined): string | undefined => {
  if (input === undefined) return undefined
  const text = typeof input === "string" ? input : formatLabels(isSelector(input) ? input : fromLabels(input))
  return text === "" ? undefined : text
}

/** The requirements of a selector in any form; a failure says what is wrong with its text. */
export const toLabels = (input: LabelsInput | undefined): Result.Result<LabelSelector, string> => {
  if (input === undefined) return Result.succeed([])
  if (typeof input === "string") return parseLabels(input)
  return Result.succeed(isSelector(input) ? input : fromLabels(input))
}

/** A selector that requires these labels. */
export const fromLabels = (labels: Readonly<Record<string, string>>): LabelSelector =>
  Object.keys(labels).sort().map((key) => ({ operator: "=", key, value: labels[key]! }))

/** The selector an object carries, as requirements. An absent selector matches nothing, an empty one everything. */
export const fromObject = (selector: LabelSelectorObject | undefined): LabelSelector | undefined => {
  if (selector === undefined) return undefined
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }): Requirement => {
    switch (operator) {
      case "In":
        return { operator: "in", key, values: values ?? [] }
      case "NotIn":
        return { operator: "notin", key, values: values ?? [] }
      case "DoesNotExist":
        return { operator: "!exists", key }
      default:
        return { operator: "exists", key }
    }
  })
  return [...fromLabels(selector.matchLabels ?? {}), ...expressions]
}

/**
 * Parses a field selector: `a.b=c,d!=e`. A backslash escapes `,`, `=` and itself inside a value. Of several invalid
 * terms the first in byte order is reported, as by a server.
 */
export const parseFields = (text: string): Result.Result<FieldSelector, string> => {
  const terms = text.match(/(?:\\[^]|[^\\,]|\\$)+/g) ?? []
  const wrong = terms.toSorted().find((term) => Result.isFailure(parseField(term, text)))
  return wrong === undefined
    ? Result.all(terms.map((term) => parseField(term, text)))
    : Result.map(parseField(wrong, text), (requirement) => [requirement])
}

const parseField = (term: string, text: string): Result.Result<FieldRequirement, string> => {
  const match = /!=|==?/.exec(term)
  if (match === null) return Result.fail(`invalid selector: '${text}'; can't understand '${term}'`)
  const raw = term.slice(match.index + match[0].length)
  const bad = /\\(?![\\,=]).?|[,=]/s.exec(raw.replace(/\\[\\,=]/g, "  "))
  if (bad !== null) {
    return Result.fail(
      bad[0].startsWith("\\")
        ? `invalid field selector: invalid escape sequence: ${bad[0]}`
        : `invalid field selector: unescaped character in value: ${bad[0].codePointAt(0)}`
    )
  }
  return Result.succeed({
    field: term.slice(0, match.index),
    operator: match[0] === "!=" ? "!=" : "=",
    value: raw.replace(/\\([\\,=])/g, "$1")
  })
}

/** Formats a field selector as `parseFields` reads it. */
export const formatFields = (selector: FieldSelector): string =>
  selector.map((r) => `${r.field}${r.operator}${r.value.replace(/[\\,=]/g, "\\$&")}`).join(",")

/** The text of a field selector in any form; undefined if it selects everything. */
export const fieldsText = (input: FieldSelector | string | undefined): string | undefined => {
  const text = input === undefined || typeof input === "string" ? input : formatFields(input)
  return text === "" ? undefined : text
}

/** The value of a dotted field path (`status.phase`) as field selectors see it: absent is the empty string. */
export const fieldValue = (object: unknown, field: string): string => {
  let value: unknown = object
  for (const part of field.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return ""
    value = (value as Record<string, unknown>)[part]
  }
  return value === undefined || value === null ? "" : String(value)
}

/** Whether an object satisfies every requirement, each field read as a dotted path. */
export const matchesFields = (selector: FieldSelector, object: unknown): boolean =>
  selector.every(({ field, operator, value }) => (fieldValue(object, field) === value) === (operator === "="))
