import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import * as SchemaKeywords from "../../src/schema/SchemaKeywords.ts"

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})
const errors = (schema: unknown) => SchemaKeywords.check(object({ spec: schema as Schema }), "S").map(FieldError.format)
const at = "S.properties[spec]"
const items = object({ k: { type: "string" } }, { required: ["k"] })

describe("keywords", () => {
  const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
    [{ type: "foo" }, [
      `${at}.type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string"`
    ]],
    [{ type: "string", uniqueItems: true }, [
      `${at}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`
    ]],
    [object({ a: { type: "string" } }, { additionalProperties: { type: "string" } }), [
      `${at}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`
    ]],
    [{ $ref: "#/x" }, [`${at}.$ref: Forbidden: $ref is not supported`]],
    [{ type: "object", patternProperties: { a: {} } }, [
      `${at}.patternProperties: Forbidden: patternProperties is not supported`
    ]],
    [{ type: "array", items: [{ type: "string" }] }, [
      `${at}.items: Forbidden: items must be a schema object and not an array`
    ]],
    [{ type: "object", "x-kubernetes-preserve-unknown-fields": false }, [
      `${at}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`
    ]],
    [{ type: "object", "x-kubernetes-map-type": "foo" }, [
      `${at}.x-kubernetes-map-type: Unsupported value: "foo": supported values: "atomic", "granular"`
    ]],
    [{ type: "object", "x-kubernetes-list-type": "set" }, [
      `${at}.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified`
    ]],
    [{ type: "array", items: { type: "string" }, "x-kubernetes-list-type": "foo" }, [
      `${at}.x-kubernetes-list-type: Unsupported value: "foo": supported values: "atomic", "set", "map"`
    ]],
    [{ type: "array", items, "x-kubernetes-list-type": "map" }, [
      `${at}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`
    ]],
    [{ type: "array", items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }, []],
    [{ type: "array", items, "x-kubernetes-list-map-keys": ["k"] }, [
      `${at}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty`
    ]],
    [{
      type: "array",
      items: { ...items, required: [] },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"]
    }, [
      `${at}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, ` +
      "so it must have a default or be a required property"
    ]],
    [{
      type: "array",
      items: { ...items, required: [], nullable: true },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k", "k"]
    }, [
      `${at}.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries`,
      `${at}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map`,
      ...["k", "k"].map((key) =>
        `${at}.items.properties[${key}].default: Required value: this property is in x-kubernetes-list-map-keys, ` +
        "so it must have a default or be a required property"
      )
    ]],
    [{ type: "array", items: { type: "string", nullable: true }, "x-kubernetes-list-type": "set" }, [
      `${at}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set`
    ]],
    [{ type: "array", items, "x-kubernetes-list-type": "set" }, [
      `${at}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with ` +
      "x-kubernetes-list-type=set"
    ]]
  ]
  for (const [schema, messages] of cases) {
    it(messages[0] ?? JSON.stringify(schema), () => assert.deepStrictEqual(errors(schema), messages))
  }
})

it("metadata of the object takes no defaults", () => {
  const schema = object({ metadata: object({ name: { type: "string", default: "a" } }) })
  assert.deepStrictEqual(SchemaKeywords.check(schema, "S").map(FieldError.format), [
    "S.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"
  ])
})

it("metadata embeds nothing", () => {
  const embedded = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true
  }
  assert.deepStrictEqual(errors({ ...embedded, properties: { metadata: object({ a: object({ b: embedded }) }) } }), [
    `${at}.properties[metadata].properties[a].properties[b].x-kubernetes-embedded-resource: Forbidden: ` +
    "must not be used inside of resource meta"
  ])
})

it("a property may have any name", () => {
  assert.deepStrictEqual(errors(object({ items: { type: "string" }, "a].properties[b": { type: "string" } })), [])
})

it("a definition of very many properties comes to an end: in a time that grows with their number", () => {
  // Each looked through for each of the others, they would take longer than any test may.
  const properties = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`p${at}`, { type: "string" }]))
  assert.deepStrictEqual(errors(object(properties)), [])
})
