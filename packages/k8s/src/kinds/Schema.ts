/**
 * `Schema`: look-ups in the generated tables: which resource serves a kind, and the schema of a kind's fields.
 *
 * Only servers and patches need them, and the table of definitions is large, so no module that a live operator imports
 * may import this one. Every look-up is total: an unknown group, kind or field gives `undefined`.
 */
import type { Schema } from "./definitions.ts"
import { definitions } from "./definitions.ts"
import type { ServedGroup, ServedResource, ServedSubresource } from "./tables.ts"
import { groups, resources } from "./tables.ts"

export type { Schema, ServedGroup, ServedResource, ServedSubresource }
export { definitions, groups, resources }

export interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Go's zero value of a scalar type of a schema; undefined for every other type. */
export const zeroOf = (type: string | undefined): string | number | boolean | undefined =>
  type === "string" ? "" : type === "integer" || type === "number" ? 0 : type === "boolean" ? false : undefined

const key = (group: string, version: string, name: string): string => `${group}/${version}/${name}`

/** Resources of stable versions that the tables contain but release 1.35 does not serve, however it is configured. */
const later: ReadonlySet<string> = new Set([
  key("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies"),
  key("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings")
])

/** Whether a resource is newer than the release that a server stands for. */
export const isLater = (resource: Pick<ServedResource, "group" | "version" | "plural">): boolean =>
  later.has(key(resource.group, resource.version, resource.plural))

const definitionsByKind: ReadonlyMap<string, Schema> = new Map(
  Object.values(definitions).flatMap((schema) =>
    schema.kind === undefined ? [] : [[key(schema.kind.group, schema.kind.version, schema.kind.kind), schema] as const]
  )
)

const resourcesByPlural: ReadonlyMap<string, ServedResource> = new Map(
  resources.map((resource) => [key(resource.group, resource.version, resource.plural), resource])
)

const resourcesByKind: ReadonlyMap<string, ServedResource> = new Map(
  resources.map((resource) => [key(resource.group, resource.version, resource.kind), resource])
)

/** True for `v1`, false for alpha and beta, which a server serves only if configured to (since Kubernetes 1.24). */
export const isStable = (version: string): boolean => !version.includes("alpha") && !version.includes("beta")

/** The resource at `/apis/group/version/plural`. */
export const resourceFor = (target: {
  readonly group: string
  readonly version: string
  readonly plural: string
}): ServedResource | undefined => resourcesByPlural.get(key(target.group, target.version, target.plural))

/** The resource of a kind; `undefined` for kinds that only subresources or lists have. */
export const resourceForKind = (gvk: Gvk): ServedResource | undefined =>
  resourcesByKind.get(key(gvk.group, gvk.version, gvk.kind))

/** The schema of a kind: of a resource, its list, a subresource's kind (`Scale`, `Eviction`), or `DeleteOptions`. */
export const definitionFor = (gvk: Gvk): Schema | undefined =>
  definitionsByKind.get(key(gvk.group, gvk.version, gvk.kind))

/** The schema itself or, for a reference, the definition with the keywords beside the reference taking precedence. */
export const resolve = (schema: Schema): Schema => {
  if (schema.ref === undefined) return schema
  const definition = definitions[schema.ref]
  if (definition === undefined) return schema
  const { ref: _, ...own } = schema
  return Object.keys(own).length === 0 ? definition : { ...definition, ...own }
}

/** The resolved schema of a property or, for a map, of its values. */
export const field = (schema: Schema, name: string): Schema | undefined => {
  const resolved = resolve(schema)
  const found = resolved.properties !== undefined && Object.hasOwn(resolved.properties, name)
    ? resolved.properties[name]
    : resolved.values
  return found === undefined ? undefined : resolve(found)
}

/** The resolved schema of a list's elements. */
export const element = (schema: Schema): Schema | undefined => {
  const { items } = resolve(schema)
  return items === undefined ? undefined : resolve(items)
}

/** True if any JSON is allowed below: the server neither prunes nor merges by schema there. */
export const isOpaque = (schema: Schema): boolean => {
  const { format, items, properties, type, values } = resolve(schema)
  return format === "int-or-string" ||
    properties === undefined && values === undefined && items === undefined && (type === undefined || type === "object")
}
