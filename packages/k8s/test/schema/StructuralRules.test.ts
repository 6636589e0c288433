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
    [{ type: "string", not: { "x-kubernetes-validations": [{ rule: "" }] } }, [
      `${at}.not.x-kubernetes-validations: Forbidden: must be empty to be structural`,
      `${at}.not.x-kubernetes-validations[0].rule: Required value: rule is not specified`
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

  it("must keep to rules as their own past, and as something new", () => {
    const ruled = (rule: string, optionalOldSelf = true) =>
      spec({ type: "string", maxLength: 9, default: "d", "x-kubernetes-validations": [{ rule, optionalOldSelf }] })
    for (const rule of ["oldSelf.hasValue()", "!oldSelf.hasValue()", "oldSelf.orValue('x') == 'd'"]) {
      assert.deepStrictEqual(ruled(rule), [`${at}.default: Invalid value: "d": failed rule: ${rule}`])
    }
    assert.deepStrictEqual(ruled("oldSelf.orValue(self) == self"), [])
    assert.deepStrictEqual(ruled("self == oldSelf", false), [])
  })

  it("in the metadata of an embedded object must result in a valid one", () => {
    const embedded = (properties: Record<string, Schema>) =>
      object(properties, { "x-kubernetes-embedded-resource": true })
    const text = { type: "string" }
    assert.deepStrictEqual(
      spec(embedded({
        kind: { ...text, default: "%" },
        apiVersion: { ...text, default: 42 },
        metadata: object({
          name: { ...text, default: 42 },
          labels: object({ a: { ...text, default: "x y" } }),
          finalizers: { type: "array", items: text, default: ["x/y"] }
        })
      })).map((error) => error.replace(/: (may have|a valid label).*/s, "")),
      [
        `${at}.properties[kind].default: Invalid value: "%": must result in valid metadata: kind: Invalid value: "%"`,
        `${at}.properties[apiVersion].default: Invalid value: 42: must result in valid metadata: apiVersion: ` +
        "Invalid value: 42: must be a string",
        `${at}.properties[metadata].properties[name].default: Invalid value: 42: must result in valid metadata: ` +
        "metadata: Invalid value: {\"name\":42}: json: cannot unmarshal number into Go struct field ObjectMeta.name " +
        "of type string",
        `${at}.properties[metadata].properties[labels].properties[a].default: Invalid value: "x y": ` +
        "must result in valid metadata: metadata.labels: Invalid value: \"x y\""
      ]
    )
  })

  it("with an object in them are told of its metadata alone, where that is of a wrong type, and without what it lacks", () => {
    const outer = (value: unknown) =>
      spec(
        object({ embedded: object({ x: { type: "string" } }, { "x-kubernetes-embedded-resource": true }) }, {
          default: value
        })
      )
    assert.deepStrictEqual(outer({ embedded: { metadata: { labels: { a: 42 } } } }), [
      `${at}.default.embedded.metadata: Invalid value: {"labels":{"a":42}}: json: cannot unmarshal number into Go ` +
      "struct field ObjectMeta.labels of type string"
    ])
    assert.deepStrictEqual(
      outer({ embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "a", b: 1 } }, c: 1 }),
      [
        `${at}.default: Invalid value: {"c":1,"embedded":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}: ` +
        "must not have unknown fields"
      ]
    )
  })

  it("are only looked at in a structural schema", () => {
    assert.deepStrictEqual(spec({ type: "array", default: "x" }), [`${at}.items: Required value: must be specified`])
  })
})
