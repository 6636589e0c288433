import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import * as SchemaValidation from "../../src/schema/SchemaValidation.ts"
import { frozen } from "../testing/support/RandomJson.ts"

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more
})

/** The errors of a value at `spec`. */
const errors = (schema: Schema, value: unknown, previous?: unknown) =>
  SchemaValidation.validateValue(
    object({ spec: schema }),
    frozen({ spec: value }),
    previous === undefined ? undefined : frozen({ spec: previous })
  ).map(FieldError.format)

describe("types", () => {
  it("an error names the type that was found, with a reason of its own", () => {
    const [error] = SchemaValidation.validateValue(object({ i: { type: "integer" } }), { i: "x" })
    assert.deepStrictEqual(FieldError.toCause(error!), {
      reason: "FieldValueTypeInvalid",
      message: "Invalid value: \"string\": i in body must be of type integer: \"string\"",
      field: "i"
    })
  })

  it("null, unless nullable", () => {
    assert.deepStrictEqual(errors({ type: "object" }, null), [
      "spec: Invalid value: \"null\": spec in body must be of type object: \"null\""
    ])
    assert.deepStrictEqual(errors({ type: "object", nullable: true }, null), [])
  })

  it("integers are numbers; numbers that are whole are integers", () => {
    assert.deepStrictEqual(errors({ type: "number" }, 1), [])
    assert.deepStrictEqual(errors({ type: "integer" }, 1), [])
    assert.deepStrictEqual(errors({ type: "integer" }, 1.5), [
      "spec: Invalid value: \"number\": spec in body must be of type integer: \"number\""
    ])
    assert.lengthOf(errors({ type: "integer" }, 1e20), 1)
    assert.deepStrictEqual(errors({ type: "integer" }, -(2 ** 63)), [])
    assert.deepStrictEqual(errors({ type: "integer", minimum: 0 }, -(2 ** 63)), [
      "spec: Invalid value: -9223372036854775808: spec in body should be greater than or equal to 0"
    ])
  })

  it("int-or-string", () => {
    const schema = { "x-kubernetes-int-or-string": true }
    assert.deepStrictEqual(errors(schema, 1), [])
    assert.deepStrictEqual(errors(schema, "1"), [])
    assert.deepStrictEqual(errors(schema, 1.5), [
      "spec: Invalid value: \"number\": spec in body must be of type integer,string: \"number\""
    ])
  })

  it("a value of another type at a format is told by formats", () => {
    assert.deepStrictEqual(errors({ type: "string", format: "date-time" }, 1), [
      "spec: Invalid value: \"int64\": spec in body must be of type date-time: \"int64\""
    ])
    assert.deepStrictEqual(errors({ type: "string", format: "date-time" }, true), [
      "spec: Invalid value: \"\": spec in body must be of type date-time: \"\""
    ])
  })

  it("of a default formats count that nobody knows", () => {
    const told = (schema: Schema, value: unknown) =>
      SchemaValidation.validateDefault(schema, value, "default").map(FieldError.format)
    const wrong: Schema = { type: "integer", format: "int64" }
    assert.deepStrictEqual(told(wrong, {}), ["default: Invalid value: \"\":  in body must be of type int64: \"\""])
    assert.deepStrictEqual(errors(wrong, {}), [
      "spec: Invalid value: \"object\": spec in body must be of type integer: \"object\""
    ])
    assert.deepStrictEqual(told({ type: "string", format: "int64" }, 5), [
      "default: Invalid value: \"integer\":  in body must be of type string: \"integer\""
    ])
    assert.deepStrictEqual(told({ type: "boolean", format: "custom" }, "x"), [])
    assert.deepStrictEqual(told({ type: "integer", allOf: [{ format: "double" }] }, 1), [
      "default: Invalid value: \"int64\":  in body must be of type double: \"int64\"",
      "default: Invalid value: \"\": \"\" must validate all the schemas (allOf). None validated"
    ])
  })

  it("a default of what is a number or a text may be anything", () => {
    const schema: Schema = { "x-kubernetes-int-or-string": true }
    assert.deepStrictEqual(SchemaValidation.validateDefault(schema, [], "default"), [])
    assert.lengthOf(errors(schema, []), 1)
  })
})

describe("values", () => {
  const cases: ReadonlyArray<readonly [Schema, unknown, ...Array<string>]> = [
    [{ type: "string", enum: ["a", "b"] }, "c", "spec: Unsupported value: \"c\": supported values: \"a\", \"b\""],
    [{ type: "integer", enum: [1, 2] }, 3, "spec: Unsupported value: 3: supported values: \"1\", \"2\""],
    [{ type: "string", nullable: true, enum: ["a"] }, null, "spec: Unsupported value: null: supported values: \"a\""],
    [{ type: "string", pattern: "^a$" }, "b", "spec: Invalid value: \"b\": spec in body should match '^a$'"],
    [{ type: "string", maxLength: 1 }, "ab", "spec: Too long: may not be more than 1 byte"],
    [
      { type: "string", minLength: 3 },
      "😀a",
      "spec: Invalid value: \"😀a\": spec in body should be at least 3 chars long"
    ],
    [{ type: "string", format: "email" }, "x", "spec: Invalid value: \"x\": spec in body must be of type email: \"x\""],
    [{ type: "integer", maximum: 2 }, 3, "spec: Invalid value: 3: spec in body should be less than or equal to 2"],
    [
      { type: "integer", maximum: 2, exclusiveMaximum: true },
      2,
      "spec: Invalid value: 2: spec in body should be less than 2"
    ],
    [
      { type: "number", minimum: 1.5 },
      1.25,
      "spec: Invalid value: 1.25: spec in body should be greater than or equal to 1.5"
    ],
    [
      { type: "integer", minimum: 1.5, exclusiveMinimum: true },
      1,
      "spec: Invalid value: 1: spec in body should be greater than 1"
    ],
    [{ type: "integer", multipleOf: 2 }, 3, "spec: Invalid value: 3: spec in body should be a multiple of 2"],
    [
      { type: "array", items: {}, minItems: 1 },
      [],
      "spec: Invalid value: 0: spec in body should have at least 1 items"
    ],
    [{ type: "array", items: {}, maxItems: 1 }, [1, 2], "spec: Too many: 2: must have at most 1 item"],
    [
      { type: "array", items: {}, uniqueItems: true },
      [1, 1],
      "spec: Invalid value: \"\": spec in body shouldn't contain duplicates"
    ],
    [
      { type: "object", minProperties: 1 },
      {},
      "spec: Invalid value: 0: spec in body should have at least 1 properties"
    ],
    [{ type: "object", maxProperties: 0 }, { a: 1 }, "spec: Too many: 1: must have at most 0 items"],
    // What else is wrong with such an object is said, too, unlike in 1.20.
    [
      { type: "object", maxProperties: 0, required: ["b"], properties: { a: { type: "string" } } },
      { a: 1 },
      "spec: Too many: 1: must have at most 0 items",
      "spec.a: Invalid value: \"integer\": spec.a in body must be of type string: \"integer\"",
      "spec.b: Required value"
    ],
    [
      { type: "object", minProperties: 2, required: ["b"], properties: { a: { type: "string" } } },
      { a: 1 },
      "spec: Invalid value: 1: spec in body should have at least 2 properties",
      "spec.a: Invalid value: \"integer\": spec.a in body must be of type string: \"integer\"",
      "spec.b: Required value"
    ],
    [object({}, { required: ["a"] }), {}, "spec.a: Required value"],
    [
      { type: "object", additionalProperties: false },
      { a: 1 },
      "spec: Invalid value: \"a\": spec.a in body is a forbidden property"
    ],
    [
      { type: "object", additionalProperties: { type: "string" } },
      { "a/b": 1 },
      "spec.a/b: Invalid value: \"integer\": spec.a/b in body must be of type string: \"integer\""
    ],
    [
      { type: "array", items: object({ k: { type: "string" } }) },
      [{ k: 1 }],
      "spec[0].k: Invalid value: \"integer\": spec[0].k in body must be of type string: \"integer\""
    ]
  ]
  for (const [schema, value, ...messages] of cases) {
    it(messages.join(), () => assert.deepStrictEqual(errors(schema, value), messages))
  }

  it("decimals that are a multiple but for rounding", () => {
    assert.deepStrictEqual(errors({ type: "number", multipleOf: 0.1 }, 0.3), [])
    assert.lengthOf(errors({ type: "number", multipleOf: 0.1 }, 0.35), 1)
    // Of 0 nothing is a multiple; a real server panics where an integer is divided by it.
    const about = (multipleOf: number, value: number) => errors({ type: "number", multipleOf }, value)
    assert.deepStrictEqual(about(0, 1.5), ["spec: Invalid value: 1.5: spec in body should be a multiple of 0"])
    for (const [factor, value] of [[0, 2], [-1, 2], [-1, 1.5]] as const) {
      const text = `factor MultipleOf declared for spec must be positive: ${factor}`
      assert.deepStrictEqual(about(factor, value), [`spec: Invalid value: ${factor}: ${text}`])
    }
  })

  it("a number that is an allowed integer but for its fraction passes, as on a server", () => {
    assert.deepStrictEqual(errors({ type: "number", enum: [1.5, 2] }, 2.5), [])
    assert.lengthOf(errors({ type: "number", enum: [1.5, 2] }, 1.25), 1)
  })

  it("every fault is found", () => {
    const schema = object({ a: { type: "string" }, b: { type: "integer" } }, { required: ["c"] })
    assert.lengthOf(errors(schema, { a: 1, b: "x" }), 3)
  })

  it("errors of a part are at the part's place in the object", () => {
    const found = SchemaValidation.validateValue(object({ a: { type: "string" } }), { a: 1 }, undefined, "status")
    assert.deepStrictEqual(found.map(FieldError.format), [
      "status.a: Invalid value: \"integer\": a in body must be of type string: \"integer\""
    ])
  })
})

describe("combinations", () => {
  const ab = object({ a: { type: "string" }, b: { type: "string" } })
  it("anyOf tells the branch that got furthest", () => {
    const schema = {
      ...ab,
      anyOf: [{ required: ["a"] }, { properties: { b: { maxLength: 1 } }, required: ["a", "c"] }]
    }
    assert.deepStrictEqual(errors(schema, { b: "x" }), [
      "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)",
      "spec.a: Required value",
      "spec.c: Required value"
    ])
    assert.deepStrictEqual(errors(schema, { a: "x" }), [])
  })

  it("oneOf", () => {
    const schema = { ...ab, oneOf: [{ required: ["a"] }, { required: ["b"] }] }
    assert.deepStrictEqual(errors(schema, { a: "", b: "" }), [
      "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found 2 valid alternatives"
    ])
    assert.deepStrictEqual(errors(schema, {}), [
      "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid",
      "spec.a: Required value"
    ])
    assert.deepStrictEqual(errors(schema, { a: "" }), [])
  })

  it("allOf and not", () => {
    assert.deepStrictEqual(errors({ ...ab, allOf: [{ required: ["a"] }, { required: ["b"] }] }, { a: "" }), [
      "spec.b: Required value",
      "<nil>: Invalid value: \"\": \"spec\" must validate all the schemas (allOf)"
    ])
    assert.deepStrictEqual(errors({ ...ab, not: { required: ["a"] } }, { a: "" }), [
      "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)"
    ])
  })
})

describe("ratcheting", () => {
  const schema = object({
    a: { type: "string", maxLength: 1 },
    b: { type: "string" },
    list: { type: "array", items: object({ k: { type: "string" }, v: { type: "string", maxLength: 1 } }) }
  })
  const mapped = object({
    list: {
      ...schema.properties!["list"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"]
    }
  })

  it("forgives what was there and did not change", () => {
    assert.deepStrictEqual(errors(schema, { a: "long", b: "new" }, { a: "long", b: "old" }), [])
    assert.lengthOf(errors(schema, { a: "longer", b: "new" }, { a: "long", b: "old" }), 1)
    assert.lengthOf(errors(schema, { a: "long" }, {}), 1)
  })

  it("what is in a branch is judged anew, as long as the value of all branches has changed", () => {
    const branched = { ...object({ a: { type: "string" }, b: {} }), allOf: [{ properties: { a: { maxLength: 1 } } }] }
    const not = { ...object({ a: { type: "string" }, b: {} }), not: { properties: { a: { maxLength: 1 } } } }
    assert.deepStrictEqual(errors(branched, { a: "long" }, { a: "long" }), [])
    assert.lengthOf(errors(branched, { a: "long", b: 1 }, { a: "long" }), 2)
    assert.deepStrictEqual(errors(not, { a: "long", b: 1 }, { a: "long" }), [])
  })

  it("an item of a list counts as changed with the list, unless the list has keys", () => {
    const before = { list: [{ k: "x", v: "long" }] }
    const after = { list: [{ k: "y" }, { k: "x", v: "long" }] }
    assert.lengthOf(errors(schema, after, before), 1)
    assert.deepStrictEqual(errors(mapped, after, before), [])
    assert.deepStrictEqual(errors(schema, before, before), [])
  })
})
