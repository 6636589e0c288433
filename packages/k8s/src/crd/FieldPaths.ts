/**
 * `FieldPaths`: checks that the fields to which a definition's columns, scale and selectable fields refer exist in its
 * schema. A server accepts a path to a missing field, and then shows an empty column or scales nothing.
 *
 * Only what is known is checked: an open map, an object with unknown fields, an embedded object and `metadata` may
 * contain anything. A path in a syntax that is not supported here is left to the server.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { nearest } from "../api/Nearest.ts"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"

/** A step of a path: a field, or the items of a list. */
type Step = { readonly field: string } | "items"

/** `.a.b`, `['a']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`; a dot in a name is written `\.`. */
const part = /\.((?:\\.|[^.[\]\\*])+)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]|\[(?:\?\([^]*?\)|[-:,\d\s*]+)\]/y

/** The steps of a path, as far as its syntax is supported. */
const parse = (path: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  part.lastIndex = 0
  for (let match = part.exec(path); match !== null; match = part.exec(path)) {
    const field = match[1]?.replaceAll(/\\(.)/g, "$1") ?? match[2] ?? match[3]
    steps.push(field === undefined ? "items" : { field })
  }
  return steps
}

const isOpen = (schema: JSONSchemaProps): boolean =>
  schema["x-kubernetes-preserve-unknown-fields"] === true || schema["x-kubernetes-embedded-resource"] === true ||
  schema.additionalProperties === true

/** Where a path leaves the schema: the path up to there, and the schema at that point. */
const leaves = (schema: JSONSchemaProps, path: string) => {
  let here: JSONSchemaProps = schema
  let at = ""
  for (const step of parse(path)) {
    if (isOpen(here)) return undefined
    if (step === "items") {
      if (typeof here.items !== "object") return undefined
      here = here.items as JSONSchemaProps
      at += "[*]"
      continue
    }
    if (at === "" && step.field === "metadata") return undefined
    const { additionalProperties, properties = {}, type } = here
    const next = Object.hasOwn(properties, step.field) ? properties[step.field] : additionalProperties
    if (typeof next !== "object") return type === "array" ? undefined : { at, field: step.field, properties }
    here = next
    at += `.${step.field}`
  }
  return undefined
}

/** Whether the schema has the field; true if that is unknown. */
export const has = (schema: JSONSchemaProps, path: string): boolean => leaves(schema, path) === undefined

/** The faults in the paths of a kind, one line each. */
export const faults = (resource: CustomResource, schema: JSONSchemaProps): ReadonlyArray<string> => {
  const { printerColumns, scale, selectableFields } = resource
  const paths: ReadonlyArray<readonly [string, string | undefined]> = [
    ...printerColumns.map(({ jsonPath }, i) => [`printerColumns[${i}].jsonPath`, jsonPath] as const),
    ["scale.specReplicasPath", scale?.specReplicasPath],
    ["scale.statusReplicasPath", scale?.statusReplicasPath],
    ["scale.labelSelectorPath", scale?.labelSelectorPath],
    ...selectableFields.map((path, i) => [`selectableFields[${i}]`, path] as const)
  ]
  return paths.flatMap(([where, path]) => {
    const left = path === undefined ? undefined : leaves(schema, path)
    if (left === undefined) return []
    const near = nearest(left.field, Object.keys(left.properties))
    const remedy = near === undefined
      ? `${left.at} has no fields`
      : `did you mean ${left.at}.${near}?`
    return [`${where}: ${path}: the Schema has no such field: ${remedy}`]
  })
}
