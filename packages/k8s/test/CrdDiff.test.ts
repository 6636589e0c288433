import { CustomResource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Crd from "../src/Crd.ts"
import * as CrdDiff from "../src/CrdDiff.ts"
import type { JSONSchemaProps } from "../src/kinds/apiextensions.v1.ts"

const base = Crd.make(CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Box",
  shortNames: ["b"],
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean })
}))

type Version = Crd.Manifest["spec"]["versions"][number]

const withSpec = (spec: JSONSchemaProps, version: Partial<Version> = {}, more: object = {}): Crd.Manifest => ({
  ...base,
  spec: {
    ...base.spec,
    versions: [{
      ...base.spec.versions[0]!,
      schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      ...version
    }],
    ...more
  }
})

const told = (before: JSONSchemaProps, after: JSONSchemaProps) =>
  CrdDiff.diff(withSpec(before), withSpec(after)).map(({ breaks, path, rule }) => [path, rule, breaks.join()])

const S = { type: "string" } as const
const I = { type: "integer" } as const
const of = (properties: Record<string, JSONSchemaProps>, more: JSONSchemaProps = {}) => ({
  type: "object",
  properties,
  ...more
})

describe("one rule for each kind of change of a schema", () => {
  const both = "stored,clients"
  const cases: ReadonlyArray<readonly [JSONSchemaProps, JSONSchemaProps, string, string]> = [
    [S, I, "type-changed", both],
    [I, { type: "number" }, "type-changed", "clients"],
    [I, { "x-kubernetes-int-or-string": true }, "type-changed", "clients"],
    [{ ...S, nullable: true }, S, "null-refused", both],
    [S, { ...S, nullable: true }, "null-allowed", "clients"],
    [S, { ...S, enum: ["a"] }, "enum-added", both],
    [{ ...S, enum: ["a"] }, S, "enum-removed", ""],
    [{ ...S, enum: ["a"] }, { ...S, enum: ["a", "b"] }, "enum-value-added", ""],
    [{ ...S, enum: ["a", "b"] }, { ...S, enum: ["a"] }, "enum-value-removed", both],
    [{ ...I, minimum: 1 }, { ...I, minimum: 2 }, "limit-tightened", both],
    [{ ...I, minimum: 1 }, I, "limit-loosened", ""],
    [S, { ...S, maxLength: 3 }, "limit-tightened", both],
    [{ ...I, multipleOf: 4 }, { ...I, multipleOf: 2 }, "limit-loosened", ""],
    [{ ...I, multipleOf: 4 }, { ...I, multipleOf: 8 }, "limit-tightened", both],
    [{ ...I, minimum: 0 }, { ...I, minimum: 0, exclusiveMinimum: true }, "limit-tightened", both],
    [S, { ...S, pattern: "a" }, "pattern-changed", both],
    [{ ...S, pattern: "a" }, S, "pattern-removed", ""],
    [S, { ...S, format: "date" }, "format-changed", both],
    [S, { ...S, anyOf: [{ enum: ["a"] }] }, "alternatives-changed", both],
    [{ ...S, not: { enum: ["a"] } }, S, "alternatives-removed", ""],
    [S, { ...S, default: "a" }, "default-added", ""],
    [{ ...S, default: "a" }, { ...S, default: "b" }, "default-changed", "clients"],
    [{ ...S, default: "a" }, S, "default-removed", "clients"],
    [of({}, { "x-kubernetes-preserve-unknown-fields": true }), of({}), "unknown-fields-pruned", "stored"],
    [of({}), of({}, { "x-kubernetes-preserve-unknown-fields": true }), "unknown-fields-kept", ""],
    [{ type: "array", items: S }, { type: "array", items: S, "x-kubernetes-list-type": "set" }, "merge-changed", both],
    [S, { ...S, "x-kubernetes-validations": [{ rule: "self != ''" }] }, "rule-added", both],
    [S, { ...S, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }, "rule-added", "clients"],
    [{ ...S, "x-kubernetes-validations": [{ rule: "self != ''" }] }, S, "rule-removed", ""]
  ]
  for (const [before, after, rule, breaks] of cases) {
    it(`${rule}: ${JSON.stringify(before)} to ${JSON.stringify(after)}`, () => {
      assert.deepStrictEqual(told(of({ a: before }), of({ a: after })), [["v1 spec.a", rule, breaks]])
      assert.deepStrictEqual(
        told(of({ l: { type: "array", items: before } }), of({ l: { type: "array", items: after } })),
        [
          ["v1 spec.l[]", rule, breaks]
        ]
      )
      assert.deepStrictEqual(told(of({ a: before }), of({ a: before })), [])
    })
  }

  it("fields come, go, become required and optional", () => {
    assert.deepStrictEqual(told(of({ a: S }), of({ b: S })), [
      ["v1 spec.a", "field-removed", both],
      ["v1 spec.b", "field-added", ""]
    ])
    assert.deepStrictEqual(told(of({}), of({ b: S }, { required: ["b"] })), [
      ["v1 spec.b", "field-added", ""],
      ["v1 spec.b", "field-required", both]
    ])
    assert.deepStrictEqual(told(of({ a: S }), of({ a: { ...S, default: "x" } }, { required: ["a"] })), [
      ["v1 spec.a", "field-required", ""],
      ["v1 spec.a", "default-added", ""]
    ])
    assert.deepStrictEqual(told(of({ a: S }, { required: ["a"] }), of({ a: S })), [[
      "v1 spec.a",
      "field-optional",
      "clients"
    ]])
    assert.deepStrictEqual(told(of({ a: S }), of({ a: { ...S, description: "words" } })), [])
  })
})

it("names, versions and subresources", () => {
  const spec = of({ size: I })
  const rules = (after: Crd.Manifest, before = withSpec(spec)) =>
    CrdDiff.diff(before, after).map(({ breaks, rule }) => `${rule}:${breaks.join()}`)
  assert.deepStrictEqual(rules(withSpec(spec, {}, { scope: "Cluster" })), ["scope-changed:stored,clients"])
  assert.deepStrictEqual(rules(withSpec(spec, {}, { names: { ...base.spec.names, shortNames: [] } })), [
    "name-removed:clients"
  ])
  assert.deepStrictEqual(rules(withSpec(spec, { served: false })), ["version-unserved:clients"])
  assert.deepStrictEqual(rules(withSpec(spec, { subresources: {} })), ["subresource-removed:clients"])
  assert.deepStrictEqual(rules(withSpec(spec, { deprecated: true })), ["version-deprecated:"])
  assert.deepStrictEqual(rules(withSpec(spec, { name: "v2" })), [
    "version-removed:stored,clients",
    "version-added:",
    "storage-changed:"
  ])
  const selectable = withSpec(spec, { selectableFields: [{ jsonPath: ".spec.size" }] })
  assert.deepStrictEqual(rules(withSpec(spec), selectable), ["selectable-field-removed:clients"])
  assert.deepStrictEqual(rules(selectable), ["selectable-field-added:"])
  assert.deepStrictEqual(rules(selectable, selectable), [])

  const { names } = base.spec
  for (
    const [before, after, expected] of [
      [{}, { group: "example.org" }, ["group-changed:stored,clients"]],
      [{}, { names: { ...names, kind: "Crate" } }, ["kind-changed:stored,clients"]],
      [{}, { names: { ...names, plural: "boxen" } }, ["plural-changed:stored,clients"]],
      [{ names: { ...names, categories: ["all", "ours"] } }, { names: { ...names, categories: ["all"] } }, [
        "name-removed:clients"
      ]],
      [{ names: { ...names, singular: "box" } }, { names: { ...names, singular: "crate" } }, ["name-removed:clients"]],
      [{}, { conversion: { strategy: "Webhook" } }, ["conversion-changed:"]]
    ] as const
  ) assert.deepStrictEqual(rules(withSpec(spec, {}, after), withSpec(spec, {}, before)), [...expected])

  const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
  const other = { ...scale, specReplicasPath: ".spec.count" }
  const column = { name: "Size", type: "integer", jsonPath: ".spec.size" }
  for (
    const [before, after, expected] of [
      [{ served: false }, {}, ["version-served:"]],
      [{ deprecated: true }, {}, []],
      [{ deprecated: true }, { deprecated: true }, []],
      [{ subresources: {} }, {}, ["subresource-added:clients"]],
      [{ subresources: {} }, { subresources: { scale } }, ["subresource-added:"]],
      [{ subresources: { scale } }, { subresources: { scale } }, []],
      [{ subresources: { scale } }, { subresources: { scale: other } }, ["scale-changed:clients"]],
      [{ additionalPrinterColumns: [] }, { additionalPrinterColumns: [column] }, ["columns-changed:"]],
      [{ additionalPrinterColumns: [column] }, { additionalPrinterColumns: [column] }, []]
    ] as const
  ) {
    const version = (more: object) => withSpec(spec, more as Partial<Version>)
    assert.deepStrictEqual(rules(version(after), version(before)), [...expected], JSON.stringify([before, after]))
  }

  const [v1] = withSpec(spec).spec.versions
  const versions = (...all: ReadonlyArray<Partial<Version>>) =>
    withSpec(spec, {}, { versions: all.map((version) => ({ ...v1!, ...version })) })
  const served = { name: "v0", storage: false }
  const unserved = { ...served, served: false }
  assert.deepStrictEqual(rules(versions({}), versions({}, served)), ["version-removed:clients"])
  assert.deepStrictEqual(rules(versions({}), versions({}, unserved)), ["version-removed:"])
  assert.deepStrictEqual(rules(versions({}, served), versions({}, served)), [])
})

it("is read line by line, and asked for what breaks", () => {
  const changes = CrdDiff.diff(
    withSpec(of({ a: { ...I, minimum: 1 } })),
    withSpec(of({ a: { ...I, minimum: 2, default: 3 } }))
  )
  assert.deepStrictEqual(CrdDiff.format(changes), [
    "v1 spec.a: limit-tightened (breaks stored, clients): minimum: 1 to 2",
    "v1 spec.a: default-added: 3"
  ])
  assert.deepStrictEqual(CrdDiff.breaking(changes).map(({ rule }) => rule), ["limit-tightened"])
})
