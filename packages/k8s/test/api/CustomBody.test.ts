import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as CustomBody from "../../src/api/CustomBody.ts"

describe("CustomBody", () => {
  it("unknown fields of its own metadata are told first, of metadata in it last", () => {
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { template: { type: "object", "x-kubernetes-embedded-resource": true } }
        }
      }
    }
    const kind = { group: "example.com", kind: "Widget", version: "v1" }
    const decode = CustomBody.decoder(kind, new Map([["v1", schema]]))
    const template = { apiVersion: "v1", kind: "Pod", metadata: { foo: 1 } }
    const decoded = decode({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "a", foo: 1 },
      spec: { template: { ...template, spec: {} }, zoo: 1 },
      extra: 1
    })
    assert.deepStrictEqual(Result.getOrThrow(decoded).unknown, [
      "metadata.foo",
      "extra",
      "spec.template.spec",
      "spec.zoo",
      "spec.template.metadata.foo"
    ])
  })
})
