/**
 * `BuiltinTypes`: the types of built-in kinds, from the OpenAPI document.
 *
 * Lists are atomic unless the document gives them a list type or else a merging patch strategy. The type knows which
 * fields a Go struct always contains, because that affects ownership: of a Deployment's `template`, which is always
 * present, only the parts are owned; of a container's `securityContext`, the whole and the parts. A string or number
 * that is always present defaults to the empty value, so that a list item without it still has a key. Each definition
 * is converted once, when it is first needed.
 *
 * Source: k8s.io/kube-openapi/pkg/schemaconv/openapi.go and pkg/generators (`defaultFromComments`,
 * `mustEnforceDefault`).
 */
import { definitions, type Schema } from "../../kinds/definitions.ts"
import * as GoZero from "../server/go/GoZero.ts"
import * as Types from "./Types.ts"

const atomicList = (element: Types.Type): Types.ListType => ({ associative: false, keys: [], element })

const relationOf = (schema: Schema): Pick<Types.ListType, "associative" | "keys"> => {
  switch (schema.listType) {
    case "set":
      return { associative: true, keys: [] }
    case "map":
      return { associative: true, keys: schema.listMapKeys ?? [] }
    case "atomic":
      return { associative: false, keys: [] }
    default:
      return schema.patchStrategy?.includes("merge") === true
        ? { associative: true, keys: schema.patchMergeKey === undefined ? [] : [schema.patchMergeKey] }
        : { associative: false, keys: [] }
  }
}

const scalarOf = (schema: Schema): Types.Scalar => {
  switch (schema.type) {
    case "integer":
    case "number":
      return "numeric"
    case "boolean":
      return "boolean"
    default:
      return schema.format === undefined || schema.format === "byte" ? "string" : "untyped"
  }
}

/**
 * The values of fields that a struct of this definition contains even if they are not set; undefined if there are none.
 */
const zerosOf = (name: string): ReadonlyMap<string, unknown> | undefined => {
  const fills = GoZero.fillsOf(name)
  return fills.length === 0 ? undefined : new Map(fills)
}

const mapOf = (schema: Schema, name: string): Types.MapType => {
  const zeros = zerosOf(name)
  return {
    atomic: schema.mapType === "atomic",
    fields: new Map(
      Object.entries(schema.properties ?? {}).map(([field, property]) => {
        const zero = property.ref === undefined ? zeros?.get(field) : undefined
        const byDefault = property.default ?? (typeof zero === "object" ? undefined : zero)
        return [field, { type: typeOf(property), ...(byDefault === undefined ? {} : { default: byDefault }) }]
      })
    ),
    element: schema.values === undefined
      ? schema.properties === undefined ? Types.deduced : undefined
      : typeOf(schema.values),
    ...(zeros === undefined ? {} : { zeros })
  }
}

const formsOf = (schema: Schema, name: string): Types.Forms => {
  switch (schema.type) {
    case undefined:
      return { scalar: "untyped", list: atomicList(Types.untyped), map: mapOf(schema, name) }
    case "object":
      return { map: mapOf(schema, name) }
    case "array":
      return {
        list: { ...relationOf(schema), element: schema.items === undefined ? Types.untyped : typeOf(schema.items) }
      }
    default:
      return { scalar: scalarOf(schema) }
  }
}

const known = new Map<string, Types.Type>([
  ["io.k8s.apimachinery.pkg.api.resource.Quantity", Types.scalars.untyped],
  ["io.k8s.apimachinery.pkg.runtime.RawExtension", Types.untyped]
])

const named = (name: string): Types.Type => {
  let type = known.get(name)
  if (type === undefined) {
    type = Types.draft()
    known.set(name, type)
    const schema = definitions[name]
    Types.fill(type, schema === undefined ? { ...Types.deduced } : formsOf(schema, name))
  }
  return type
}

/** The type with another map type, which a reference may specify. */
const withMapType = (type: Types.Type, mapType: Schema["mapType"]): Types.Type =>
  mapType === undefined || type.map === undefined || type.map.atomic === (mapType === "atomic")
    ? type
    : Types.make({ map: { ...type.map, atomic: mapType === "atomic" } })

const typeOf = (schema: Schema): Types.Type => {
  if (schema.ref !== undefined) return withMapType(named(schema.ref), schema.mapType)
  if (schema.type !== "object" && schema.type !== "array" && schema.type !== undefined) {
    return Types.scalars[scalarOf(schema)]
  }
  return Types.fill(Types.draft(), formsOf(schema, ""))
}

/** The type of a definition. */
export const ofDefinition: (name: string) => Types.Type = named

/** The type of the metadata that every object has. */
export const objectMeta = (): Types.Type => named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
