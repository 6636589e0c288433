/**
 * `GoNames`: the Go type names of fields of built-in kinds that their schemas do not show: `v1.PullPolicy` is a string
 * in JSON, but the errors of Go's decoder name it.
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

/**
 * The name of the type at the end of a path in a definition; undefined if the type has no name of its own. Indexes and
 * map keys at the end of the path stand for elements of the field's type.
 */
export const at = (definition: string, path: string): string | undefined => {
  const field = path.replace(/(?:\[[^\]]*\])*$/, "")
  const elements = path.slice(field.length).split("[").length - 1
  let type = typeOf(definition, field.slice(field.lastIndexOf(".") + 1))
  for (let level = 0; level < elements; level++) type = type === undefined ? undefined : element.exec(type)?.[1]
  return type
}
