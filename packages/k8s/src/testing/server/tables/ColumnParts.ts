/**
 * `ColumnParts`: what the tables of built-in kinds are put together from.
 */
import { at, stringAt } from "../../../api/Plain.ts"
import { age, type Column, column, nameColumn, orNone } from "../../../api/PrinterColumns.ts"

export type Value = Column["value"]

/** A text column. */
export const text = (name: string, value: Value, priority = 0): Column => column(name, "string", "", value, priority)
export const integer = (name: string, value: Value, priority = 0): Column =>
  column(name, "integer", "", value, priority)

/** A string field; `<none>` where it is missing or empty. */
export const field = (...path: ReadonlyArray<string>): Value => (object) => orNone(stringAt(object, ...path))
/** A string field. */
export const plain = (...path: ReadonlyArray<string>): Value => (object) => stringAt(object, ...path)

/** A number field; 0 where it is missing. */
export const number = (...path: ReadonlyArray<string>): Value => (object) => {
  const value = at(object, ...path)
  return typeof value === "number" ? value : 0
}

export const ageColumn = text("Age", (object, now) => age(object.metadata.creationTimestamp, now))

/** What Go writes for a time that is not set. */
const noTime = "0001-01-01T00:00:00Z"

/** What kinds without columns of their own have. */
export const created = column("Created At", "date", "", (object) => object.metadata.creationTimestamp ?? noTime)

/** Columns after the name. */
export const named = (...columns: ReadonlyArray<Column>): ReadonlyArray<Column> => [nameColumn, ...columns]
