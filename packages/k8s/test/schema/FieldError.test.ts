import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"

describe("format", () => {
  const cases: ReadonlyArray<readonly [FieldError.FieldError, string]> = [
    [FieldError.invalid("spec.x", 5, "too big"), "spec.x: Invalid value: 5: too big"],
    [FieldError.invalid("spec.x", "a\"b", "no"), "spec.x: Invalid value: \"a\\\"b\": no"],
    [FieldError.invalid("spec.x", ["a"], "no"), "spec.x: Invalid value: [\"a\"]: no"],
    [FieldError.invalid("spec.x", { b: 1, a: "<" }, "no"), "spec.x: Invalid value: {\"a\":\"\\u003c\",\"b\":1}: no"],
    [FieldError.invalid("spec.x", null, "no"), "spec.x: Invalid value: null: no"],
    [
      FieldError.invalidPrinted("metadata.resourceVersion", "0x0", "no"),
      "metadata.resourceVersion: Invalid value: 0x0: no"
    ],
    [
      FieldError.typeInvalid("spec.x", "string", "must be integer"),
      "spec.x: Invalid value: \"string\": must be integer"
    ],
    [FieldError.required("spec.x", ""), "spec.x: Required value"],
    [FieldError.required("spec.x", "give one"), "spec.x: Required value: give one"],
    [
      FieldError.notSupported("spec.x", "a", ["b", "c"]),
      "spec.x: Unsupported value: \"a\": supported values: \"b\", \"c\""
    ],
    [FieldError.notSupported("spec.x", "a", []), "spec.x: Unsupported value: \"a\""],
    [FieldError.duplicate("spec.l[1]", "a"), "spec.l[1]: Duplicate value: \"a\""],
    [FieldError.forbidden("spec.x", "no"), "spec.x: Forbidden: no"],
    [FieldError.notFound("spec.x", "a"), "spec.x: Not found: \"a\""],
    [FieldError.tooLong("spec.x", 3), "spec.x: Too long: may not be more than 3 bytes"],
    [FieldError.tooLong("spec.x", 1), "spec.x: Too long: may not be more than 1 byte"],
    [FieldError.tooLong("spec.x", -1), "spec.x: Too long: value is too long"],
    [FieldError.tooMany("spec.l", 3, 2), "spec.l: Too many: 3: must have at most 2 items"],
    [FieldError.tooMany("spec.l", -1, 1), "spec.l: Too many: must have at most 1 item"],
    [FieldError.internalError("spec.x", "lost"), "spec.x: Internal error: lost"]
  ]
  for (const [error, text] of cases) {
    it(text, () => assert.strictEqual(FieldError.format(error), text))
  }
})

describe("values are printed as Go prints them", () => {
  it("numbers", () => {
    const printed = [0, -3, 1.5, 1e6, 1234567.5, 0.00001, 1e21, 9007199254740991].map(FieldError.printValue)
    assert.deepStrictEqual(printed, [
      "0",
      "-3",
      "1.5",
      "1000000",
      "1.2345675e+06",
      "1e-05",
      "1e+21",
      "9007199254740991"
    ])
  })

  it("strings escape what is not printable", () => {
    assert.strictEqual(FieldError.quote("é\n\u0001\u200b\\"), "\"é\\n\\x01\\u200b\\\\\"")
  })
})

describe("toCause", () => {
  it("has the reason of the error's type, and the message without the field", () => {
    assert.deepStrictEqual(FieldError.toCause(FieldError.typeInvalid("spec.x", "string", "no")), {
      reason: "FieldValueTypeInvalid",
      message: "Invalid value: \"string\": no",
      field: "spec.x"
    })
    assert.strictEqual(FieldError.toCause(FieldError.internalError("x", "y")).reason, "InternalError")
  })
})

describe("aggregate", () => {
  const a = FieldError.required("a", "")
  const b = FieldError.required("b", "")
  it("one error stands alone", () => assert.strictEqual(FieldError.aggregate([a]), "a: Required value"))
  it("several are in brackets", () =>
    assert.strictEqual(FieldError.aggregate([a, b]), "[a: Required value, b: Required value]"))
  it("repeats are left out, and brackets with them", () => {
    assert.strictEqual(FieldError.aggregate([a, a]), "a: Required value")
    assert.strictEqual(FieldError.aggregate([a, b, a]), "[a: Required value, b: Required value]")
  })
  it("none is nothing", () => assert.strictEqual(FieldError.aggregate([]), ""))
})
