import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as EmbeddedResources from "../../src/schema/EmbeddedResources.ts"
import * as FieldError from "../../src/schema/FieldError.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import { frozen } from "../testing/support/RandomJson.ts"

const schema: Schema = {
  type: "object",
  properties: {
    template: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }
  }
}

describe("validate", () => {
  const errors = (template: unknown) => EmbeddedResources.validate(schema, { template }).map(FieldError.format)

  it("an embedded object says what it is", () => {
    assert.deepStrictEqual(errors({ apiVersion: "v1", kind: "Pod" }), [])
    assert.deepStrictEqual(errors({}), ["template.apiVersion: Required value", "template.kind: Required value"])
    assert.deepStrictEqual(errors({ apiVersion: "a/b/c", kind: "" }), [
      "template.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
      "template.kind: Invalid value: \"\": must not be empty"
    ])
    assert.match(
      errors({ apiVersion: "v1", kind: "1" })[0]!,
      /may have mixed case, but should otherwise match: a DNS-1035/
    )
  })

  it("its metadata follows the rules; a name may be missing", () => {
    const labels = { "a b": "c" }
    assert.lengthOf(errors({ apiVersion: "v1", kind: "Pod", metadata: { labels } }), 1)
    assert.deepStrictEqual(errors({ apiVersion: "v1", kind: "Pod", metadata: { namespace: "n" } }), [])
  })

  it("the object itself is not judged", () => {
    assert.deepStrictEqual(EmbeddedResources.validate(schema, { metadata: { labels: 1 } }), [])
  })
})

describe("coerceMetadata", () => {
  it("drops unknown fields from the object's metadata and that of embedded objects", () => {
    const object = frozen({
      apiVersion: "g/v1",
      kind: "K",
      metadata: { name: "a", foo: 1 },
      template: { apiVersion: "v1", kind: "Pod", metadata: { bar: 1 }, spec: { x: 1 } }
    })
    assert.deepStrictEqual(
      EmbeddedResources.coerceMetadata(schema, object),
      Result.succeed({
        object: {
          apiVersion: "g/v1",
          kind: "K",
          metadata: { name: "a" },
          template: { apiVersion: "v1", kind: "Pod", metadata: {}, spec: { x: 1 } }
        },
        unknown: ["metadata.foo", "template.metadata.bar"]
      })
    )
  })

  it("refuses wrong types; the object's own metadata is not named in the message", () => {
    const own = EmbeddedResources.coerceMetadata(schema, { metadata: { name: 1 } })
    const embedded = EmbeddedResources.coerceMetadata(schema, { metadata: {}, template: { kind: 1 } })
    assert.strictEqual(
      Result.isFailure(own) && EmbeddedResources.decodeMessage(own.failure),
      "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    )
    assert.strictEqual(
      Result.isFailure(embedded) && EmbeddedResources.decodeMessage(embedded.failure),
      "template.kind: Invalid value: 1: must be a string"
    )
  })
})
