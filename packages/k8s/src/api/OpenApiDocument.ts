/**
 * `OpenApiDocument`: the OpenAPI documents of an API server: version 2 as one document, version 3 as one per group
 * version.
 *
 * Schemas of built-in kinds come from the generated tables (Kubernetes 1.35, without descriptions), those of custom
 * resources from their definitions (see `OpenApiCustom`), paths from discovery (see `OpenApiPaths`).
 * `x-kubernetes-group-version-kind`, list types and patch strategies are included, so that kubectl can validate,
 * explain and merge on the client. Documents of aggregated servers are merged into version 2 under their own names,
 * unless those are taken; in version 3 every group version has its own document anyway.
 *
 * Source: k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator, k8s.io/kube-openapi.
 */
import { definitions, isLater, resources, type Schema } from "../kinds/Schema.ts"
import * as OpenApiBuiltin from "./OpenApiBuiltin.ts"
import * as OpenApiCustom from "./OpenApiCustom.ts"
import * as OpenApiDiscovery from "./OpenApiDiscovery.ts"
import * as OpenApiPaths from "./OpenApiPaths.ts"
import type { JsonObject } from "../schema/JsonValue.ts"
import { objectAt } from "./Plain.ts"

/** The input of a document. */
export interface Source {
  /** `v1`, `apps/v1`, …: all group versions served here, built-in or custom. */
  readonly groupVersions: ReadonlyArray<string>
  /** The CustomResourceDefinitions, as stored. */
  readonly customs: ReadonlyArray<unknown>
  /** The group versions of aggregated servers. */
  readonly remotes: ReadonlyArray<string>
}

type Dialect = OpenApiPaths.Dialect

const info = { title: "Kubernetes", version: "1.35" }
const customInfo = { title: "Kubernetes CRD Swagger", version: "v0.1.0" }

const security = {
  securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
  security: [{ BearerToken: [] }]
}

const apiVersionOf = (entry: { readonly group: string; readonly version: string }): string =>
  entry.group === "" ? entry.version : `${entry.group}/${entry.version}`

const rootOf = (groupVersion: string): string => `${groupVersion.includes("/") ? "apis" : "api"}/${groupVersion}`

const schemaNames: ReadonlyMap<string, string> = new Map(
  Object.entries(definitions).flatMap(([name, { kind }]) =>
    kind === undefined ? [] : [[`${kind.group}/${kind.version}/${kind.kind}`, name]]
  )
)

const schemaOf = (
  { group, kind, version }: { readonly group: string; readonly version: string; readonly kind: string }
): string | undefined => schemaNames.get(`${group}/${version}/${kind}`)

const builtins = (serves: (groupVersion: string) => boolean): ReadonlyArray<OpenApiPaths.Resource> =>
  resources.filter((resource) => serves(apiVersionOf(resource)) && !isLater(resource)).flatMap((resource) => {
    const schema = schemaOf(resource)
    return schema === undefined ? [] : [{
      ...resource,
      namespaced: resource.scope === "Namespaced",
      custom: false,
      schema,
      listSchema: schemaOf({ ...resource, kind: resource.listKind })
    }]
  })

const laterKinds: ReadonlySet<string> = new Set(
  resources.filter(isLater).flatMap(({ group, kind, listKind, version }) =>
    [kind, listKind].flatMap((name) => schemaOf({ group, version, kind: name }) ?? [])
  )
)

const builtinGroups: ReadonlySet<string> = new Set(resources.map(({ group }) => group))

const isBuiltin = (groupVersion: string): boolean =>
  builtinGroups.has(groupVersion.includes("/") ? groupVersion.slice(0, groupVersion.indexOf("/")) : "")

const discovery = (source: Source): OpenApiDiscovery.Told =>
  OpenApiDiscovery.told(source.groupVersions.filter(isBuiltin))

const customsOf = (source: Source, serves: (groupVersion: string) => boolean): ReadonlyArray<OpenApiCustom.Custom> =>
  source.customs.flatMap((custom) => OpenApiCustom.versionsOf(custom, serves))

const paths = (all: ReadonlyArray<OpenApiPaths.Resource>, dialect: Dialect): JsonObject =>
  Object.fromEntries(all.flatMap((resource) => OpenApiPaths.of(resource, dialect, schemaOf)))

const schemas = (customs: ReadonlyArray<OpenApiCustom.Custom>, dialect: Dialect): Record<string, JsonObject> =>
  Object.assign({}, ...customs.map((custom) => OpenApiCustom.schemas(custom, dialect))) as Record<string, JsonObject>

/** `/openapi/v2`. `remote`: the documents of aggregated servers. */
export const version2 = (source: Source, remote: ReadonlyArray<unknown>): JsonObject => {
  const served = new Set(source.groupVersions)
  const serves = (groupVersion: string) => served.has(groupVersion)
  const customs = customsOf(source, serves)
  const builtin = builtins(serves)
  const told = discovery(source)
  const roots = [...rootsOf(serves, builtin), ...customRoots(customs), ...OpenApiDiscovery.roots(told)]
  const merge = (key: "paths" | "definitions", own: JsonObject): JsonObject =>
    Object.assign({}, ...remote.map((document) => objectAt(document, key)), own) as JsonObject
  return {
    swagger: "2.0",
    info,
    paths: merge("paths", {
      ...OpenApiDiscovery.paths(told, "v2"),
      ...paths([...builtin, ...customs], "v2")
    }),
    definitions: merge("definitions", { ...reached(roots, "v2"), ...schemas(customs, "v2") }),
    ...security
  }
}

/** `/openapi/v3`: the URLs of the documents. `hashOf` makes clients fetch a changed document again. */
export const version3Root = (source: Source, hashOf: (root: string) => string): JsonObject => {
  const roots = new Set([...source.groupVersions, ...source.remotes].map(rootOf).concat([...discovery(source).keys()]))
  return {
    paths: Object.fromEntries(
      [...roots].sort().map((root) => [root, { serverRelativeURL: `/openapi/v3/${root}?hash=${hashOf(root)}` }])
    )
  }
}

/** `/openapi/v3/apis/GROUP/VERSION`, or the document of a discovery path; undefined if it is not served here. */
export const version3 = (source: Source, root: string): JsonObject | undefined => {
  const groupVersion = source.groupVersions.find((groupVersion) => rootOf(groupVersion) === root) ?? ""
  const operation = discovery(source).get(root)
  if (groupVersion === "" && operation === undefined) return undefined
  const told = new Map(operation === undefined ? [] : [[root, operation]])
  const serves = (other: string) => other === groupVersion
  const customs = customsOf(source, serves)
  const builtin = builtins(serves)
  const roots = [
    ...rootsOf(serves, builtin),
    ...(groupVersion === "" ? [] : customRoots(customs)),
    ...OpenApiDiscovery.roots(told)
  ]
  const known = { ...schemas(customs, "v3"), ...reached(roots, "v3") }
  return {
    openapi: "3.0.0",
    info: operation === undefined ? customInfo : info,
    paths: { ...OpenApiDiscovery.paths(told, "v3"), ...paths([...builtin, ...customs], "v3") },
    components: {
      ...(Object.keys(known).length === 0 ? {} : { schemas: known }),
      securitySchemes: security.securityDefinitions
    }
  }
}

/** The documents of custom kinds alone: what an aggregated server publishes. */
export const ofCustoms = (customs: ReadonlyArray<OpenApiCustom.Custom>): Record<Dialect, JsonObject> => ({
  v2: {
    swagger: "2.0",
    info,
    paths: paths(customs, "v2"),
    definitions: { ...schemas(customs, "v2"), ...reached(customRoots(customs), "v2") },
    ...security
  },
  v3: {
    openapi: "3.0.0",
    info,
    paths: paths(customs, "v3"),
    components: {
      schemas: { ...schemas(customs, "v3"), ...reached(customRoots(customs), "v3") },
      securitySchemes: security.securityDefinitions
    }
  }
})

/** The schemas of the served kinds. */
const rootsOf = (
  serves: (groupVersion: string) => boolean,
  resources: ReadonlyArray<OpenApiPaths.Resource>
): ReadonlyArray<string> => [
  ...Object.keys(definitions).filter((name) => {
    const kind = definitions[name]!.kind
    return kind !== undefined && serves(apiVersionOf(kind)) && !laterKinds.has(name)
  }),
  ...resources.flatMap(({ subresources }) => subresources.flatMap((entry) => schemaOf(entry) ?? []))
]

/** The built-in schemas that custom kinds refer to. */
const customRoots = (customs: ReadonlyArray<OpenApiCustom.Custom>): ReadonlyArray<string> => [
  ...customs.flatMap(({ subresources }) => subresources.some(({ name }) => name === "scale") ? [scale] : []),
  ...["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"].map((kind) => `${meta}${kind}`)
]

/** Built-in schemas with everything they refer to. */
const reached = (roots: ReadonlyArray<string>, dialect: Dialect): JsonObject =>
  Object.fromEntries([...reachable(roots)].map((name) => [name, OpenApiBuiltin.definition(name, dialect)]))

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
const scale = "io.k8s.api.autoscaling.v1.Scale"

/** The names of definitions reachable from these, including them. */
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
