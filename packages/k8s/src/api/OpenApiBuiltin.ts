/**
 * `OpenApiBuiltin`: the schemas of built-in types in OpenAPI documents.
 *
 * Types and list types come from the generated tables (Kubernetes 1.35, without descriptions); required fields and
 * enums come from the comments of the Go types (`kinds/goMarkers`). Version 3 also has the zero values of non-pointers
 * as defaults and strings that may be numbers; version 2 can express neither.
 *
 * Source: k8s.io/kube-openapi/pkg/generators/openapi.go (`generateDefault`, `mustEnforceDefault`).
 */
import { definitions, type Schema, zeroOf } from "../kinds/Schema.ts"
import { table as markerTable } from "../kinds/goMarkers.ts"
import { table as typeTable } from "../kinds/goTypes.ts"
import type { JsonObject } from "../schema/JsonValue.ts"
import { type Dialect, references } from "./OpenApiPaths.ts"

interface Markers {
  /** In the order of the Go struct. */
  readonly required: ReadonlyArray<string>
  readonly words: Readonly<Record<string, ReadonlyArray<string>>>
}

const lines = (table: string, separator: string): ReadonlyMap<string, ReadonlyArray<string>> =>
  new Map(
    table.trim().split("\n").map((line) => {
      const [name, ...fields] = line.split(separator)
      return [name!, fields]
    })
  )

/** Needed only once a document is requested. */
const lazily = <A>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

const types = lazily(() => lines(typeTable, " "))

const markers = lazily((): ReadonlyMap<string, Markers> =>
  new Map(Array.from(lines(markerTable, "\t"), ([name, fields]) => [name, {
    required: fields.filter((field) => field.startsWith("!")).map((field) => field.slice(1).replace(/=.*/, "")),
    words: Object.fromEntries(
      fields.filter((field) => field.includes("=")).map((field) => {
        const [key = "", words = ""] = field.replace("!", "").split("=")
        return [key, words.split("|")]
      })
    )
  }]))
)

const isStruct = (name: string): boolean => definitions[name]?.properties !== undefined

/** The zero value of a schema; undefined for lists, maps and types with their own encoding. */
const zero = (schema: Schema): unknown => {
  if (schema.ref !== undefined) return isStruct(schema.ref) ? {} : undefined
  return schema.format === "byte" ? undefined : zeroOf(schema.type)
}

/** The default of a field: always for a struct, for a scalar if Go writes it even when empty. */
const defaultOf = (type: ReadonlyArray<string> | undefined, field: string, schema: Schema): unknown =>
  schema.default ??
    (type?.includes(`!${field}`) === true || (schema.ref !== undefined && type?.includes(field) === true)
      ? zero(schema)
      : undefined)

/** Strings that may be written as numbers. */
const either: Readonly<Record<string, ReadonlyArray<string>>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": ["string", "number"],
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"]
}

const schemaOf = (schema: Schema, dialect: Dialect, filled: unknown, words?: ReadonlyArray<string>): JsonObject => {
  const isScalar = schema.items === undefined && schema.values === undefined
  const inner = (of: Schema) => schemaOf(of, dialect, zero(of), words)
  const own: JsonObject = {
    ...(schema.type === undefined ? {} : { type: schema.type }),
    ...(schema.format === undefined ? {} : { format: schema.format }),
    ...(isScalar && words !== undefined ? { enum: words } : {}),
    ...(dialect === "v2" || filled === undefined ? {} : { default: filled }),
    ...(schema.values === undefined ? {} : { additionalProperties: inner(schema.values) }),
    ...(schema.items === undefined ? {} : { items: inner(schema.items) }),
    ...(schema.listType === undefined ? {} : { "x-kubernetes-list-type": schema.listType }),
    ...(schema.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": schema.listMapKeys }),
    ...(schema.mapType === undefined ? {} : { "x-kubernetes-map-type": schema.mapType }),
    ...(schema.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": schema.patchStrategy.join(",") }),
    ...(schema.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": schema.patchMergeKey })
  }
  if (schema.ref === undefined) return own
  const reference = { $ref: `${references[dialect]}${schema.ref}` }
  // Version 3 ignores siblings of a reference.
  return dialect === "v2" || Object.keys(own).length === 0 ? { ...reference, ...own } : { allOf: [reference], ...own }
}

/** The schema of a type that must exist in the document. */
export const definition = (name: string, dialect: Dialect): JsonObject => {
  const schema = definitions[name]!
  const type = types().get(name)
  const { required, words } = markers().get(name) ??
    { required: type === undefined ? schema.required ?? [] : [], words: {} }
  const ways = dialect === "v3" ? either[name] : undefined
  const { type: written, ...rest } = schemaOf(schema, dialect, undefined)
  return {
    ...(ways === undefined
      ? written === undefined ? {} : { type: written }
      : { oneOf: ways.map((type) => ({ type })) }),
    ...rest,
    ...(required.length === 0 ? {} : { required }),
    ...(schema.properties === undefined || (Object.keys(schema.properties).length === 0 && dialect === "v3")
      ? {}
      : {
        properties: Object.fromEntries(
          Object.entries(schema.properties).map(([field, of]) => [
            field,
            schemaOf(of, dialect, defaultOf(type, field, of), words[field])
          ])
        )
      }),
    ...(schema.kind === undefined ? {} : { "x-kubernetes-group-version-kind": [schema.kind] })
  }
}
