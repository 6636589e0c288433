/** `Served`: a kind with everything that its requests need, as a CustomResourceDefinition would define it. */
import type * as CustomResource from "@effect-operator/core/CustomResource"
import * as CustomBody from "../api/CustomBody.ts"
import type { Strategy as Deletion } from "../api/Deletion.ts"
import type { Told } from "../api/DiscoveryDocuments.ts"
import * as PrinterColumns from "../api/PrinterColumns.ts"
import * as Selecting from "../api/Selecting.ts"
import * as Crd from "../Crd.ts"
import type { Schema } from "../schema/StructuralSchema.ts"
import type { Any, Source } from "./Kind.ts"

export interface Served extends Told {
  readonly resource: CustomResource.CustomResource
  readonly source: Source<unknown>
  /** The equivalent CustomResourceDefinition. */
  readonly definition: Crd.Manifest
  readonly schema: Schema
  readonly decode: ReturnType<typeof CustomBody.decoder>
  readonly columns: ReadonlyArray<PrinterColumns.Column>
  readonly selectable: Selecting.Selectable
  readonly strategy: Deletion & {
    readonly generation: true
    readonly unconditionalUpdate: false
    readonly statusSubresource: boolean
  }
  /** Marks the kind as custom: items of its lists carry apiVersion and kind. */
  readonly custom: object
}

const readOnly = ["get", "list", "watch"]
const everything = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

/** Throws if a Schema has no structural form: see `Crd.schemaOf`. */
export const make = ({ resource, source }: Any): Served => {
  const { group, kind, listKind, plural, scope, version } = resource
  const definition = Crd.make(resource)
  const schema = Crd.schemaOf(resource) as Schema
  const verbs = source._tag === "Stored" ? everything : readOnly
  const status = resource.subresources.includes("status")
  return {
    group,
    version,
    kind,
    listKind,
    plural,
    scope,
    singular: resource.singular,
    shortNames: resource.shortNames,
    categories: resource.categories,
    verbs,
    subresources: status
      ? [{ name: "status", group, version, kind, verbs: verbs.filter((verb) => /^(get|patch|update)$/.test(verb)) }]
      : [],
    collection: plural,
    storageVersion: version,
    resource,
    source,
    definition,
    schema,
    decode: CustomBody.decoder(resource, new Map([[resource.version, schema]])),
    columns: PrinterColumns.custom(resource.printerColumns),
    selectable: {
      fields: {
        ...Selecting.commonFields(scope === "Namespaced"),
        ...Selecting.fieldsAt(...resource.selectableFields.map((path) => path.replace(/^\./, "")))
      },
      unsupported: Selecting.unsupportedField
    },
    strategy: {
      generation: true,
      unconditionalUpdate: false,
      statusSubresource: status,
      garbageCollection: "Background"
    },
    custom: {}
  }
}
