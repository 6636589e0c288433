/** The kinds of the tests. */
import { CustomResource, type KubeObject, Resource } from "@effect-operator/core"
import { Schema } from "effect"

/** A kind with a Schema, so that an object may be invalid. */
export const Widget = CustomResource.make({
  group: "test.io",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean })
})
export type Widget = typeof Widget.Type

export interface Part extends KubeObject.KubeObject {
  readonly metadata: KubeObject.NamespacedObjectMeta
  readonly spec?: { readonly role?: string }
}

export const Part = Resource.make<Part>()({
  group: "",
  version: "v1",
  kind: "Part",
  plural: "parts",
  scope: "Namespaced"
})

export const Secret = Resource.make<Part>()({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced"
})
