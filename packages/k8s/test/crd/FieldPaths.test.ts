import { Conditions, CustomResource } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { crdToSchema } from "../../src/CrdToSchema.ts"
import * as Crd from "../../src/Crd.ts"

const site = (
  paths: Partial<Pick<CustomResource.CustomResource, "scale" | "selectableFields">> & {
    readonly columns?: ReadonlyArray<string>
  }
) =>
  CustomResource.make({
    group: "example.com",
    version: "v1",
    kind: "Site",
    spec: Schema.Struct({
      size: Schema.Int,
      "storage-size": Schema.String,
      "a.b": Schema.String,
      labels: Schema.Record(Schema.String, Schema.String),
      ports: Schema.Array(Schema.Struct({ port: Schema.Int })),
      anything: Schema.Unknown
    }),
    status: Schema.Struct({ replicas: Schema.Int, conditions: Schema.Array(Conditions.Condition) }),
    printerColumns: (paths.columns ?? []).map((jsonPath) => ({ name: "Column", type: "string", jsonPath })),
    ...(paths.scale === undefined ? {} : { scale: paths.scale }),
    ...(paths.selectableFields === undefined ? {} : { selectableFields: paths.selectableFields })
  })

it("a path to nowhere throws, and names the path and the nearest field", () => {
  const throws = (paths: Parameters<typeof site>[0], line: string) =>
    assert.throws(
      () => Crd.make(site(paths)),
      `Crd.make: Site.v1.example.com refers to fields that do not exist:\n  ${line}`
    )
  throws(
    { columns: [".spec.size", ".spec.sise"] },
    "printerColumns[1].jsonPath: .spec.sise: the Schema has no such field: did you mean .spec.size?"
  )
  throws({ columns: [".spec['storage-sise']"] }, "printerColumns[0].jsonPath: .spec['storage-sise']: the Schema")
  throws(
    { columns: [".stats.replicas"] },
    "printerColumns[0].jsonPath: .stats.replicas: the Schema has no such field: did you mean .status?"
  )
  throws(
    { columns: [".spec.ports[*].prot"] },
    "printerColumns[0].jsonPath: .spec.ports[*].prot: the Schema has no such field: did you mean .spec.ports[*].port?"
  )
  throws(
    { columns: [".spec.size.of"] },
    "printerColumns[0].jsonPath: .spec.size.of: the Schema has no such field: .spec.size has no fields"
  )
  throws(
    { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
    "scale.specReplicasPath: .spec.replicas: the Schema has no such field: did you mean .spec."
  )
  throws({ selectableFields: [".spec.colour"] }, "selectableFields[0]: .spec.colour: the Schema")
})

it("what is made of a definition has no columns of fields that it does not have, and says so", () => {
  const source = crdToSchema({
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Site", plural: "sites" },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer" } } },
              data: { type: "string" }
            }
          }
        },
        additionalPrinterColumns: [
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
          { name: "Data", type: "string", jsonPath: ".data" },
          { name: "Ready", type: "string", jsonPath: ".status.ready" },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
        ]
      }]
    }
  })
  assert.include(source, "Without the columns .data, .status.ready: there are no such fields here.")
  assert.match(source, /printerColumns: \[[^\n]*"\.spec\.size"[^\n]*\},[^\n]*"\.metadata\.creationTimestamp"\}\]/)
})

it("open maps, unknown fields, metadata, filters and whatever is not understood are left alone", () => {
  Crd.make(site({
    columns: [
      ".metadata.creationTimestamp",
      ".metadata.annotations.example\\.com/owner",
      ".apiVersion",
      ".spec.a\\.b",
      ".spec['storage-size']",
      ".spec.labels.team",
      ".spec.anything.at.all",
      ".spec.ports[0].port",
      ".spec.ports[-1:].port",
      ".status.conditions[?(@.type==\"Ready\")].status",
      ".status.conditions[?(@.type=='Ready')].message",
      "..replicas",
      ".spec.*"
    ],
    scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.replicas" }
  }))
})
