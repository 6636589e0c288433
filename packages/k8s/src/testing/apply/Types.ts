/**
 * `Types`: what server-side apply must know of a value: is it a scalar, a list or a map, and does it merge?
 *
 * A type may allow several forms (an int-or-string field is any scalar; `x-kubernetes-preserve-unknown-fields` allows
 * all); `deduce` picks by the value. Types may contain themselves, so they are made in two steps: `draft`, then `fill`.
 *
 * Source: sigs.k8s.io/structured-merge-diff/schema and k8s.io/kube-openapi/pkg/schemaconv.
 */
import * as JsonValue from "../../schema/JsonValue.ts"

export type Scalar = "numeric" | "string" | "boolean" | "untyped"

export interface ListType {
  /** Items are told apart by `keys`, or by their value if there are none; otherwise the list is atomic. */
  readonly associative: boolean
  readonly keys: ReadonlyArray<string>
  readonly element: Type
}

/** A declared field. */
export interface Field {
  readonly type: Type
  /** What stands for it among the keys of a list where it is missing. */
  readonly default?: unknown
}

export interface MapType {
  readonly atomic: boolean
  readonly fields: ReadonlyMap<string, Field>
  /** The type of what is not declared; undefined where nothing else is allowed. */
  readonly element: Type | undefined
  /** What a Go struct of this type writes for fields that are not set. Built-in kinds only. */
  readonly zeros?: ReadonlyMap<string, unknown>
}

/** At least one form. */
export interface Type {
  readonly map?: MapType | undefined
  readonly scalar?: Scalar | undefined
  readonly list?: ListType | undefined
  /** The type with one of its forms only; the type itself where there is one. */
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

/** Gives a drafted type its forms. */
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

/** A type that is known at once. */
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

/** Any JSON, owned field by field; lists are atomic. */
export const deduced: Type = draft()
fill(deduced, {
  scalar: "untyped",
  list: { associative: false, keys: [], element: untyped },
  map: { atomic: false, fields: noFields, element: deduced }
})

/** The form of the type that a value has; the type itself where none fits, or for null. */
export const deduce = (type: Type, value: unknown): Type => {
  if (value === undefined || value === null) return type
  if (Array.isArray(value)) return type.list === undefined ? type : type.only.list
  if (typeof value === "object") return type.map === undefined ? type : type.only.map
  return type.scalar === undefined ? type : type.only.scalar
}

/** The type of a field of a map; undefined where it must not be. */
export const fieldType = (map: MapType, name: string): Type | undefined => map.fields.get(name)?.type ?? map.element

/** The value of a field, or what a struct writes in its place; undefined for nothing, and in nothing. */
export const valueOf = (value: JsonValue.JsonObject | undefined, name: string, zeros: MapType["zeros"]): unknown =>
  value === undefined ? undefined : JsonValue.has(value, name) ? value[name] : zeros?.get(name)

/** The names of the fields of a value, with those that a struct writes anyway. */
export const namesOf = (value: JsonValue.JsonObject, zeros: MapType["zeros"]): ReadonlyArray<string> => {
  const names = Object.keys(value)
  if (zeros !== undefined) { for (const name of zeros.keys()) if (!JsonValue.has(value, name)) names.push(name) }
  return names
}
