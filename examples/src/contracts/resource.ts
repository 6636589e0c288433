import { CelRule, Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const group = "contracts.example.com"

/** A machine on any infrastructure that fulfils the contract. It knows none of the providers. */
export const Machine = CustomResource.make({
  group,
  version: "v1",
  kind: "Machine",
  description: "A machine on any infrastructure that keeps the contract.",
  spec: Schema.Struct({
    infrastructureRef: Schema.Struct({
      apiVersion: Schema.NonEmptyString,
      kind: Schema.NonEmptyString,
      name: Schema.NonEmptyString.annotate({ description: "The name of an object in the namespace of the Machine." })
    }).annotate({
      description: "The object that provides the machine: of any kind with spec.providerID and status.ready."
    })
  }),
  status: Schema.Struct({
    ready: Schema.Boolean,
    providerID: Schema.optionalKey(Schema.String.annotate({ description: "The ID of the machine at its provider." })),
    conditions: Schema.Array(Conditions.Condition)
  }),
  printerColumns: [
    { name: "Ready", type: "boolean", jsonPath: ".status.ready" },
    { name: "Provider", type: "string", jsonPath: ".status.providerID" },
    { name: "Why", type: "string", jsonPath: ".status.conditions[?(@.type=='InfrastructureReady')].reason" }
  ]
})
export type Machine = typeof Machine.Type

/** The fields that the contract requires; a kind may have others. */
const spec = {
  providerID: Schema.optionalKey(Schema.String.annotate({ description: "The ID of the machine at its provider." }))
}
/** Immutable: what a machine is made of, and where, cannot change. For a different machine, create another object. */
const fixed = Schema.NonEmptyString.pipe(CelRule.rules(CelRule.immutable()))
const status = Schema.Struct({ ready: Schema.Boolean.annotate({ description: "Whether the machine can be used." }) })

/** One provider: a cloud, which has a machine at once. */
export const CloudMachine = CustomResource.make({
  group,
  version: "v1",
  kind: "CloudMachine",
  spec: Schema.Struct({ ...spec, flavor: fixed }),
  status
})
export type CloudMachine = typeof CloudMachine.Type

/** Another provider: a rack, to which somebody has to walk first. */
export const MetalMachine = CustomResource.make({
  group,
  version: "v1",
  kind: "MetalMachine",
  spec: Schema.Struct({ ...spec, rack: fixed }),
  status
})
export type MetalMachine = typeof MetalMachine.Type
