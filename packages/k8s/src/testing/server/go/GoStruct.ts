/**
 * `GoStruct`: prints a part of an object in its internal Go type, as the server does when it refuses the part as a
 * whole.
 *
 * Validation uses the server's internal types, whose fields have no JSON names: all fields are printed by their Go
 * names, in the order of the type, whether or not they are set.
 *
 * Source: k8s.io/kubernetes/pkg/apis/GROUP/types.go.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import { goJson } from "../../../schema/FieldError.ts"

/**
 * A field: its JSON name, the text if it is not set, its nested fields or printer, and its Go name if that is not the
 * capitalized JSON name.
 */
export type Field = readonly [json: string, zero: string, of?: Fields | Printer | undefined, go?: string]

export type Printer = (value: unknown) => string

export type Fields = ReadonlyArray<Field>

const goName = (json: string): string => json.charAt(0).toUpperCase() + json.slice(1)

/** The text of a value, or of a list of such values. */
export const print = (value: unknown, fields: Fields): string =>
  Array.isArray(value) ?
    `[${value.map((item) => print(item, fields)).join(",")}]` :
    `{${
      fields.map(([json, zero, of, go]) => {
        const found = at(value, json)
        return `${goJson(go ?? goName(json))}:${
          found === undefined || found === null
            ? zero
            : of === undefined
            ? goJson(found)
            : typeof of === "function"
            ? of(found)
            : print(found, of)
        }`
      }).join(",")
    }}`

/** The text of a map, with keys in sorted order as in Go. */
export const printMap = (value: unknown, printer: Printer): string => {
  const map = objectAt(value)
  return `{${Object.keys(map).toSorted().map((key) => `${goJson(key)}:${printer(map[key])}`).join(",")}}`
}
