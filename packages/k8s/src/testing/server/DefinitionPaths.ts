/**
 * `DefinitionPaths`: what must hold of the JSON paths in a CustomResourceDefinition, those of its printer columns and of
 * its scale, and of the rest of a column.
 *
 * What all versions share is spoken of as the definition's, whatever was written: `spec.additionalPrinterColumns[0]`
 * rather than `spec.versions[0].additionalPrinterColumns[0]`.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, and v1/conversion.go.
 */
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const types = ["boolean", "date", "integer", "number", "string"]
const formats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"]

const oneOf = (path: string, value: string, supported: ReadonlyArray<string>): Faults =>
  supported.includes(value) ? [] : [FieldError.invalid(path, value, `must be one of ${supported.join(",")}`)]

const simple = (path: string, value: string): Faults =>
  value.startsWith(".") ? [] : [FieldError.invalid(path, value, "must be a simple json path starting with .")]

const columnFaults = (column: unknown, path: string): Faults => {
  const [type, format, jsonPath] = ["type", "format", "jsonPath"].map((key) => stringAt(column, key)) as [
    string,
    string,
    string
  ]
  return [
    ...(stringAt(column, "name") === "" ? [FieldError.required(`${path}.name`, "")] : []),
    ...(type === ""
      ? [FieldError.required(`${path}.type`, `must be one of ${types.join(",")}`)]
      : oneOf(`${path}.type`, type, types)),
    ...(format === "" ? [] : oneOf(`${path}.format`, format, formats)),
    ...(jsonPath === "" ? [FieldError.required(`${path}.JSONPath`, "")] : simple(`${path}.JSONPath`, jsonPath))
  ]
}

const scaleFaults = (scale: unknown, path: string): Faults => {
  if (scale === undefined) return []
  const below = (key: string, roots: ReadonlyArray<string>, expected: string): Faults => {
    const value = stringAt(scale, key)
    const faults = simple(`${path}.${key}`, value)
    return faults.length > 0 || roots.some((root) => value.startsWith(`${root}.`))
      ? faults
      : [FieldError.invalid(`${path}.${key}`, value, `should be a json path under ${expected}`)]
  }
  const needed = (key: string, root: string): Faults =>
    stringAt(scale, key) === "" ? [FieldError.required(`${path}.${key}`, "")] : below(key, [root], root)
  return [
    ...needed("specReplicasPath", ".spec"),
    ...needed("statusReplicasPath", ".status"),
    ...(stringAt(scale, "labelSelectorPath") === ""
      ? []
      : below("labelSelectorPath", [".spec", ".status"], "either .spec or .status"))
  ]
}

/** What is wrong with a part of versions: told once where all have the same. */
const partFaults = (
  versions: ReadonlyArray<unknown>,
  part: (version: unknown) => unknown,
  faults: (part: unknown, path: string) => Faults
): Faults => {
  const parts = versions.map(part)
  const shared = parts.length > 0 && parts.every((one) => JsonValue.equals(one, parts[0]))
  return shared
    ? faults(parts[0], "spec")
    : parts.flatMap((one, index) => faults(one, `spec.versions[${index}]`))
}

/** What is wrong with the columns and scales of a definition. */
export const faults = (definition: unknown): Faults => {
  const versions = arrayAt(definition, "spec", "versions")
  return [
    ...partFaults(
      versions,
      (version) => at(version, "subresources"),
      (subresources, path) => scaleFaults(at(subresources, "scale"), `${path}.subresources.scale`)
    ),
    ...partFaults(
      versions,
      (version) => arrayAt(version, "additionalPrinterColumns"),
      (columns, path) =>
        (columns as ReadonlyArray<unknown>).flatMap((column, index) =>
          columnFaults(column, `${path}.additionalPrinterColumns[${index}]`)
        )
    )
  ]
}
