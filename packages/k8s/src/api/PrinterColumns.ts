/**
 * `PrinterColumns`: the columns of a custom resource's table.
 *
 * A path reads one value; a value of another type than the column's is shown as null, objects and lists in a string
 * column as JSON. Supported is what the real server accepts as a "simple" path and what people write: `.a.b`,
 * `['a.b/c']`, `[0]`, `[-1]`, `[*]` and `[?(@.type=="Ready")]`.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { at, stringAt } from "./Plain.ts"

/** A column of a table. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 for what is always shown. */
  readonly priority: number
  readonly value: (object: KubeObject, now: number) => unknown
}

type Step =
  | { readonly _tag: "Key"; readonly key: string }
  | { readonly _tag: "Index"; readonly index: number }
  | { readonly _tag: "All" }
  | { readonly _tag: "Filter"; readonly path: ReadonlyArray<Step>; readonly negated: boolean; readonly value: string }

const token =
  /\.?\['((?:[^'\\]|\\.)*)'\]|\[(-?\d+)\]|\[\*\]|\.\*|\[\?\(@((?:[^=!)]|\\.)+?)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([^)"']*))\)\]|\.((?:[^.[\\]|\\.)+)/gy

/** A path such as `.status.conditions[?(@.type=="Ready")].status`. Whatever cannot be read ends it. */
export const parse = (path: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const text = path.replace(/^\{|\}$/g, "")
  const source = text.startsWith(".") || text.startsWith("[") ? text : `.${text}`
  for (const match of source.matchAll(token)) {
    const [whole, quoted, index, filter, operator, double, single, bare, key] = match
    // What is quoted is a path again, whose dots must be escaped to be none.
    if (quoted !== undefined) steps.push(...parse(`.${quoted}`))
    else if (index !== undefined) steps.push({ _tag: "Index", index: Number(index) })
    else if (filter !== undefined) {
      const value = (double ?? single ?? bare ?? "").trim()
      steps.push({ _tag: "Filter", path: parse(filter.trim()), negated: operator === "!=", value })
    } else if (key !== undefined) steps.push({ _tag: "Key", key: key.replace(/\\(.)/g, "$1") })
    else if (whole.includes("*")) steps.push({ _tag: "All" })
  }
  return steps
}

const follow = (value: unknown, step: Step): ReadonlyArray<unknown> => {
  switch (step._tag) {
    case "Key":
      return JsonValue.isObject(value) && JsonValue.has(value, step.key) ? [value[step.key]] : []
    case "Index": {
      const item = JsonValue.isArray(value) ? value.at(step.index) : undefined
      return item === undefined ? [] : [item]
    }
    case "All":
      return JsonValue.isArray(value) ? value : JsonValue.isObject(value) ? Object.values(value) : []
    case "Filter":
      return JsonValue.isArray(value)
        ? value.filter((item) => (String(find(item, step.path)[0] ?? "") === step.value) !== step.negated)
        : []
  }
}

/** Every value a path leads to. */
export const find = (value: unknown, path: ReadonlyArray<Step>): ReadonlyArray<unknown> =>
  path.reduce<ReadonlyArray<unknown>>((found, step) => found.flatMap((item) => follow(item, step)), [value])

/** How long ago, in the units kubectl prints: `5s`, `3m20s`, `2d`. */
export const age = (from: string, now: number): string => {
  const seconds = Math.floor((now - Date.parse(from)) / 1000)
  if (Number.isNaN(seconds)) return "<unknown>"
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s")
  if (minutes < 180) return `${minutes}m`
  if (hours < 8) return two(hours, "h", minutes % 60, "m")
  if (hours < 48) return `${hours}h`
  if (days < 8) return two(days, "d", hours % 24, "h")
  if (days < 730) return `${days}d`
  return days < 2920 ? two(Math.floor(days / 365), "y", days % 365, "d") : `${Math.floor(days / 365)}y`
}

const cell = (value: unknown, type: string, now: number): unknown => {
  if (value === undefined || value === null) return null
  switch (type) {
    case "string":
      return typeof value === "object" ? FieldError.goJson(value) : String(value)
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null
    case "number":
      return typeof value === "number" ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      return typeof value === "string" ? age(value, now) : null
    default:
      return null
  }
}

/** A column; `priority` above 0 for what only `-o wide` shows. */
export const column = (
  name: string,
  type: string,
  description: string,
  value: Column["value"],
  priority = 0
): Column => ({ name, type, format: "", description, priority, value })

/** A text, or what kubectl prints for none. */
export const orNone = (text: string): string => text === "" ? "<none>" : text

/** The first column of every table. */
export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a " +
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation " +
    "idempotence and configuration definition. Cannot be updated. More info: " +
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  priority: 0,
  value: (object) => object.metadata.name
}

/** When an object was created: a date for kinds without printers of their own, as custom resources have it. */
export const createdColumn: Column = {
  name: "Age",
  type: "date",
  format: "",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed " +
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented " +
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: " +
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  priority: 0,
  value: (object, now) => age(object.metadata.creationTimestamp, now)
}

/** The columns of a version's `additionalPrinterColumns`: Name first; Age alone where there are none. */
export const custom = (entries: ReadonlyArray<unknown>): ReadonlyArray<Column> => [
  nameColumn,
  ...(entries.length === 0 ? [createdColumn] : entries.map((entry): Column => {
    const path = parse(stringAt(entry, "jsonPath"))
    const type = stringAt(entry, "type")
    const priority = at(entry, "priority")
    return {
      name: stringAt(entry, "name"),
      type,
      format: stringAt(entry, "format"),
      description: stringAt(entry, "description") ||
        `Custom resource definition column (in JSONPath format): ${stringAt(entry, "jsonPath")}`,
      priority: typeof priority === "number" ? priority : 0,
      value: (object: KubeObject, now: number) => cell(find(object, path)[0], type, now)
    }
  }))
]
