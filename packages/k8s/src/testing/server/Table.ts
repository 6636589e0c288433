/**
 * `Table`: the tables of all kinds: custom ones by their columns, built-in ones by `BuiltinColumns`; Pods with conditions.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as ApiTable from "../../api/Table.ts"
import * as BuiltinColumns from "./BuiltinColumns.ts"
import * as PodColumns from "./PodColumns.ts"
import type { Served } from "./Registry.ts"

/** The objects as a Table. */
export const make = (resource: Served, objects: ReadonlyArray<KubeObject>, options: ApiTable.Options): unknown => {
  const columns = resource.columns ?? BuiltinColumns.columnsOf(resource)
  const table = ApiTable.make(
    columns,
    objects,
    options,
    resource.collection === "pods" ? PodColumns.conditions : undefined
  )
  return objects.length === 0 && columns === BuiltinColumns.unprinted ? { ...table, rows: null } : table
}
