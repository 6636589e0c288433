/**
 * The OpenAPI documents of an API server: version 2 as one document, version 3 as one per group version.
 *
 * Schemas of built-in kinds come from the generated tables (Kubernetes 1.35, without descriptions), those of custom
 * resources from their definitions. `x-kubernetes-group-version-kind`, list types and patch strategies are there, so
 * that kubectl can validate, explain and merge on the client. Of the paths, only what clients read is told: which kind
 * a PATCH takes, and that it understands `dryRun`, `fieldManager` and `fieldValidation`.
 *
 * In version 2 a custom schema loses what that version cannot say, as in a real server: nullable fields and fields
 * that keep unknown ones allow everything, and anyOf, oneOf and not are left out.
 *
 * Source: kubernetes/apiextensions-apiserver pkg/controller/openapi, kubernetes/kube-openapi.
 */
import { definitions, resources, type Schema } from "../../kinds/Schema.ts"
import { isObject, type JsonObject } from "../schema/JsonValue.ts"
import { arrayAt, objectAt, stringAt } from "../server/Plain.ts"

/** What a document is made of. */
export interface Source {
  /** `v1`, `apps/v1`, …: everything served, built in or not. */
  readonly groupVersions: ReadonlyArray<string>
  /** The CustomResourceDefinitions, as stored. */
  readonly customs: ReadonlyArray<unknown>
}

/** A kind that is served, with its schema under the name a document has it. */
interface Entry {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The path of one object. */
  readonly path: string
}

/** A custom kind in one version. */
interface CustomEntry extends Entry {
  readonly definition: string
  readonly schema: JsonObject
}

type Dialect = "v2" | "v3"

const references: Record<Dialect, string> = { v2: "#/definitions/", v3: "#/components/schemas/" }

const info = { title: "Kubernetes", version: "v1.35.0" }

const apiVersionOf = (entry: { readonly group: string; readonly version: string }): string =>
  entry.group === "" ? entry.version : `${entry.group}/${entry.version}`

const rootOf = (groupVersion: string): string => `${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}`

const objectPath = (groupVersion: string, plural: string, namespaced: boolean): string =>
  `/${rootOf(groupVersion)}/${namespaced ? "namespaces/{namespace}/" : ""}${plural}/{name}`

/** `/openapi/v2`. */
export const version2 = (source: Source): JsonObject => {
  const customs = customEntries(source)
  return {
    swagger: "2.0",
    info,
    paths: paths([...builtinEntries(source), ...customs], "v2"),
    definitions: {
      ...builtinDefinitions("v2"),
      ...Object.fromEntries(customs.map((entry) => [entry.definition, customDefinition(entry, "v2")]))
    }
  }
}

/** `/openapi/v3`: where the document of each group version is. `hashOf` makes clients fetch a changed one again. */
export const version3Root = (source: Source, hashOf: (groupVersion: string) => string): JsonObject => ({
  paths: Object.fromEntries(source.groupVersions.map((groupVersion) => {
    const root = rootOf(groupVersion)
    return [root, { serverRelativeURL: `/openapi/v3/${root}?hash=${hashOf(groupVersion)}` }]
  }))
})

/** `/openapi/v3/apis/GROUP/VERSION`; undefined for a group version that is not served. */
export const version3 = (source: Source, groupVersion: string): JsonObject | undefined => {
  if (!source.groupVersions.includes(groupVersion)) return undefined
  const own = (entry: Entry) => apiVersionOf(entry) === groupVersion
  const customs = customEntries(source).filter(own)
  const builtin = builtinEntries(source).filter(own)
  const schemas: Record<string, JsonObject> = {}
  for (const entry of customs) schemas[entry.definition] = customDefinition(entry, "v3")
  const roots = Object.keys(definitions).filter((name) => {
    const kind = definitions[name]!.kind
    return kind !== undefined && apiVersionOf(kind) === groupVersion
  })
  for (const name of reachable([...roots, ...(customs.length > 0 ? [objectMeta] : [])])) {
    schemas[name] = builtinDefinition(definitions[name]!, "v3")
  }
  return { openapi: "3.0.0", info, paths: paths([...builtin, ...customs], "v3"), components: { schemas } }
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

/** The definitions that some of them refer to, with these. */
const reachable = (names: ReadonlyArray<string>): ReadonlySet<string> => {
  const seen = new Set<string>()
  const visit = (schema: Schema): void => {
    if (schema.ref !== undefined) add(schema.ref)
    if (schema.items !== undefined) visit(schema.items)
    if (schema.values !== undefined) visit(schema.values)
    for (const property of Object.values(schema.properties ?? {})) visit(property)
  }
  const add = (name: string): void => {
    const definition = definitions[name]
    if (definition === undefined || seen.has(name)) return
    seen.add(name)
    visit(definition)
  }
  names.forEach(add)
  return seen
}

const builtinEntries = (source: Source): ReadonlyArray<Entry> =>
  resources.flatMap((resource) => {
    const groupVersion = apiVersionOf(resource)
    if (!source.groupVersions.includes(groupVersion) || !resource.verbs.includes("patch")) return []
    const path = objectPath(groupVersion, resource.plural, resource.scope === "Namespaced")
    return [{ group: resource.group, version: resource.version, kind: resource.kind, path }]
  })

/** `example.com` and `v1` and `Widget` to `com.example.v1.Widget`. */
const definitionName = (group: string, version: string, kind: string): string =>
  [...group.split(".").toReversed(), version, kind].join(".")

const customEntries = (source: Source): ReadonlyArray<CustomEntry> =>
  source.customs.flatMap((custom) => {
    const spec = objectAt(custom, "spec")
    const group = stringAt(spec, "group")
    const kind = stringAt(spec, "names", "kind")
    return arrayAt(spec, "versions").flatMap((version): ReadonlyArray<CustomEntry> => {
      const name = stringAt(version, "name")
      const groupVersion = `${group}/${name}`
      if (!source.groupVersions.includes(groupVersion)) return []
      return [{
        group,
        version: name,
        kind,
        path: objectPath(groupVersion, stringAt(spec, "names", "plural"), stringAt(spec, "scope") === "Namespaced"),
        definition: definitionName(group, name, kind),
        schema: objectAt(version, "schema", "openAPIV3Schema")
      }]
    })
  })

const patchParameters: ReadonlyArray<string> = ["dryRun", "fieldManager", "fieldValidation", "force"]

const paths = (entries: ReadonlyArray<Entry>, dialect: Dialect): JsonObject =>
  Object.fromEntries(entries.map(({ group, kind, path, version }) => [path, {
    patch: {
      description: `partially update the specified ${kind}`,
      operationId: `patch${kind}.${version}.${group}`,
      parameters: patchParameters.map((name) => {
        const type = name === "force" ? "boolean" : "string"
        return dialect === "v2"
          ? { uniqueItems: true, type, name, in: "query" }
          : { name, in: "query", schema: { type, uniqueItems: true } }
      }),
      responses: { "200": { description: "OK" } },
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": { group, version, kind }
    }
  }]))

const builtinDefinitions = (dialect: Dialect): JsonObject =>
  Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, builtinDefinition(schema, dialect)]))

const builtinDefinition = (schema: Schema, dialect: Dialect): JsonObject => {
  const convert = (inner: Schema) => builtinDefinition(inner, dialect)
  const own: JsonObject = {
    ...(schema.type === undefined ? {} : { type: schema.type }),
    ...(schema.format === undefined ? {} : { format: schema.format }),
    ...(schema.enum === undefined ? {} : { enum: schema.enum }),
    ...(schema.default === undefined ? {} : { default: schema.default }),
    ...(schema.required === undefined ? {} : { required: schema.required }),
    ...(schema.properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(schema.properties).map(([name, of]) => [name, convert(of)])) }),
    ...(schema.values === undefined ? {} : { additionalProperties: convert(schema.values) }),
    ...(schema.items === undefined ? {} : { items: convert(schema.items) }),
    ...(schema.listType === undefined ? {} : { "x-kubernetes-list-type": schema.listType }),
    ...(schema.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": schema.listMapKeys }),
    ...(schema.mapType === undefined ? {} : { "x-kubernetes-map-type": schema.mapType }),
    ...(schema.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": schema.patchStrategy.join(",") }),
    ...(schema.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": schema.patchMergeKey }),
    ...(schema.kind === undefined ? {} : { "x-kubernetes-group-version-kind": [schema.kind] })
  }
  if (schema.ref === undefined) return own
  const reference = { $ref: `${references[dialect]}${schema.ref}` }
  // Version 3 ignores what stands beside a reference.
  return dialect === "v2" || Object.keys(own).length === 0 ? { ...reference, ...own } : { allOf: [reference], ...own }
}

const customDefinition = (entry: CustomEntry, dialect: Dialect): JsonObject => {
  const { group, kind, version } = entry
  const schema = dialect === "v2" ? asVersion2(entry.schema) : entry.schema
  const reference = { $ref: `${references[dialect]}${objectMeta}` }
  return {
    ...schema,
    type: "object",
    properties: {
      ...objectAt(schema, "properties"),
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: dialect === "v2" ? reference : { allOf: [reference] }
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind }]
  }
}

const combinators: ReadonlySet<string> = new Set([
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "nullable",
  "x-kubernetes-validations"
])

/** What version 2 can say of a structural schema. */
const asVersion2 = (schema: unknown): JsonObject => {
  if (!isObject(schema)) return {}
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true || schema["nullable"] === true
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (combinators.has(name) || open && (name === "properties" || name === "items" || name === "required")) continue
    if (name === "type" && (schema["nullable"] === true || schema["x-kubernetes-int-or-string"] === true)) continue
    result[name] = name === "properties" && isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, of]) => [key, asVersion2(of)]))
      : (name === "items" || name === "additionalProperties") && isObject(value)
      ? asVersion2(value)
      : value
  }
  return result
}
