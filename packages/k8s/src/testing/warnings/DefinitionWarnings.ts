/**
 * `DefinitionWarnings`: warnings about string formats in a CustomResourceDefinition that the server does not validate.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, release 1.35.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as SchemaFormats from "../../schema/SchemaFormats.ts"

const inside = ["items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems"]
const named = ["properties", "patternProperties", "definitions", "dependencies"]

const schemasIn = (schema: unknown): ReadonlyArray<unknown> => [
  ...inside.flatMap((key) => [at(schema, key)].flat()),
  ...named.flatMap((key) => {
    const schemas = at(schema, key)
    return JsonValue.isObject(schemas) ? Object.values(schemas) : []
  })
]

const formatsIn = (schema: unknown): ReadonlyArray<string> => {
  if (!JsonValue.isObject(schema)) return []
  const format = stringAt(schema, "format")
  const strange = format !== "" && stringAt(schema, "type") === "string" && SchemaFormats.rule(format) === undefined
  return [...(strange ? [format] : []), ...schemasIn(schema).flatMap(formatsIn)]
}

const formatsOf = (definition: KubeObject | undefined): ReadonlySet<string> =>
  new Set(
    arrayAt(definition, "spec", "versions").flatMap((version) => formatsIn(at(version, "schema", "openAPIV3Schema")))
  )

/** Each format is reported once, unless it was used before. */
export const ofDefinition = (definition: KubeObject, previous: KubeObject | undefined): ReadonlyArray<string> => {
  const before = formatsOf(previous)
  return [...formatsOf(definition)].filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${FieldError.quote(format)}`)
}
