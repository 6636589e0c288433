/**
 * `CustomTypes`: the types of custom resources, from the `openAPIV3Schema` of a version.
 *
 * `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` determine how values merge; a list without a list type is
 * atomic. Below a part that preserves unknown fields, every object may contain undeclared fields. Embedded objects have
 * the metadata of Kubernetes.
 *
 * Source: k8s.io/kube-openapi/pkg/schemaconv/openapi.go and
 * k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder.
 */
import * as BuiltinTypes from "./BuiltinTypes.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { asRoot, type Schema } from "../../schema/Schema.ts"
import * as Types from "./Types.ts"

const listOf = (schema: Schema, preserving: boolean): Types.ListType => {
  const element = schema.items === undefined ? Types.untyped : typeOf(schema.items, preserving)
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return { associative: true, keys: [], element }
    case "map":
      return { associative: true, keys: schema["x-kubernetes-list-map-keys"] ?? [], element }
    default:
      return { associative: false, keys: [], element }
  }
}

/** The type of undeclared fields; undefined if they are not allowed. */
const elementOf = (schema: Schema, preserving: boolean): Types.Type | undefined => {
  const { additionalProperties } = schema
  if (additionalProperties === undefined) {
    const declares = schema["x-kubernetes-embedded-resource"] === true ||
      Object.keys(schema.properties ?? {}).length > 0
    return preserving || !declares ? Types.deduced : undefined
  }
  if (JsonValue.isObject(additionalProperties)) return typeOf(additionalProperties as Schema, preserving)
  return additionalProperties === true ? Types.deduced : undefined
}

const embedded = (): ReadonlyArray<readonly [string, Types.Field]> => [
  ["apiVersion", { type: Types.scalars.string }],
  ["kind", { type: Types.scalars.string }],
  ["metadata", { type: BuiltinTypes.objectMeta() }]
]

const mapOf = (schema: Schema, preserving: boolean): Types.MapType => ({
  atomic: schema["x-kubernetes-map-type"] === "atomic",
  fields: new Map([
    ...Object.entries(schema.properties ?? {}).map(([name, property]): [string, Types.Field] => [
      name,
      { type: typeOf(property, preserving), ...(property.default === undefined ? {} : { default: property.default }) }
    ]),
    ...(schema["x-kubernetes-embedded-resource"] === true ? embedded() : [])
  ]),
  element: elementOf(schema, preserving)
})

const scalarOf = (schema: Schema): Types.Scalar => {
  switch (schema.type) {
    case "integer":
    case "number":
      return "numeric"
    case "boolean":
      return "boolean"
    default:
      return schema.format === undefined || schema.format === "" || schema.format === "byte" ? "string" : "untyped"
  }
}

const typeOf = (schema: Schema, above: boolean): Types.Type => {
  const preserving = above || schema["x-kubernetes-preserve-unknown-fields"] === true
  switch (schema.type) {
    case undefined:
    case "":
      return Types.make({ scalar: "untyped", list: listOf(schema, preserving), map: mapOf(schema, preserving) })
    case "object":
      return Types.make({ map: mapOf(schema, preserving) })
    case "array":
      return Types.make({ list: listOf(schema, preserving) })
    default:
      return Types.scalars[scalarOf(schema)]
  }
}

/** The type of a whole object of a version. */
export const ofSchema = (schema: Schema): Types.Type => typeOf(asRoot(schema), false)
