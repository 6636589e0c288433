/**
 * `FieldPaths`: whether the fields that a definition points at, in its columns, its scale and its selectable fields, are in
 * its schema. A server takes a path to nowhere and shows an empty column, or scales nothing.
 *
 * Only what is known is judged: below an open map, an unknown or embedded object and `metadata` anything may be, and a
 * path that is written in a way that is not understood here is left to the server.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { nearest } from "../api/Nearest.ts"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"

/** A part of a path: a field, or something about the items of a list. */
type Step = { readonly field: string } | "items"

/** `.a.b`, `['a']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`; a dot in a name is written `\.`. */
const part = /\.((?:\\.|[^.[\]\\*])+)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]|\[(?:\?\([^]*?\)|[-:,\d\s*]+)\]/y

/** The parts, as far as they are understood. */
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

/** Where a path leaves the schema: the path until then, and what is there. */
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

/** Whether the schema has the field, as far as can be said. */
export const has = (schema: JSONSchemaProps, path: string): boolean => leaves(schema, path) === undefined

/** What is wrong with the paths of a kind, one line each. */
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
      : `the nearest field is ${left.at}.${near}`
    return [`${where}: ${path}: the Schema has no such field: ${remedy}`]
  })
}
