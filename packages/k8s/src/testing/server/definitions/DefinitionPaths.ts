/**
 * `DefinitionPaths`: validates printer columns, scale and selectable fields of a CustomResourceDefinition, including
 * their JSON paths.
 *
 * If all versions have the same value, its faults name the field of the definition, whatever was written:
 * `spec.additionalPrinterColumns[0]` rather than `spec.versions[0].additionalPrinterColumns[0]`.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, and v1/conversion.go.
 */
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldPaths from "../../../cel/FieldPaths.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Schema } from "../../../schema/Schema.ts"

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

const mostSelectable = 8
const selectableTypes = ["string", "boolean", "integer"]

/**
 * Selectable fields that all versions share require a schema that all share, and those of a single version a schema of
 * its own.
 */
const withoutSchema = (path: string): string =>
  path === "spec.selectableFields"
    ? "may only be set when validations.schema is included"
    : "may only be set when `version.schema.openAPIV3Schema` is not included"

const selectableFaults = (fields: ReadonlyArray<unknown>, schema: Schema | undefined, path: string): Faults => {
  if (fields.length === 0) return []
  if (schema === undefined) return [FieldError.invalid(path, "", withoutSchema(path))]
  const paths = fields.map((field) => stringAt(field, "jsonPath"))
  const found = paths.map((one) => FieldPaths.find(one, schema, false))
  const made = found.map((one) => "wrong" in one ? undefined : one.path)
  const known = new Set(made.filter((one, index) => one !== undefined && paths[index] !== ""))
  return [
    ...paths.flatMap((one, index) => {
      const here = `${path}[${index}].jsonPath`
      const target = found[index]!
      if (one === "") return [FieldError.required(here, "")]
      if ("wrong" in target) return [FieldError.invalid(here, one, `is an invalid path: ${target.wrong}`)]
      return [
        ...(/^metadata(?![^.[])/.test(target.path)
          ? [FieldError.invalid(here, one, "must not point to fields in metadata")]
          : []),
        ...(selectableTypes.includes(target.schema.type ?? "") ? [] : [FieldError.invalid(
          here,
          one,
          "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are " +
            "allowed."
        )]),
        ...(made.indexOf(target.path) < index ? [FieldError.duplicate(here, one)] : [])
      ]
    }),
    ...(known.size > mostSelectable ? [FieldError.tooMany(path, known.size, mostSelectable)] : [])
  ]
}

/** A part of a version, and its faults below a path, given the schema at the same level. */
interface Part {
  readonly of: (version: unknown) => unknown
  readonly faults: (part: unknown, path: string, schema: Schema | undefined) => Faults
}

const schemaOf = (version: unknown): Schema | undefined =>
  at(version, "schema", "openAPIV3Schema") as Schema | undefined

const parts: ReadonlyArray<Part> = [
  {
    of: (version) => at(version, "subresources"),
    faults: (subresources, path) => scaleFaults(at(subresources, "scale"), `${path}.subresources.scale`)
  },
  {
    of: (version) => arrayAt(version, "additionalPrinterColumns"),
    faults: (columns, path) =>
      (columns as ReadonlyArray<unknown>).flatMap((column, index) =>
        columnFaults(column, `${path}.additionalPrinterColumns[${index}]`)
      )
  },
  {
    of: (version) => arrayAt(version, "selectableFields"),
    faults: (fields, path, schema) =>
      selectableFaults(fields as ReadonlyArray<unknown>, schema, `${path}.selectableFields`)
  }
]

const isShared = (versions: ReadonlyArray<unknown>, of: Part["of"]): boolean =>
  versions.every((version) => JsonValue.equals(of(version), of(versions[0])))

/** The faults of what one version has of its own. A schema that all versions share does not belong to any of them. */
export const ofVersion = (versions: ReadonlyArray<unknown>, index: number): Faults => {
  const schema = isShared(versions, schemaOf) ? undefined : schemaOf(versions[index])
  return parts.flatMap(({ faults, of }) =>
    isShared(versions, of) ? [] : faults(of(versions[index]), `spec.versions[${index}]`, schema)
  )
}

/** The faults of what all versions share. */
export const ofAll = (versions: ReadonlyArray<unknown>): Faults => {
  const schema = isShared(versions, schemaOf) ? schemaOf(versions[0]) : undefined
  return versions.length === 0 ?
    [] :
    parts.flatMap(({ faults, of }) => isShared(versions, of) ? faults(of(versions[0]), "spec", schema) : [])
}
