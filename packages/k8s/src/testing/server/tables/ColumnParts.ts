/** `ColumnParts`: the building blocks of the tables of built-in kinds. */
import { at, stringAt } from "../../../api/Plain.ts"
import { age, type Column, column, nameColumn, orNone } from "../../../api/PrinterColumns.ts"

export type Value = Column["value"]

/** A string column. */
export const text = (name: string, value: Value, priority = 0): Column => column(name, "string", "", value, priority)
export const integer = (name: string, value: Value, priority = 0): Column =>
  column(name, "integer", "", value, priority)

/** A string field; `<none>` if it is missing or empty. */
export const field = (...path: ReadonlyArray<string>): Value => (object) => orNone(stringAt(object, ...path))
/** A string field. */
export const plain = (...path: ReadonlyArray<string>): Value => (object) => stringAt(object, ...path)

/** A number field; 0 if it is missing. */
export const number = (...path: ReadonlyArray<string>): Value => (object) => {
  const value = at(object, ...path)
  return typeof value === "number" ? value : 0
}

export const ageColumn = text("Age", (object, now) => age(object.metadata.creationTimestamp, now))

/** A time that is not set, in Go. */
const noTime = "0001-01-01T00:00:00Z"

/** The column of kinds without their own. */
export const created = column("Created At", "date", "", (object) => object.metadata.creationTimestamp ?? noTime)

/** The name, followed by other columns. */
export const named = (...columns: ReadonlyArray<Column>): ReadonlyArray<Column> => [nameColumn, ...columns]
