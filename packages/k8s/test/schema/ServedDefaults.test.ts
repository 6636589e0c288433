import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "../../src/schema/Schema.ts"
import * as ServedDefaults from "../../src/schema/ServedDefaults.ts"

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})
const text = { type: "string" } as const
const embedded = (properties: Record<string, Schema> = {}, more: Schema = {}) =>
  object(properties, { "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, ...more })

describe("ServedDefaults", () => {
  it("leaves a schema alone whose defaults have nothing to lose", () => {
    const schema = object({
      a: { ...text, default: "x" },
      metadata: object({ name: text }),
      e: embedded({}, { default: { kind: "K", metadata: { name: "a", labels: { l: "v" } }, unknown: 1 } })
    })
    assert.strictEqual(ServedDefaults.of(schema), schema)
  })

  it("takes unknown fields of metadata from defaults of and around embedded objects, and below their metadata", () => {
    const whole = { kind: "K", metadata: { name: "a", unknown: 1 } }
    const read = { kind: "K", metadata: { name: "a" } }
    const schema = (value: unknown, metadata: Schema) =>
      object({
        whole: embedded({}, { default: value }),
        around: object({ e: embedded() }, { default: { e: value } }),
        items: { type: "array", items: embedded(), default: [value] },
        fields: embedded({ metadata }),
        each: { type: "object", additionalProperties: embedded({}, { default: value }) }
      })
    const fields = { name: { ...text, default: "a" } }
    const given = schema(whole, object({ ...fields, unknown: { ...text, default: "b" } }))
    const served = JSON.parse(JSON.stringify(ServedDefaults.of(given)))
    assert.deepStrictEqual(served, JSON.parse(JSON.stringify(schema(read, object({ ...fields, unknown: text })))))
    assert.strictEqual(ServedDefaults.of(given), ServedDefaults.of(given))
  })
})
