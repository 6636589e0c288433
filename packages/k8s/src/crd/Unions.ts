/**
 * `Unions`: alternatives in a structural schema.
 *
 * A structural schema gives every field one type, outside of `anyOf` and `oneOf`, which may only restrict values. So
 * - alternatives of one type keep it, and their differences move into `anyOf`;
 * - null becomes `nullable`, literals become one `enum`, integer and string become `x-kubernetes-int-or-string`;
 * - structs become one object with the properties of all. What each alternative requires is in `oneOf` if a field tells
 *   the alternatives apart (a tag), and in `anyOf` if an object may match several at once.
 *
 * The server checks the type of every field it knows, even if the decoder chose an alternative without the field.
 */
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaASTs from "effect/SchemaAST"
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"
import { enumeration, type Report } from "./Leaves.ts"

export const convert = (
  members: ReadonlyArray<SchemaAST.AST>,
  path: string,
  report: Report,
  form: (member: SchemaAST.AST) => JSONSchemaProps
): JSONSchemaProps => {
  const present = members.filter((member) => !isNull(SchemaASTs.toEncoded(member)))
  const shapes = present.map(form)
  const united = unite(distinct(shapes), path, report)
  return present.length === members.length ? united : nullable(united)
}

const isNull = ({ _tag }: SchemaAST.AST): boolean => _tag === "Null" || _tag === "Undefined" || _tag === "Void"

/**
 * The server compares null with an enum as well, and 1.20 does not accept null in an enum. But it does not apply
 * `allOf` to null, so the enum goes there.
 */
const nullable = ({ enum: values, ...schema }: JSONSchemaProps): JSONSchemaProps => ({
  ...schema,
  nullable: true,
  ...(values === undefined ? {} : { allOf: [...(schema.allOf ?? []), { enum: values }] })
})

const distinct = (shapes: ReadonlyArray<JSONSchemaProps>): ReadonlyArray<JSONSchemaProps> => {
  const seen = new Map(shapes.map((shape) => [JSON.stringify(shape), shape]))
  return [...seen.values()]
}

const unite = (shapes: ReadonlyArray<JSONSchemaProps>, path: string, report: Report): JSONSchemaProps => {
  if (shapes.length === 1) return shapes[0]!
  if (shapes.length === 0) {
    report(path, "null alone has no structural form: leave the field out")
    return {}
  }
  if (shapes.some(({ enum: values }) => values?.includes("NaN"))) {
    report(path, "Schema.Number has no structural form, because it allows NaN: use Schema.Finite or Schema.Int")
    return {}
  }
  if (shapes.every((shape) => shape.enum !== undefined && Object.keys(shape).every((key) => scalarEnum.has(key)))) {
    return enumeration(shapes.flatMap((shape) => shape.enum!))
  }
  const types = [...new Set(shapes.map(typeOf))].sort()
  const [type] = types
  if (types.join() === "integer,string") return intOrString(shapes)
  if (types.length === 1 && type === "object") return objects(shapes, path, report)
  if (types.length === 1 && (type === "string" || type === "integer" || type === "number" || type === "boolean")) {
    return { type, anyOf: shapes.map((shape) => narrowing(shape)) }
  }
  if (types.join() === "integer,number") {
    const plain = shapes.find((shape) => shape.type === "number" && Object.keys(narrowing(shape)).length === 0)
    if (plain !== undefined) return { type: "number" }
  }
  report(
    path,
    `a union has no structural form: use one struct with optional fields, or Schema.Unknown (it is of ${
      types.join(" and ")
    })`
  )
  return {}
}

const scalarEnum = new Set(["type", "enum", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"])

const typeOf = (shape: JSONSchemaProps): string =>
  shape["x-kubernetes-int-or-string"] === true ? "integer or string" : shape.type ?? "anything"

/** Checks of numbers do not apply to strings and vice versa; only an enum applies to both. */
const intOrString = (shapes: ReadonlyArray<JSONSchemaProps>): JSONSchemaProps => {
  const base = { "x-kubernetes-int-or-string": true }
  if (shapes.length === 2 && shapes.every((shape) => shape.enum === undefined)) {
    return Object.assign({}, ...shapes.map((shape) => narrowing(shape)), base) as JSONSchemaProps
  }
  return base
}

/** Keywords that are allowed inside anyOf and oneOf. */
const narrowingKeywords = new Set([
  "enum",
  "format",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "not"
])

const split = (shape: JSONSchemaProps, narrow: boolean): JSONSchemaProps =>
  Object.fromEntries(Object.entries(shape).filter(([key]) => narrowingKeywords.has(key) === narrow))

const narrowing = (shape: JSONSchemaProps): JSONSchemaProps => split(shape, true)

type Properties = Readonly<Record<string, JSONSchemaProps>>

const property = ({ properties = {} }: JSONSchemaProps, name: string): JSONSchemaProps | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined

const objects = (shapes: ReadonlyArray<JSONSchemaProps>, path: string, report: Report): JSONSchemaProps => {
  for (const shape of shapes) {
    if (shape.additionalProperties !== undefined || shape.properties === undefined) {
      report(path, "a union with a record has no structural form: put the record in a field of its own")
      return {}
    }
    if (shape["x-kubernetes-validations"] !== undefined) {
      report(path, "rules of one alternative have no structural form: put them on the union")
    }
  }
  const names = [...new Set(shapes.flatMap(({ properties }) => Object.keys(properties!)))]
  const tag = names.find((name) => isTag(shapes, name))
  const required = names.filter((name) => shapes.every((shape) => shape.required?.includes(name) === true))
  const properties: Record<string, JSONSchemaProps> = {}
  const parts: ReadonlyArray<Record<string, JSONSchemaProps>> = shapes.map(() => ({}))
  for (const name of names) {
    const united = unitedProperty(shapes.map((shape) => property(shape, name)), `${path}.${name}`, report)
    properties[name] = united.common
    for (const [i, own] of united.own.entries()) if (own !== undefined) parts[i]![name] = own
  }
  const alternatives = shapes.map((shape, i) => alternative(shape, required, parts[i]!))
  const branches = alternatives.some((branch) => Object.keys(branch).length === 0)
    ? {}
    : tag === undefined
    ? { anyOf: alternatives }
    : { oneOf: alternatives }
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(shapes.some((shape) => shape["x-kubernetes-preserve-unknown-fields"] === true)
      ? { "x-kubernetes-preserve-unknown-fields": true }
      : {}),
    ...branches
  }
}

const alternative = (
  shape: JSONSchemaProps,
  common: ReadonlyArray<string>,
  properties: Properties
): JSONSchemaProps => {
  const required = (shape.required ?? []).filter((name) => !common.includes(name))
  return {
    ...narrowing(shape),
    ...(required.length === 0 ? {} : { required }),
    ...(Object.keys(properties).length === 0 ? {} : { properties })
  }
}

/** Whether the field is a tag: required by all alternatives, with different values in each. */
const isTag = (shapes: ReadonlyArray<JSONSchemaProps>, name: string): boolean => {
  const values: Array<unknown> = []
  for (const shape of shapes) {
    const own = property(shape, name)?.enum
    if (own === undefined || shape.required?.includes(name) !== true) return false
    values.push(...own)
  }
  return new Set(values).size === values.length
}

/** The common keywords of a field, and those that each alternative adds. */
const unitedProperty = (
  found: ReadonlyArray<JSONSchemaProps | undefined>,
  path: string,
  report: Report
): { readonly common: JSONSchemaProps; readonly own: ReadonlyArray<JSONSchemaProps | undefined> } => {
  const present = found.filter((shape) => shape !== undefined)
  const [first] = present as [JSONSchemaProps]
  const none = found.map(() => undefined)
  if (present.length < found.length && first.default !== undefined) {
    report(
      path,
      "a default of one alternative has no structural form: give the field to all alternatives, or leave the default out"
    )
  }
  const forms = distinct(present)
  if (forms.length === 1) return { common: first, own: none }
  const bases = distinct(present.map((shape) => {
    const { description: _, nullable: __, ...base } = split(shape, false)
    return base as JSONSchemaProps
  }))
  if (bases.length > 1) {
    report(path, "the alternatives of the union disagree on this field: give it one type, or another name in each")
    return { common: first, own: none }
  }
  const described = present.find(({ description }) => description !== undefined)
  const values = present.every((shape) => shape.enum !== undefined)
    ? { enum: [...new Set(present.flatMap((shape) => shape.enum!))] }
    : {}
  return {
    common: {
      ...(described === undefined ? {} : { description: described.description! }),
      ...bases[0]!,
      ...(present.some((shape) => shape.nullable === true) ? { nullable: true } : {}),
      ...values
    },
    own: found.map((shape) => {
      const own = shape === undefined ? {} : narrowing(shape)
      return Object.keys(own).length === 0 ? undefined : own
    })
  }
}
