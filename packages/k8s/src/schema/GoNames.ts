/**
 * `GoNames`: what the Go type of a field of a built-in kind is called, where its schema does not tell: `v1.PullPolicy` is
 * a string in JSON, and a name in the words of Go's decoder.
 *
 * Source: the struct fields of k8s.io/api (`kinds/goNames`).
 */
import { table } from "../kinds/goNames.ts"

const rows: ReadonlyMap<string, string> = new Map(
  table.trim().split("\n").map((row) => [row.slice(0, row.indexOf(" ")), row])
)

const typeOf = (definition: string, field: string): string | undefined => {
  const mark = `${field}=`
  return rows.get(definition)?.split(" ").find((named) => named.startsWith(mark))?.slice(mark.length)
}

const element = /^(?:\[\]|map\[[^\]]+\])(.+)$/

/** The name of the type at the end of a path into a definition; undefined for one that is called by what it is. Indexes
 * and keys of maps at the end stand for elements of the field's type. */
export const at = (definition: string, path: string): string | undefined => {
  const field = path.replace(/(?:\[[^\]]*\])*$/, "")
  const elements = path.slice(field.length).split("[").length - 1
  let type = typeOf(definition, field.slice(field.lastIndexOf(".") + 1))
  for (let level = 0; level < elements; level++) type = type === undefined ? undefined : element.exec(type)?.[1]
  return type
}
