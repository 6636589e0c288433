/** Rules of objects: where they apply, when they are skipped, and what they say. */
import { assert, describe, it } from "@effect/vitest"
import * as RuleValidation from "../../src/cel/RuleValidation.ts"
import type { Schema } from "../../src/schema/Schema.ts"
import { faultsOf, rulesOf } from "../testing/support/rules.ts"

describe("compared fields", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "integer" }, b: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.a <= self.b" }]
      }
    }
  }, [
    { object: { spec: { a: 1, b: 2 } }, errors: [] },
    { object: { spec: { a: 3, b: 2 } }, errors: ["Invalid spec: Invalid value: failed rule: self.a <= self.b"] },
    {
      object: { spec: { a: 3 } },
      errors: ["Invalid spec: Invalid value: \"object\": no such key: b evaluating rule: self.a <= self.b"]
    },
    {
      object: { spec: { a: "x", b: 1 } },
      errors: [
        "TypeInvalid spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    { object: {}, errors: [] },
    {
      object: { spec: null },
      errors: [
        "TypeInvalid spec: Invalid value: \"null\": spec in body must be of type object: \"null\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    { object: { spec: { a: 3, b: 2 } }, old: { spec: { a: 3, b: 2 } }, errors: [] },
    {
      object: { spec: { a: 4, b: 2 } },
      old: { spec: { a: 3, b: 2 } },
      errors: ["Invalid spec: Invalid value: failed rule: self.a <= self.b"]
    }
  ])
})

describe("messages, reasons and fields", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "integer" }, s: { type: "string" }, l: { type: "array", items: { type: "string" } } },
        "x-kubernetes-validations": [
          { rule: "self.a > 0", message: " be positive ", reason: "FieldValueRequired", fieldPath: ".a" },
          { rule: "self.a > 1", reason: "FieldValueForbidden" },
          { rule: "self.a > 2", reason: "FieldValueDuplicate", fieldPath: ".a" },
          { rule: "self.a > 3", messageExpression: "'a is ' + string(self.a)" },
          { rule: "self.a > 4", messageExpression: "''", message: "dflt" },
          { rule: "self.a > 5", messageExpression: "'a\\nb'" },
          { rule: "self.a > 6", messageExpression: "string(1/ (self.a - self.a))" }
        ]
      }
    }
  }, [
    {
      object: { spec: { a: 0 } },
      errors: [
        "Required spec.a: Required value: be positive",
        "Forbidden spec: Forbidden: failed rule: self.a > 1",
        "Duplicate spec.a: Duplicate value",
        "Invalid spec: Invalid value: a is 0",
        "Invalid spec: Invalid value: dflt",
        "Invalid spec: Invalid value: failed rule: self.a > 5",
        "Invalid spec: Invalid value: failed rule: self.a > 6"
      ]
    },
    { object: { spec: { a: 7 } }, errors: [] }
  ])
})

describe("rules at every level, and of transitions", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          a: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 0" }, { rule: "self == oldSelf" }] },
          s: { type: "string", "x-kubernetes-validations": [{ rule: "self.startsWith('x')" }] },
          l: { type: "array", items: { type: "string", "x-kubernetes-validations": [{ rule: "self.size() < 3" }] } },
          m: {
            type: "object",
            additionalProperties: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 0" }] }
          },
          o: {
            type: "array",
            items: {
              type: "object",
              properties: {
                k: { type: "string" },
                v: { type: "integer", "x-kubernetes-validations": [{ rule: "self >= oldSelf" }] }
              },
              "x-kubernetes-validations": [{ rule: "self.v > 0" }]
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"]
          }
        }
      }
    }
  }, [
    {
      object: { spec: { a: 0, s: "y", l: ["a", "bcd"], m: { x: 0, "y z": 0 }, o: [{ k: "a", v: 0 }] } },
      errors: [
        "Invalid spec.o[0]: Invalid value: failed rule: self.v > 0",
        "Invalid spec.a: Invalid value: 0: failed rule: self > 0",
        "Invalid spec.s: Invalid value: \"y\": failed rule: self.startsWith('x')",
        "Invalid spec.l[1]: Invalid value: \"bcd\": failed rule: self.size() < 3",
        "Invalid spec.m[x]: Invalid value: 0: failed rule: self > 0",
        "Invalid spec.m[y z]: Invalid value: 0: failed rule: self > 0"
      ]
    },
    {
      object: { spec: { a: 2, s: "xx" } },
      old: { spec: { a: 1 } },
      errors: ["Invalid spec.a: Invalid value: 2: failed rule: self == oldSelf"]
    },
    { object: { spec: { a: 2, s: "yy" } }, old: { spec: { a: 2, s: "yy" } }, errors: [] },
    {
      object: { spec: { a: 0, s: "zz" } },
      old: { spec: { a: 0, s: "yy" } },
      errors: ["Invalid spec.s: Invalid value: \"zz\": failed rule: self.startsWith('x')"]
    },
    {
      object: { spec: { o: [{ k: "b", v: 1 }, { k: "a", v: 2 }] } },
      old: { spec: { o: [{ k: "a", v: 3 }, { k: "b", v: 1 }] } },
      errors: ["Invalid spec.o[1].v: Invalid value: 2: failed rule: self >= oldSelf"]
    },
    { object: { spec: { o: [{ k: "a", v: 0 }] } }, old: { spec: { o: [{ k: "a", v: 0 }] } }, errors: [] },
    {
      object: { spec: { o: [{ k: "a", v: 0 }, { k: "b", v: -1 }] } },
      old: { spec: { o: [{ k: "a", v: 0 }] } },
      errors: ["Invalid spec.o[1]: Invalid value: failed rule: self.v > 0"]
    },
    { object: { spec: { l: ["abcd", "x"] } }, old: { spec: { l: ["abcd", "x"] } }, errors: [] },
    {
      object: { spec: { l: ["abcd", "x"] } },
      old: { spec: { l: ["abcd"] } },
      errors: ["Invalid spec.l[0]: Invalid value: \"abcd\": failed rule: self.size() < 3"]
    },
    {
      object: { spec: { m: { x: 0, y: 0 } } },
      old: { spec: { m: { x: 0 } } },
      errors: ["Invalid spec.m[y]: Invalid value: 0: failed rule: self > 0"]
    }
  ])
})

describe("failures", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          i: { "x-kubernetes-int-or-string": true },
          l: { type: "array", items: { type: "integer" } },
          m: { type: "object", additionalProperties: { type: "string" } }
        },
        "x-kubernetes-validations": [
          { rule: "self.i < 5" },
          { rule: "self.l[3] == 1" },
          { rule: "self.m['x'] == 'y'" },
          { rule: "self.l.all(x, 10 / x > 1)" }
        ]
      }
    }
  }, [
    {
      object: { spec: { i: "a", l: [1], m: {} } },
      errors: [
        "Invalid spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.i < 5",
        "Invalid spec: Invalid value: \"object\": index out of bounds: 3 evaluating rule: self.l[3] == 1",
        "Invalid spec: Invalid value: \"object\": no such key: x evaluating rule: self.m['x'] == 'y'"
      ]
    },
    {
      object: { spec: { i: 1, l: [0, 0, 0, 1], m: { x: "y" } } },
      errors: ["Invalid spec: Invalid value: \"object\": division by zero evaluating rule: self.l.all(x, 10 / x > 1)"]
    },
    {
      object: { spec: {} },
      errors: [
        "Invalid spec: Invalid value: \"object\": no such key: i evaluating rule: self.i < 5",
        "Invalid spec: Invalid value: \"object\": no such key: l evaluating rule: self.l[3] == 1",
        "Invalid spec: Invalid value: \"object\": no such key: m evaluating rule: self.m['x'] == 'y'",
        "Invalid spec: Invalid value: \"object\": no such key: l evaluating rule: self.l.all(x, 10 / x > 1)"
      ]
    }
  ])
})

describe("other faults of the schema come first", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          a: { type: "integer" },
          b: { type: "string", maxLength: 3, "x-kubernetes-validations": [{ rule: "self != 'bad'" }] }
        },
        required: ["a"]
      }
    }
  }, [
    {
      object: { spec: { b: "bad" } },
      errors: [
        "Required spec.a: Required value",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    {
      object: { spec: { a: 1, b: "toolong" } },
      errors: [
        "TooLong spec.b: Too long: may not be more than 3 bytes",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    {
      object: { spec: { a: 1, b: "bad" } },
      errors: ["Invalid spec.b: Invalid value: \"bad\": failed rule: self != 'bad'"]
    },
    { object: { spec: { b: "bad" } }, old: { spec: { b: "bad" } }, errors: [] },
    {
      object: { spec: { b: "ok" } },
      old: { spec: { b: "bad" } },
      errors: [
        "Required spec.a: Required value",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    }
  ])
})

describe("the root knows its name and kind", () => {
  rulesOf({
    type: "object",
    properties: { spec: { type: "object", properties: { a: { type: "integer" } } } },
    "x-kubernetes-validations": [
      { rule: "self.metadata.name.startsWith('z')" },
      { rule: "self.spec.a > 0" },
      { rule: "self.kind == 'Foo'" },
      { rule: "self.apiVersion == 'x'" },
      { rule: "self.spec.a > 10", fieldPath: ".spec.a" }
    ]
  }, [
    {
      object: { spec: { a: 0 } },
      errors: [
        "Invalid <nil>: Invalid value: failed rule: self.metadata.name.startsWith('z')",
        "Invalid <nil>: Invalid value: failed rule: self.spec.a > 0",
        "Invalid <nil>: Invalid value: failed rule: self.apiVersion == 'x'",
        "Invalid spec.a: Invalid value: failed rule: self.spec.a > 10"
      ]
    },
    {
      object: { spec: { a: 0 } },
      old: { spec: { a: 0 } },
      errors: [
        "Invalid <nil>: Invalid value: failed rule: self.metadata.name.startsWith('z')",
        "Invalid <nil>: Invalid value: failed rule: self.spec.a > 0",
        "Invalid <nil>: Invalid value: failed rule: self.apiVersion == 'x'",
        "Invalid spec.a: Invalid value: failed rule: self.spec.a > 10"
      ]
    },
    {
      object: { spec: { a: 1 } },
      old: { spec: { a: 0 } },
      errors: [
        "Invalid <nil>: Invalid value: failed rule: self.metadata.name.startsWith('z')",
        "Invalid <nil>: Invalid value: failed rule: self.apiVersion == 'x'",
        "Invalid spec.a: Invalid value: failed rule: self.spec.a > 10"
      ]
    }
  ])
})

describe("optional old selves", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "integer" } },
        "x-kubernetes-validations": [
          { rule: "!oldSelf.hasValue() || self.a >= oldSelf.value().a", optionalOldSelf: true },
          { rule: "oldSelf.a <= self.a" },
          { rule: "oldSelf.optMap(o, o.a == 1).orValue(false)", optionalOldSelf: true }
        ]
      }
    }
  }, [
    {
      object: { spec: { a: 1 } },
      errors: ["Invalid spec: Invalid value: failed rule: oldSelf.optMap(o, o.a == 1).orValue(false)"]
    },
    {
      object: { spec: { a: 0 } },
      old: { spec: { a: 1 } },
      errors: [
        "Invalid spec: Invalid value: failed rule: !oldSelf.hasValue() || self.a >= oldSelf.value().a",
        "Invalid spec: Invalid value: failed rule: oldSelf.a <= self.a"
      ]
    },
    {
      object: { spec: { a: 2 } },
      old: {},
      errors: ["Invalid spec: Invalid value: failed rule: oldSelf.optMap(o, o.a == 1).orValue(false)"]
    },
    { object: { spec: { a: 1 } }, old: { spec: { a: 1 } }, errors: [] }
  ])
})

describe("lists below objects", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          i: {
            type: "object",
            properties: {
              l: {
                type: "array",
                items: { type: "integer", "x-kubernetes-validations": [{ rule: "self >= 0" }, { rule: "self < 100" }] }
              }
            }
          }
        }
      }
    }
  }, [
    {
      object: { spec: { i: { l: [-1, 5, 200] } } },
      errors: [
        "Invalid spec.i.l[0]: Invalid value: -1: failed rule: self >= 0",
        "Invalid spec.i.l[2]: Invalid value: 200: failed rule: self < 100"
      ]
    },
    { object: { spec: { i: { l: [-1, 5, 200] } } }, old: { spec: { i: { l: [-1, 5, 200] } } }, errors: [] },
    {
      object: { spec: { i: { l: [-1, 6] } } },
      old: { spec: { i: { l: [-1, 5] } } },
      errors: ["Invalid spec.i.l[0]: Invalid value: -1: failed rule: self >= 0"]
    }
  ])
})

describe("unchanged values of other rules", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          x: { type: "string", enum: ["a", "b"] },
          y: { type: "integer", "x-kubernetes-validations": [{ rule: "self>0" }] }
        }
      },
      status: {
        type: "object",
        properties: { p: { type: "string" } },
        "x-kubernetes-validations": [{ rule: "self.p != 'x'" }]
      }
    }
  }, [
    {
      object: { spec: { x: "c", y: 0 } },
      errors: [
        "NotSupported spec.x: Unsupported value: \"c\": supported values: \"a\", \"b\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    { object: { spec: { x: "c", y: 0 } }, old: { spec: { x: "c", y: 0 } }, errors: [] },
    {
      object: { spec: { x: "c", y: 1 } },
      old: { spec: { x: "d", y: 0 } },
      errors: [
        "NotSupported spec.x: Unsupported value: \"c\": supported values: \"a\", \"b\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    { object: { status: { p: "x" } }, errors: ["Invalid status: Invalid value: failed rule: self.p != 'x'"] }
  ])
})

describe("values in words", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { s: { type: "string" }, f: { type: "number" } },
        "x-kubernetes-validations": [{ rule: "self.s == 'a'", message: "msg with \"quotes\"" }, {
          rule: "self.f > 1.0"
        }]
      }
    }
  }, [
    {
      object: { spec: { s: "b", f: 0.5 } },
      errors: [
        "Invalid spec: Invalid value: msg with \"quotes\"",
        "Invalid spec: Invalid value: failed rule: self.f > 1.0"
      ]
    },
    { object: { spec: { s: "b", f: 10000000000 } }, errors: ["Invalid spec: Invalid value: msg with \"quotes\""] },
    { object: { spec: { s: "b", f: 3 } }, errors: ["Invalid spec: Invalid value: msg with \"quotes\""] }
  ])
})

describe("expensive rules", () => {
  const big = (length: number) => ({ spec: { big: Array.from({ length }, (_, index) => index) } })
  const schema: Schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { big: { type: "array", items: { type: "integer" }, maxItems: 2000 } },
        "x-kubernetes-validations": [{ rule: "self.big.all(x, self.big.exists_one(y, x == y))" }, { rule: "true" }]
      }
    }
  }

  it("one costs what it may", () => {
    assert.deepStrictEqual(faultsOf(schema, big(20)), [])
  })

  it("one that costs more than it may ends them all", () => {
    assert.deepStrictEqual(faultsOf(schema, big(600)), [
      "Invalid spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further " +
      "validation rules will be run due to call cost exceeds limit for rule: " +
      "self.big.all(x, self.big.exists_one(y, x == y))"
    ])
  })

  it("so do many that together cost more than an object's may", () => {
    const rules = Array.from({ length: 15 }, (_, index) => ({
      rule: `self.big.all(x, self.big.exists_one(y, x == y || x == -${index + 1}))`
    }))
    const spec = { ...schema.properties!["spec"] as Schema, "x-kubernetes-validations": rules }
    assert.deepStrictEqual(faultsOf({ type: "object", properties: { spec } }, big(370)), [
      "Invalid spec: Invalid value: \"object\": validation failed due to running out of cost budget, " +
      "no further validation rules will be run"
    ])
  })
})

describe("schemas without rules", () => {
  it("have none to run", () => {
    assert.isFalse(RuleValidation.hasRules({ type: "object", properties: { spec: { type: "string" } } }))
    assert.isTrue(RuleValidation.hasRules({
      type: "object",
      properties: {
        l: { type: "array", items: { type: "string", "x-kubernetes-validations": [{ rule: "self != ''" }] } }
      }
    }))
  })
})
