import { CelRule, Conditions, CustomResource } from "@effect-operator/core"
import { Schema } from "effect"

const group = "contracts.example.com"

/** A machine on whatever infrastructure keeps the contract; it knows none of them. */
export const Machine = CustomResource.make({
  group,
  version: "v1",
  kind: "Machine",
  description: "A machine on the infrastructure it refers to.",
  spec: Schema.Struct({
    infrastructureRef: Schema.Struct({
      apiVersion: Schema.NonEmptyString,
      kind: Schema.NonEmptyString,
      name: Schema.NonEmptyString.annotate({ description: "In the namespace of the Machine." })
    }).annotate({ description: "What makes the machine: any kind with spec.providerID and status.ready." })
  }),
  status: Schema.Struct({
    ready: Schema.Boolean,
    providerID: Schema.optionalKey(Schema.String.annotate({ description: "Who it is at its provider." })),
    conditions: Schema.Array(Conditions.Condition)
  }),
  printerColumns: [
    { name: "Ready", type: "boolean", jsonPath: ".status.ready" },
    { name: "Provider", type: "string", jsonPath: ".status.providerID" },
    { name: "Why", type: "string", jsonPath: ".status.conditions[?(@.type=='InfrastructureReady')].reason" }
  ]
})
export type Machine = typeof Machine.Type

/** What the contract asks for, whatever else a kind has. */
const spec = { providerID: Schema.optionalKey(Schema.String.annotate({ description: "Of the contract." })) }
/** Where a machine is made, and of what kind, cannot change afterwards: another one is another object. */
const fixed = Schema.NonEmptyString.pipe(CelRule.rules(CelRule.immutable()))
const status = Schema.Struct({ ready: Schema.Boolean.annotate({ description: "Of the contract." }) })

/** One infrastructure: a cloud, which has a machine at once. */
export const CloudMachine = CustomResource.make({
  group,
  version: "v1",
  kind: "CloudMachine",
  spec: Schema.Struct({ ...spec, flavor: fixed }),
  status
})
export type CloudMachine = typeof CloudMachine.Type

/** Another: a rack, where somebody has to walk to it first. */
export const MetalMachine = CustomResource.make({
  group,
  version: "v1",
  kind: "MetalMachine",
  spec: Schema.Struct({ ...spec, rack: fixed }),
  status
})
export type MetalMachine = typeof MetalMachine.Type
