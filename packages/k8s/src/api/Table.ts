/**
 * `Table`: objects as the rows that kubectl prints.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1 Table.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as JsonValue from "../schema/JsonValue.ts"
import type { Column } from "./PrinterColumns.ts"

/** What a row contains of its object. */
export type Include = "None" | "Metadata" | "Object"

export interface Options {
  readonly include: Include
  readonly now: number
  /** False after the first event of a watch: `columnDefinitions` is null then. */
  readonly columns: boolean
  readonly metadata: JsonValue.JsonObject
  /** The version of meta.k8s.io that the client requested. */
  readonly version: string
}

const templateGeneration = "deprecated.daemonset.template.generation"

/** The metadata alone, without the annotation that a DaemonSet has only in its full form. */
export const metadataOf = (object: KubeObject): KubeObject["metadata"] => {
  const { annotations, ...metadata } = object.metadata
  if (annotations?.[templateGeneration] === undefined) return object.metadata
  const { [templateGeneration]: _, ...others } = annotations
  return Object.keys(others).length === 0 ? metadata : { ...metadata, annotations: others }
}

const embedded = (object: KubeObject, { include, version }: Options): unknown => {
  switch (include) {
    case "None":
      return null
    case "Object":
      return object
    case "Metadata":
      return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: metadataOf(object) }
  }
}

const definition = ({ description, format, name, priority, type }: Column): unknown => ({
  name,
  type,
  format,
  description,
  priority
})

/** The objects as a Table. `more` adds fields to a row. */
export const make = (
  columns: ReadonlyArray<Column>,
  objects: ReadonlyArray<KubeObject>,
  options: Options,
  more: (object: KubeObject) => object = () => ({})
) => ({
  kind: "Table",
  apiVersion: `meta.k8s.io/${options.version}`,
  metadata: options.metadata,
  columnDefinitions: options.columns ? columns.filter((column) => column.untold !== true).map(definition) : null,
  rows: objects.map((object) => ({
    cells: columns.map((column) => column.value(object, options.now)),
    ...more(object),
    object: embedded(object, options)
  }))
})
