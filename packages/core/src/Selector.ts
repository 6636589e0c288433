/**
 * Label and field selectors, as Kubernetes writes them: `app=web,tier in (a,b),!legacy` and `metadata.name=x`.
 *
 * Parsing is total and says what it did not understand in the API server's words. Source: "Labels and Selectors" and
 * "Field Selectors" of the Kubernetes documentation; `!=` and `notin` also match objects without the key.
 */
import * as Result from "effect/Result"

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

const tokens = (text: string): ReadonlyArray<string> => text.match(/[^\s=!(),<>]+|==|!=|[=!(),<>]/g) ?? []

const isWord = (token: string | undefined): token is string => token !== undefined && !/^[=!(),<>]/.test(token)

/** Parses a label selector; the failure is the reason, as the API server words it. */
export const parseLabels = (text: string): Result.Result<LabelSelector, string> => {
  const input = tokens(text)
  const requirements: Array<Requirement> = []
  let at = 0
  const found = (expected: string) => Result.fail(`found '${input[at] ?? ""}', expected: ${expected}`)
  while (at < input.length) {
    if (input[at] === "!") {
      const key = input[at + 1]
      at += 1
      if (!isWord(key)) return found("identifier")
      requirements.push({ operator: "!exists", key })
      at += 1
    } else {
      const key = input[at]
      if (!isWord(key)) return found("!, identifier, or 'end of string'")
      const operator = input[at + 1]
      at += 2
      if (operator === undefined || operator === ",") {
        requirements.push({ operator: "exists", key })
        at -= 1
      } else if (operator === "in" || operator === "notin") {
        if (input[at] !== "(") return found("'('")
        const close = input.indexOf(")", at)
        if (close < 0) {
          at = input.length
          return found("',', or ')'")
        }
        const values: Array<string> = []
        let value = ""
        for (const token of input.slice(at + 1, close)) {
          if (token === ",") {
            values.push(value)
            value = ""
          } else if (isWord(token)) value = token
          else return Result.fail(`found '${token}', expected: ',', or 'identifier'`)
        }
        values.push(value)
        requirements.push({ operator, key, values: [...new Set(values)].sort() })
        at = close + 1
      } else if (operator === "=" || operator === "==" || operator === "!=") {
        const value = isWord(input[at]) ? input[at++]! : ""
        requirements.push({ operator: operator === "!=" ? "!=" : "=", key, value })
      } else if (operator === ">" || operator === "<") {
        const value = input[at]
        if (!isWord(value)) return found("identifier")
        if (!/^-?\d+$/.test(value)) return Result.fail(`for 'Gt', 'Lt' operators, the value must be an integer`)
        requirements.push({ operator, key, value })
        at += 1
      } else {
        at -= 1
        return found("in, notin, =, ==, !=, gt, lt")
      }
    }
    if (at < input.length) {
      if (input[at] !== ",") return found("',' or 'end of string'")
      at += 1
      if (at === input.length) return found("identifier after ','")
    }
  }
  return Result.succeed(requirements)
}

/** Writes a selector back to the form `parseLabels` reads. */
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
    case "<":
      return value !== undefined && /^-?\d+$/.test(value) &&
        (requirement.operator === ">"
          ? BigInt(value) > BigInt(requirement.value)
          : BigInt(value) < BigInt(requirement.value))
  }
}

/** Whether labels satisfy every requirement. */
export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean =>
  selector.every((requirement) => matchesRequirement(requirement, labels))

/** A selector that asks for exactly these labels. */
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

/** Parses a field selector: `a.b=c,d!=e`. A backslash escapes `,`, `=` and itself inside a value. */
export const parseFields = (text: string): Result.Result<FieldSelector, string> => {
  const requirements: Array<FieldRequirement> = []
  for (const term of text.split(/(?<!\\),/)) {
    if (term === "") continue
    const match = /^([^=!]*?)(==|!=|=)(.*)$/.exec(term)
    if (match === null) return Result.fail(`invalid selector: '${text}'; can't understand '${term}'`)
    requirements.push({
      field: match[1]!.trim(),
      operator: match[2] === "!=" ? "!=" : "=",
      value: match[3]!.replace(/\\([\\,=])/g, "$1")
    })
  }
  return Result.succeed(requirements)
}

/** Writes a field selector back to the form `parseFields` reads. */
export const formatFields = (selector: FieldSelector): string =>
  selector.map((r) => `${r.field}${r.operator}${r.value.replace(/[\\,=]/g, "\\$&")}`).join(",")

/** The value of a dotted field path (`status.phase`) as field selectors see it: absent is the empty string. */
export const fieldValue = (object: unknown, field: string): string => {
  let value: unknown = object
  for (const part of field.split(".")) {
    if (typeof value !== "object" || value === null) return ""
    value = (value as Record<string, unknown>)[part]
  }
  return value === undefined || value === null ? "" : String(value)
}

/** Whether an object satisfies every requirement, each field read as a dotted path. */
export const matchesFields = (selector: FieldSelector, object: unknown): boolean =>
  selector.every(({ field, operator, value }) => (fieldValue(object, field) === value) === (operator === "="))
