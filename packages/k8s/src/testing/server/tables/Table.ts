/**
 * `Table`: the tables of all kinds: custom ones by their columns, built-in ones by `BuiltinColumns`, Pods with
 * conditions.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { at } from "../../../api/Plain.ts"
import * as ApiTable from "../../../api/Table.ts"
import type { Exchange } from "../Exchange.ts"
import type { Served } from "../Registry.ts"
import * as BuiltinColumns from "./BuiltinColumns.ts"
import * as PodColumns from "./PodColumns.ts"

/** Kinds whose status cannot be requested as a Table. */
const plainStatus: ReadonlySet<string> = new Set([
  "apiservices.apiregistration.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
  "devicetaintrules.resource.k8s.io",
  "resourceclaims.resource.k8s.io"
])

/**
 * Whether a response can be a Table: stored objects, their status and scale can, but reviews, tokens and bindings
 * cannot.
 */
export const isTabular = ({ resource, route }: Pick<Exchange, "resource" | "route">): boolean => {
  if (resource.custom !== undefined) return true
  if (route.subresource === "") return resource.verbs.includes("list")
  return route.subresource === "scale" || route.subresource === "status" && !plainStatus.has(resource.collection)
}

const precedence = (schema: KubeObject): number => Number(at(schema, "spec", "matchingPrecedence") ?? 0)

/** Flow schemas in the order in which they are matched: by precedence, then by name. */
const ordered = ({ collection }: Served, objects: ReadonlyArray<KubeObject>): ReadonlyArray<KubeObject> =>
  collection === "flowschemas.flowcontrol.apiserver.k8s.io"
    ? objects.toSorted((a, b) => precedence(a) - precedence(b) || (a.metadata.name < b.metadata.name ? -1 : 1))
    : objects

/** The objects as a Table. */
export const make = (resource: Served, all: ReadonlyArray<KubeObject>, options: ApiTable.Options): unknown => {
  const objects = ordered(resource, all)
  const columns = resource.columns ?? BuiltinColumns.columnsOf(resource)
  const table = ApiTable.make(
    columns,
    objects,
    options,
    resource.collection === "pods" ? PodColumns.conditions : undefined
  )
  return objects.length === 0 && columns === BuiltinColumns.unprinted ? { ...table, rows: null } : table
}
