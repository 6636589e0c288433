/**
 * `Types`: what server-side apply needs to know of a value: whether it is a scalar, a list or a map, and how it merges.
 *
 * A type may allow several forms (an int-or-string field is any scalar; `x-kubernetes-preserve-unknown-fields` allows
 * all); `deduce` selects one by the value. Types can be recursive, so they are made in two steps: `draft`, then `fill`.
 *
 * Source: sigs.k8s.io/structured-merge-diff/schema and k8s.io/kube-openapi/pkg/schemaconv.
 */
import * as JsonValue from "../../schema/JsonValue.ts"

export type Scalar = "numeric" | "string" | "boolean" | "untyped"

export interface ListType {
  /** Whether items have an identity: their `keys`, or without keys their value. Otherwise the list is atomic. */
  readonly associative: boolean
  readonly keys: ReadonlyArray<string>
  readonly element: Type
}

/** A declared field. */
export interface Field {
  readonly type: Type
  /** The value for the identity of a list item if the field is a key and missing. */
  readonly default?: unknown
}

export interface MapType {
  readonly atomic: boolean
  readonly fields: ReadonlyMap<string, Field>
  /** The type of undeclared fields; undefined if they are not allowed. */
  readonly element: Type | undefined
  /** The values of fields that a Go struct of this type contains even if they are not set. Built-in kinds only. */
  readonly zeros?: ReadonlyMap<string, unknown>
}

/** Has at least one form. */
export interface Type {
  readonly map?: MapType | undefined
  readonly scalar?: Scalar | undefined
  readonly list?: ListType | undefined
  /** The type restricted to one of its forms; the type itself if it has only one. */
  readonly only: { readonly map: Type; readonly scalar: Type; readonly list: Type }
}

export interface Forms {
  readonly map?: MapType | undefined
  readonly scalar?: Scalar | undefined
  readonly list?: ListType | undefined
}

interface Draft {
  map?: MapType | undefined
  scalar?: Scalar | undefined
  list?: ListType | undefined
  only: { map: Type; scalar: Type; list: Type }
}

/** A type whose forms are not known yet. */
export const draft = (): Type => {
  const type = {} as Draft
  type.only = { map: type as Type, scalar: type as Type, list: type as Type }
  return type as Type
}

const single = (forms: Forms): Type => fill(draft(), forms)

/** Sets the forms of a draft. */
export const fill = (type: Type, forms: Forms): Type => {
  const target = type as Draft
  Object.assign(target, forms)
  const several = [forms.map, forms.scalar, forms.list].filter((form) => form !== undefined).length > 1
  if (several) {
    if (forms.map !== undefined) target.only.map = single({ map: forms.map })
    if (forms.scalar !== undefined) target.only.scalar = single({ scalar: forms.scalar })
    if (forms.list !== undefined) target.only.list = single({ list: forms.list })
  }
  return type
}

/** A type with the given forms. */
export const make = (forms: Forms): Type => fill(draft(), forms)

export const scalars: Readonly<Record<Scalar, Type>> = {
  numeric: make({ scalar: "numeric" }),
  string: make({ scalar: "string" }),
  boolean: make({ scalar: "boolean" }),
  untyped: make({ scalar: "untyped" })
}

const noFields: ReadonlyMap<string, Field> = new Map()

/** Any JSON, owned as a whole. */
export const untyped: Type = draft()
fill(untyped, {
  scalar: "untyped",
  list: { associative: false, keys: [], element: untyped },
  map: { atomic: true, fields: noFields, element: untyped }
})

/** Any JSON, owned by field; lists are atomic. */
export const deduced: Type = draft()
fill(deduced, {
  scalar: "untyped",
  list: { associative: false, keys: [], element: untyped },
  map: { atomic: false, fields: noFields, element: deduced }
})

/** The type restricted to the form of a value; the type itself if no form matches, or for null. */
export const deduce = (type: Type, value: unknown): Type => {
  if (value === undefined || value === null) return type
  if (Array.isArray(value)) return type.list === undefined ? type : type.only.list
  if (typeof value === "object") return type.map === undefined ? type : type.only.map
  return type.scalar === undefined ? type : type.only.scalar
}

/** The type of a field of a map; undefined if it is not allowed. */
export const fieldType = (map: MapType, name: string): Type | undefined => map.fields.get(name)?.type ?? map.element

/** The value of a field, or the one that a struct contains instead; undefined if there is none. */
export const valueOf = (value: JsonValue.JsonObject | undefined, name: string, zeros: MapType["zeros"]): unknown =>
  value === undefined ? undefined : JsonValue.has(value, name) ? value[name] : zeros?.get(name)

/** The names of all fields of a value, including those that a struct always contains. */
export const namesOf = (value: JsonValue.JsonObject, zeros: MapType["zeros"]): ReadonlyArray<string> => {
  const names = Object.keys(value)
  if (zeros !== undefined) { for (const name of zeros.keys()) if (!JsonValue.has(value, name)) names.push(name) }
  return names
}
