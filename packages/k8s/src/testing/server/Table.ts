/**
 * `Table`: objects as the rows kubectl prints.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1 Table.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as BuiltinColumns from "./BuiltinColumns.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import type { Column, Served } from "./Registry.ts"

/** What a row holds of its object. */
export type Include = "None" | "Metadata" | "Object"

export interface Options {
  readonly include: Include
  readonly now: number
  /** False in a watch after its first event: `columnDefinitions` is null then. */
  readonly columns: boolean
  readonly metadata: JsonValue.JsonObject
}

const embedded = (object: KubeObject, include: Include): unknown => {
  switch (include) {
    case "None":
      return null
    case "Object":
      return object
    case "Metadata":
      return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata }
  }
}

const definition = ({ description, format, name, priority, type }: Column): unknown => ({
  name,
  type,
  format,
  description,
  priority
})

/** The objects as a Table. */
export const make = (resource: Served, objects: ReadonlyArray<KubeObject>, options: Options): unknown => {
  const columns = resource.columns ?? BuiltinColumns.columnsOf(resource)
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: options.columns ? columns.map(definition) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.value(object, options.now)),
      object: embedded(object, options.include)
    }))
  }
}
