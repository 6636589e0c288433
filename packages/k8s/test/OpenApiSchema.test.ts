import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { fromSchema } from "../src/OpenApiSchema.ts"

const structural = (schema: Schema.Codec<any, any, never, never>) => {
  const { faults, schema: result } = fromSchema(schema, "spec")
  assert.deepStrictEqual(faults, [])
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
    ["anything", Schema.Unknown, { "x-kubernetes-preserve-unknown-fields": true }],
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
    ]
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
      either: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.Int })]),
      pair: Schema.Array(Schema.Struct({ two: Schema.Tuple([Schema.Int, Schema.Int]) })),
      ratio: Schema.Number
    }))
    assert.strictEqual(faults.length, 3)
    assert.match(faults[0]!, /^spec\.either: a union has no structural form: use one struct/)
    assert.match(faults[1]!, /^spec\.pair\[\]\.two: a tuple has no structural form/)
    assert.match(faults[2]!, /^spec\.ratio: Schema\.Number has no structural form.*Schema\.Finite/)
  })

  it("recursion", () => {
    interface Tree {
      readonly children: ReadonlyArray<Tree>
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({ children: Schema.Array(Schema.suspend(() => Tree)) })
    assert.isTrue(faultsOf(Tree).some((fault) => fault.includes("recursive")), faultsOf(Tree).join())
  })
})
