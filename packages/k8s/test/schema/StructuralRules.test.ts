import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import * as StructuralRules from "../../src/schema/StructuralRules.ts"

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})
const errors = (schema: Schema) => StructuralRules.checkStructural(schema, "S").map(FieldError.format)
const spec = (schema: Schema) => errors(object({ spec: schema }))
const at = "S.properties[spec]"

describe("good schemas", () => {
  const good: ReadonlyArray<Schema> = [
    object({ a: { type: "string", default: "x" }, b: { type: "array", items: { type: "integer" } } }),
    { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    { "x-kubernetes-int-or-string": true },
    { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    {
      "x-kubernetes-int-or-string": true,
      allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "a" }]
    },
    object({ a: { type: "string" } }, { anyOf: [{ required: ["a"] }, { properties: { a: { minLength: 1 } } }] })
  ]
  for (const schema of good) {
    it(JSON.stringify(schema), () => assert.deepStrictEqual(spec(schema), []))
  }
  it("the root's metadata may narrow down the name", () => {
    assert.deepStrictEqual(errors(object({ metadata: object({ name: { type: "string", maxLength: 3 } }) })), [])
  })
})

describe("refused, with the words of a server", () => {
  const root: ReadonlyArray<readonly [Schema, ReadonlyArray<string>]> = [
    [{}, ["S.type: Required value: must not be empty at the root"]],
    [{ type: "string" }, ["S.type: Invalid value: \"string\": must be object at the root"]],
    [{ type: "object", nullable: true }, ["S.nullable: Forbidden: nullable cannot be true at the root"]],
    [{ type: "object", additionalProperties: { type: "string" } }, [
      "S.additionalProperties: Forbidden: must not be used at the root"
    ]],
    [object({ metadata: object({ labels: { type: "object" } }) }), [
      "S.properties[metadata]: Forbidden: must not specify anything other than name and generateName, " +
      "but metadata is implicitly specified"
    ]],
    [object({ a: { type: "string" } }, { anyOf: [{ properties: { b: { minLength: 1 } } }] }), [
      "S.properties[b]: Required value: because it is defined in S.anyOf[0].properties[b]"
    ]],
    [object({ kind: { type: "integer" } }), ["S.properties[kind].type: Invalid value: \"integer\": must be string"]]
  ]
  for (const [schema, messages] of root) {
    it(messages[0]!, () => assert.deepStrictEqual(errors(schema), messages))
  }

  const nested: ReadonlyArray<readonly [Schema, ReadonlyArray<string>]> = [
    [{}, [`${at}.type: Required value: must not be empty for specified object fields`]],
    [{ type: "array" }, [`${at}.items: Required value: must be specified`]],
    [{ type: "array", items: {} }, [`${at}.items.type: Required value: must not be empty for specified array items`]],
    [{ type: "string", pattern: "(?=a)" }, [
      `${at}.pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn't: ` +
      "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
    ]],
    [
      object({ a: { type: "string" } }, { not: { required: ["a"], type: "object", nullable: true, description: "d" } }),
      [
        `${at}.not.description: Forbidden: must be empty to be structural`,
        `${at}.not.nullable: Forbidden: must be false to be structural`,
        `${at}.not.type: Forbidden: must be empty to be structural`
      ]
    ],
    [{ type: "object", "x-kubernetes-embedded-resource": true }, [
      `${at}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without ` +
      "x-kubernetes-preserve-unknown-fields"
    ]],
    [{ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }, [
      `${at}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if ` +
      "x-kubernetes-int-or-string is true"
    ]]
  ]
  for (const [schema, messages] of nested) {
    it(messages[0]!, () => assert.deepStrictEqual(spec(schema), messages))
  }
})

describe("defaults", () => {
  it("must fit their schema", () => {
    assert.deepStrictEqual(spec({ type: "string", enum: ["a"], default: "b" }), [
      `${at}.default: Unsupported value: "b": supported values: "a"`
    ])
  })

  it("must be pruned", () => {
    assert.deepStrictEqual(spec(object({ a: { type: "string" } }, { default: { a: "x", b: 1 } })), [
      `${at}.default: Invalid value: {"a":"x","b":1}: must not have unknown fields`
    ])
  })

  it("are only looked at in a structural schema", () => {
    assert.deepStrictEqual(spec({ type: "array", default: "x" }), [`${at}.items: Required value: must be specified`])
  })
})
