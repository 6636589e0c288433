/**
 * `PathRules`: validates paths of files within a volume, and their modes.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
 */
import { at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, when } from "../Checks.ts"

/** A path without `..`. */
export const noBacksteps = (text: string, path: string): Faults =>
  when(text.split("/").includes(".."), FieldError.invalid(path, text, "must not contain '..'"))

/** A relative path without `..`. */
export const descending = (text: string, path: string): Faults => [
  ...when(text.startsWith("/"), FieldError.invalid(path, text, "must be a relative path")),
  ...noBacksteps(text, path)
]

/** A relative path without `..` whose first segment is not reserved. */
export const nonReserved = (text: string, path: string): Faults => [
  ...descending(text, path),
  ...when(
    text.startsWith("..") && !text.startsWith("../"),
    FieldError.invalid(path, text, "must not start with '..'")
  )
]

/** The mode of a file. */
export const mode = (object: unknown, field: string, path: string): Faults => {
  const value = at(object, field)
  return when(
    typeof value === "number" && (value < 0 || value > 0o777),
    FieldError.invalid(`${path}.${field}`, value, "must be a number between 0 and 0777 (octal), both inclusive")
  )
}

/** Which key becomes which file. */
export const keyToPath = (item: unknown, path: string): Faults => [
  ...["key", "path"].filter((field) => stringAt(item, field) === "").map((field) =>
    FieldError.required(`${path}.${field}`, "")
  ),
  ...nonReserved(stringAt(item, "path"), `${path}.path`),
  ...mode(item, "mode", path)
]
