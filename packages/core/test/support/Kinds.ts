/** The kinds of the tests. */
import { Conditions, CustomResource, type KubeObject, Resource } from "@effect-operator/core"
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

/** A kind that can say of its objects how they are. */
export const Task = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Task",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ conditions: Schema.optionalKey(Schema.Array(Conditions.Condition)) })
})

/** A kind without namespaces. */
export const Region = CustomResource.make({
  group: "test.io",
  version: "v1",
  kind: "Region",
  scope: "Cluster",
  spec: Schema.Struct({ size: Schema.Int })
})

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
