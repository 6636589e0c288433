import { assert, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import { CelRule } from "../src/index.ts"

const rulesOf = (schema: Schema.Top) => SchemaAST.resolveAt(CelRule.key)(schema.ast)

it("field names are escaped for CEL, and a name that CEL cannot express is refused", () => {
  assert.strictEqual(
    CelRule.atLeastOneOf("storage-size", "while").rule,
    "has(self.storage__dash__size) || has(self.__while__)"
  )
  assert.throws(() => CelRule.exactlyOneOf("9a"), /A CEL rule cannot refer to the field "9a"/)
})

it("rules are added to those of a Schema, which itself is unchanged", () => {
  const plain = Schema.Struct({ a: Schema.optionalKey(Schema.Int), b: Schema.optionalKey(Schema.Int) })
  const one = plain.pipe(CelRule.rules(CelRule.exactlyOneOf("a", "b")))
  const two = one.pipe(CelRule.rules(CelRule.atMost("a", "b"), CelRule.immutable()))
  assert.isUndefined(rulesOf(plain))
  assert.deepStrictEqual(rulesOf(two), [
    { rule: "[has(self.a), has(self.b)].filter(x, x).size() == 1", message: "exactly one of a, b must be set" },
    { rule: "!has(self.a) || !has(self.b) || self.a <= self.b", message: "a must be at most b" },
    { rule: "self == oldSelf", message: "Value is immutable" }
  ])
  assert.deepStrictEqual(Schema.decodeUnknownSync(two)({ a: 1 }), { a: 1 })
})

it("values in conditions are quoted", () => {
  const { rule } = CelRule.requiredWhen("b", { field: "a", is: "say \"x\"" })
  assert.strictEqual(rule, "!has(self.a) || self.a != \"say \\\"x\\\"\" || has(self.b)")
})
