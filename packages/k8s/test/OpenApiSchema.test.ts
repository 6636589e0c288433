import { assert, describe, it } from "@effect/vitest"
import { CelRule, KubeSchema } from "@effect-operator/core"
import { Effect, Schema } from "effect"
import { fromSchema } from "../src/OpenApiSchema.ts"
import { checkStructural } from "../src/schema/StructuralSchema.ts"

const structural = (schema: Schema.Codec<any, any, never, never>) => {
  const { faults, schema: result } = fromSchema(schema, "spec")
  assert.deepStrictEqual(faults, [])
  const root = { type: "object", properties: { spec: result } }
  assert.deepStrictEqual(checkStructural(root as never), [], JSON.stringify(result))
  return result
}

const faultsOf = (schema: Schema.Codec<any, any, never, never>) =>
  fromSchema(schema, "spec").faults.map(({ message, path }) => `${path}: ${message}`)

describe("what has a structural form", () => {
  const cases: ReadonlyArray<readonly [string, Schema.Codec<any, any, never, never>, object]> = [
    ["bounds", Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })), {
      type: "integer",
      minimum: 0,
      maximum: 9
    }],
    ["exclusive bounds", Schema.Finite.check(Schema.isGreaterThan(0)), {
      type: "number",
      minimum: 0,
      exclusiveMinimum: true
    }],
    ["bounds that say nothing", Schema.Int, { type: "integer" }],
    ["stacked checks", Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).check(Schema.isLessThanOrEqualTo(5)), {
      type: "integer",
      minimum: 1,
      maximum: 5
    }],
    ["patterns and lengths", Schema.String.check(Schema.isPattern(/^a+$/u), Schema.isMaxLength(3)), {
      type: "string",
      pattern: "^a+$",
      maxLength: 3
    }],
    ["literals", Schema.Literals(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["null", Schema.NullOr(Schema.String), { type: "string", nullable: true }],
    ["integer or string", Schema.Union([Schema.Int, Schema.String]), { "x-kubernetes-int-or-string": true }],
    ["records", Schema.Record(Schema.String, Schema.Boolean), {
      type: "object",
      additionalProperties: { type: "boolean" }
    }],
    ["anything", Schema.Unknown, { nullable: true, "x-kubernetes-preserve-unknown-fields": true }],
    ["dates, as their JSON", Schema.Struct({ at: Schema.Date }), {
      type: "object",
      required: ["at"],
      properties: { at: { type: "string" } }
    }],
    [
      "nesting, optional fields and defaults",
      Schema.Struct({
        ports: Schema.Array(Schema.Struct({ port: Schema.Int })),
        paused: Schema.optionalKey(Schema.Boolean),
        policy: Schema.Literals(["Always", "Never"]).pipe(
          Schema.annotateEncoded({ default: "Always" }),
          Schema.withDecodingDefaultKey(Effect.succeed("Always" as const))
        )
      }),
      {
        type: "object",
        required: ["ports"],
        properties: {
          ports: {
            type: "array",
            items: { type: "object", required: ["port"], properties: { port: { type: "integer" } } }
          },
          paused: { type: "boolean" },
          policy: { type: "string", enum: ["Always", "Never"], default: "Always" }
        }
      }
    ],
    [
      "defaults as decoding gives them, those inside of defaults included",
      Schema.Struct({
        a: Schema.Struct({ b: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(2))) }).pipe(
          Schema.withDecodingDefaultKey(Effect.succeed({}))
        ),
        c: Schema.NumberFromString.pipe(Schema.withDecodingDefaultKey(Effect.succeed("3")))
      }),
      {
        type: "object",
        properties: {
          a: { type: "object", properties: { b: { type: "integer", default: 2 } }, default: { b: 2 } },
          c: { type: "string", default: "3" }
        }
      }
    ],
    ["literals of two kinds", Schema.Literals([1, "a"]), { "x-kubernetes-int-or-string": true, enum: [1, "a"] }],
    ["null among literals", Schema.NullOr(Schema.Literals(["a"])), {
      type: "string",
      nullable: true,
      allOf: [{ enum: ["a"] }]
    }],
    [
      "structs with a tag",
      Schema.Union([
        Schema.Struct({ type: Schema.Literal("Git"), url: Schema.String }),
        Schema.Struct({ type: Schema.Literal("Image"), image: Schema.NonEmptyString })
      ]),
      {
        type: "object",
        required: ["type"],
        properties: {
          type: { type: "string", enum: ["Git", "Image"] },
          url: { type: "string" },
          image: { type: "string", minLength: 1 }
        },
        oneOf: [
          { required: ["url"], properties: { type: { enum: ["Git"] } } },
          { required: ["image"], properties: { type: { enum: ["Image"] } } }
        ]
      }
    ],
    [
      "structs without a tag",
      Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.Int })]),
      {
        type: "object",
        properties: { a: { type: "integer" }, b: { type: "integer" } },
        anyOf: [{ required: ["a"] }, { required: ["b"] }]
      }
    ],
    [
      "strings of several forms",
      Schema.Union([Schema.Literal("auto"), Schema.String.check(Schema.isPattern(/^[0-9]+$/u))]),
      {
        type: "string",
        anyOf: [{ enum: ["auto"] }, { pattern: "^[0-9]+$" }]
      }
    ],
    ["flags of patterns, and characters by number", Schema.String.check(Schema.isPattern(/^\u0061\/$/i)), {
      type: "string",
      pattern: "(?i)^\\x{0061}/$"
    }],
    ["several patterns", Schema.String.check(Schema.isPattern(/a/u), Schema.isPattern(/b/u)), {
      type: "string",
      pattern: "a",
      allOf: [{ pattern: "b" }]
    }],
    ["32 bits", Schema.Int.check(Schema.isInt32()), {
      type: "integer",
      minimum: -2147483648,
      maximum: 2147483647,
      format: "int32"
    }],
    ["lists that are never empty", Schema.NonEmptyArray(Schema.String), {
      type: "array",
      minItems: 1,
      items: { type: "string" }
    }],
    ["lists without repeats", Schema.Array(Schema.Struct({ a: Schema.Int })).check(Schema.isUnique()), {
      type: "array",
      "x-kubernetes-list-type": "set",
      items: {
        type: "object",
        required: ["a"],
        properties: { a: { type: "integer" } },
        "x-kubernetes-map-type": "atomic"
      }
    }],
    ["lists with keys", KubeSchema.listMap("name")(Schema.Array(Schema.Struct({ name: Schema.String }))), {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", required: ["name"], properties: { name: { type: "string" } } }
    }],
    ["open structs", KubeSchema.preserveUnknown(Schema.Struct({ a: Schema.optionalKey(Schema.Boolean) })), {
      type: "object",
      properties: { a: { type: "boolean" } },
      "x-kubernetes-preserve-unknown-fields": true
    }],
    ["times", KubeSchema.DateTime.annotate({ description: "When." }), {
      description: "When.",
      type: "string",
      pattern: (structural(KubeSchema.DateTime) as { readonly pattern: string }).pattern,
      format: "date-time"
    }],
    ["rules and brands", Schema.Int.pipe(Schema.brand("Size"), CelRule.rules(CelRule.immutable())), {
      type: "integer",
      "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "Value is immutable" }]
    }]
  ]
  for (const [what, schema, expected] of cases) {
    it(what, () => {
      const result = structural(schema)
      // JSON has no order of keys.
      assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), expected)
    })
  }
})

describe("what has none is refused with its path and a remedy, all at once", () => {
  it("unions, tuples, NaN", () => {
    const faults = faultsOf(Schema.Struct({
      either: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Array(Schema.Int)]),
      pair: Schema.Array(Schema.Struct({ two: Schema.Tuple([Schema.Int, Schema.Int]) })),
      ratio: Schema.Number,
      clash: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ a: Schema.String })]),
      ahead: Schema.String.check(Schema.isPattern(/^(?!a)/u)),
      items: KubeSchema.listMap("name")(Schema.Array(Schema.Struct({ name: Schema.optionalKey(Schema.String) }))),
      both: Schema.StructWithRest(Schema.Struct({ a: Schema.Int }), [Schema.Record(Schema.String, Schema.Int)]),
      nothing: Schema.Null
    }))
    const expected = [
      /^spec\.either: a union has no structural form: use one struct/,
      /^spec\.pair\[\]\.two: a tuple has no structural form/,
      /^spec\.ratio: Schema\.Number has no structural form.*Schema\.Finite/,
      /^spec\.clash\.a: the alternatives of the union disagree/,
      /^spec\.ahead: the pattern .* look-around: .*CEL/,
      /^spec\.items\[\]\.name: is a key of the list: make it required/,
      /^spec\.both: named properties and a record together/,
      /^spec\.nothing: null alone/
    ]
    assert.strictEqual(faults.length, expected.length, faults.join("\n"))
    for (const [i, pattern] of expected.entries()) assert.match(faults[i]!, pattern)
  })

  it("recursion", () => {
    interface Tree {
      readonly children: ReadonlyArray<Tree>
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({ children: Schema.Array(Schema.suspend(() => Tree)) })
    const faults = faultsOf(Schema.Struct({ tree: Tree, flat: Schema.suspend(() => Schema.String) }))
    assert.deepStrictEqual(faults, [
      "spec.tree.children[]: a recursive type has no structural form: end the recursion with Schema.Unknown"
    ])
  })

  it("defaults that change", () => {
    let count = 0
    const faults = faultsOf(Schema.Struct({
      n: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => count++)))
    }))
    assert.match(faults[0]!, /^spec\.n: a default that varies/)
  })
})
