/**
 * `PrinterColumns`: the columns of a custom resource's table.
 *
 * A cell shows the first value that the column's path yields, or null if there is none or its type is not the column's.
 * String columns show everything as text: objects and lists as JSON, null as `<no value>`. A path that cannot be parsed
 * drops its column and all columns after it.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonPath from "./JsonPath.ts"
import { at, stringAt } from "./Plain.ts"

/** A column of a table. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 for columns that are always shown. */
  readonly priority: number
  readonly value: (object: KubeObject, now: number) => unknown
  /** True if rows have the cell although the table does not define the column. */
  readonly untold?: boolean
}

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

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/

const dated = (text: string, now: number): string => {
  if (text === "" || text === "null") return "<unknown>"
  return rfc3339.test(text) && !Number.isNaN(Date.parse(text)) ? age(text, now) : "<invalid>"
}

const textOf = (value: unknown): string =>
  value === null ? "<no value>" : typeof value === "string" ? value : FieldError.printValue(value)

const cell = (value: unknown, type: string, now: number): unknown => {
  if (value === undefined) return null
  switch (type) {
    case "string":
      return textOf(value)
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null
    case "number":
      return typeof value === "number" ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      return typeof value === "string" ? dated(value, now) : null
    default:
      return null
  }
}

/** A column. `priority` is above 0 for columns that only `-o wide` shows. */
export const column = (
  name: string,
  type: string,
  description: string,
  value: Column["value"],
  priority = 0
): Column => ({ name, type, format: "", description, priority, value })

/** The text, or what kubectl prints for an empty one. */
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
  // A bookmark has no name.
  value: (object) => object.metadata.name ?? ""
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
  value: ({ metadata: { creationTimestamp } }, now) => creationTimestamp ? age(creationTimestamp, now) : null
}

const customColumn = (entry: unknown): Column | undefined => {
  const jsonPath = stringAt(entry, "jsonPath")
  const path = JsonPath.parse(jsonPath)
  const type = stringAt(entry, "type")
  const priority = at(entry, "priority")
  return path && {
    name: stringAt(entry, "name"),
    type,
    format: stringAt(entry, "format"),
    description: stringAt(entry, "description") ||
      `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority: typeof priority === "number" ? priority : 0,
    value: (object, now) => cell(JsonPath.find(object, path)[0], type, now)
  }
}

/** The columns of a version's `additionalPrinterColumns`: Name first; Age alone where there are none. */
export const custom = (entries: ReadonlyArray<unknown>): ReadonlyArray<Column> => {
  const columns = entries.map(customColumn)
  const end = columns.indexOf(undefined)
  const known = columns.slice(0, end < 0 ? undefined : end) as ReadonlyArray<Column>
  return [nameColumn, ...(entries.length === 0 ? [createdColumn] : known)]
}
