import { assert, describe, it } from "@effect/vitest"
import * as Cel from "../../src/cel/Cel.ts"
import * as MatchConditions from "../../src/cel/MatchConditions.ts"
import * as FieldError from "../../src/schema/FieldError.ts"

const conditions = (...expressions: ReadonlyArray<string>) =>
  expressions.map((expression, index) => ({ name: `c${index}`, expression }))

const object = Cel.fromJson({ a: 1 })
const missing = "object.b == 1"

describe("conditions", () => {
  it("must all be true", () => {
    assert.deepStrictEqual(MatchConditions.matcher([], "Fail")({ object }), { _tag: "Matches" })
    assert.deepStrictEqual(MatchConditions.matcher(conditions("object.a == 1", "true"), "Fail")({ object }), {
      _tag: "Matches"
    })
    assert.deepStrictEqual(MatchConditions.matcher(conditions("true", "object.a == 2"), "Fail")({ object }), {
      _tag: "Differs",
      failed: "c1"
    })
  })

  it("one that is false settles it, whatever failed before", () => {
    assert.deepStrictEqual(MatchConditions.matcher(conditions(missing, "false"), "Fail")({ object }), {
      _tag: "Differs",
      failed: "c1"
    })
  })

  it("one that fails makes the failure policy decide", () => {
    assert.deepStrictEqual(MatchConditions.matcher(conditions("true", missing), "Fail")({ object }), {
      _tag: "Failed",
      message: "expression 'object.b == 1' resulted in error: no such key: b"
    })
    assert.deepStrictEqual(MatchConditions.matcher(conditions("true", missing), "Ignore")({ object }), {
      _tag: "Differs",
      failed: undefined
    })
  })

  it("have a budget together", () => {
    const list = Cel.fromJson({ l: Array.from({ length: 300 }, () => 0) })
    const one = "object.l.all(x, object.l.all(y, x == y))"
    const judge = (count: number) =>
      MatchConditions.matcher(conditions(...Array.from({ length: count }, () => one)), "Fail")({ object: list })
    assert.deepStrictEqual(judge(1), { _tag: "Matches" })
    const many = judge(12)
    assert(many._tag === "Failed")
    assert.match(many.message, /running out of cost budget/)
  })
})

describe("expressions of conditions", () => {
  const told = (expression: string) =>
    MatchConditions.expressionFaults(expression, "matchConditions[0].expression").map(FieldError.format)

  it("must be there, compile and be a bool", () => {
    assert.deepStrictEqual(told("object.a == 1"), [])
    assert.deepStrictEqual(told("  "), ["matchConditions[0].expression: Required value"])
    assert.deepStrictEqual(told("1"), [
      "matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got int"
    ])
    assert.match(
      told("object.")[0]!,
      /^matchConditions\[0\]\.expression: Invalid value: "object\.": compilation failed/
    )
  })
})
