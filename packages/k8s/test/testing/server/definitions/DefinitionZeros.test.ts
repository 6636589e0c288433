import { assert, it } from "@effect/vitest"
import * as DefinitionZeros from "../../../../src/testing/server/definitions/DefinitionZeros.ts"

const definition = (schema: unknown, version: object = {}) => ({
  spec: { group: "g.example.com", versions: [{ name: "v1", schema: { openAPIV3Schema: schema }, ...version }] }
})

const schemaOf = (schema: unknown): unknown => {
  const { spec } = DefinitionZeros.omit(definition(schema)) as any
  return spec.versions[0].schema.openAPIV3Schema
}

it("leaves out the zeros of fields that are no pointers, at every depth of a schema", () => {
  const zeros = { type: "object", description: "", nullable: false, exclusiveMinimum: false, uniqueItems: false }
  const kept = { type: "object" }
  assert.deepStrictEqual(
    schemaOf({
      ...zeros,
      properties: {
        a: { ...zeros, items: zeros },
        b: { ...zeros, additionalProperties: zeros, anyOf: [zeros], not: zeros }
      }
    }),
    {
      ...kept,
      properties: { a: { ...kept, items: kept }, b: { ...kept, additionalProperties: kept, anyOf: [kept], not: kept } }
    }
  )
})

it("keeps zeros of pointers, and data", () => {
  const schema = {
    minLength: 0,
    minimum: 0,
    "x-kubernetes-preserve-unknown-fields": false,
    additionalProperties: false,
    default: { description: "", nullable: false },
    enum: ["", false, 0],
    properties: { description: { type: "string", default: "" }, nullable: { type: "boolean", default: false } }
  }
  assert.deepStrictEqual(schemaOf(schema), schema)
})

it("keeps what versions must say", () => {
  const { spec } = DefinitionZeros.omit({
    spec: {
      preserveUnknownFields: false,
      names: { plural: "a", kind: "A", singular: "", listKind: "" },
      versions: [{
        name: "v1",
        served: false,
        storage: false,
        deprecated: false,
        additionalPrinterColumns: [{
          name: "A",
          type: "integer",
          jsonPath: ".a",
          priority: 0,
          description: "",
          format: ""
        }]
      }]
    }
  }) as any
  assert.deepStrictEqual(spec, {
    names: { plural: "a", kind: "A" },
    versions: [{
      name: "v1",
      served: false,
      storage: false,
      additionalPrinterColumns: [{ name: "A", type: "integer", jsonPath: ".a" }]
    }]
  })
})
