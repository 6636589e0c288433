/**
 * `GoStruct`: a part of an object as the server prints it when it refuses it as a whole.
 *
 * Rules are applied to the server's internal types, whose fields have no JSON names: they are printed by their Go names,
 * in the order of the type, and all of them, whether or not they were set.
 *
 * Source: k8s.io/kubernetes/pkg/apis/GROUP/types.go.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import { goJson } from "../../../schema/FieldError.ts"

/**
 * A field: its JSON name, what is printed where it is not set, its parts or how they are printed; and its Go name, if not
 * the same with a capital.
 */
export type Field = readonly [json: string, zero: string, of?: Fields | Printer | undefined, go?: string]

export type Printer = (value: unknown) => string

export type Fields = ReadonlyArray<Field>

const goName = (json: string): string => json.charAt(0).toUpperCase() + json.slice(1)

/** The text of a part that is there, or of a list of such parts. */
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

/** The texts of the values of a map, whose keys Go prints in order. */
export const printMap = (value: unknown, printer: Printer): string => {
  const map = objectAt(value)
  return `{${Object.keys(map).toSorted().map((key) => `${goJson(key)}:${printer(map[key])}`).join(",")}}`
}
