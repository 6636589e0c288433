/** How data looks to the rules of its schema: formats, names, equality and sums. */
import { describe } from "@effect/vitest"
import { rulesOf } from "../testing/support/rules.ts"

describe("formats", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          d: { type: "string", format: "duration" },
          t: { type: "string", format: "date-time" },
          dd: { type: "string", format: "date" },
          b: { type: "string", format: "byte" },
          n: { type: "number" },
          i: { "x-kubernetes-int-or-string": true },
          nul: { type: "string", nullable: true },
          p: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
          ml: {
            type: "array",
            items: { type: "object", properties: { k: { type: "string" }, v: { type: "integer" } }, required: ["k"] },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"]
          }
        },
        "x-kubernetes-validations": [
          { rule: "!has(self.d) || self.d > duration('1m')" },
          { rule: "!has(self.t) || self.t.getFullYear() == 2020" },
          { rule: "!has(self.dd) || self.dd > timestamp('2020-01-01T00:00:00Z')" },
          { rule: "!has(self.b) || self.b == b'hi'" },
          { rule: "!has(self.n) || self.n < 1.5" },
          { rule: "!has(self.i) || type(self.i) == int" },
          { rule: "!has(self.i) || self.i == 5 || self.i == '5'" },
          { rule: "!has(self.nul) || self.nul != 'x'" },
          { rule: "!has(self.set) || self.set == ['b','a']" },
          { rule: "!has(self.set) || (self.set + ['a','c']).size() == 3" },
          { rule: "!has(self.ml) || self.ml.exists(x, x.k == 'a' && x.v == 1)" },
          { rule: "!has(self.p) || self.p == self.p" }
        ]
      }
    }
  }, [
    { object: { spec: { d: "2m" } }, errors: [] },
    {
      object: { spec: { d: "1s" } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.d) || self.d > duration('1m')"]
    },
    { object: { spec: { t: "2020-05-05T00:00:00Z" } }, errors: [] },
    {
      object: { spec: { t: "2021-05-05T00:00:00Z" } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.t) || self.t.getFullYear() == 2020"]
    },
    { object: { spec: { dd: "2020-01-02" } }, errors: [] },
    { object: { spec: { b: "aGk=" } }, errors: [] },
    {
      object: { spec: { b: "aGo=" } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.b) || self.b == b'hi'"]
    },
    { object: { spec: { n: 1 } }, errors: [] },
    { object: { spec: { n: 2 } }, errors: ["Invalid spec: Invalid value: failed rule: !has(self.n) || self.n < 1.5"] },
    { object: { spec: { n: 1.25 } }, errors: [] },
    { object: { spec: { i: 5 } }, errors: [] },
    {
      object: { spec: { i: "5" } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.i) || type(self.i) == int"]
    },
    {
      object: { spec: { i: 6 } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.i) || self.i == 5 || self.i == '5'"]
    },
    { object: { spec: { nul: null } }, errors: [] },
    {
      object: { spec: { nul: "x" } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.nul) || self.nul != 'x'"]
    },
    { object: { spec: { p: { q: [1] } } }, errors: [] },
    { object: { spec: { set: ["a", "b"] } }, errors: [] },
    {
      object: { spec: { set: ["a", "z"] } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.set) || self.set == ['b','a']"]
    },
    { object: { spec: { ml: [{ k: "a", v: 1 }] } }, errors: [] },
    {
      object: { spec: { ml: [{ k: "b" }] } },
      errors: ["Invalid spec: Invalid value: failed rule: !has(self.ml) || self.ml.exists(x, x.k == 'a' && x.v == 1)"]
    },
    {
      object: { spec: { d: "bad" } },
      errors: [
        "TypeInvalid spec.d: Invalid value: \"bad\": spec.d in body must be of type duration: \"bad\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    },
    {
      object: { spec: { t: "bad" } },
      errors: [
        "TypeInvalid spec.t: Invalid value: \"bad\": spec.t in body must be of type date-time: \"bad\"",
        "Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
      ]
    }
  ])
})

describe("escaped names", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          "a.b": { type: "string" },
          "x-y": { type: "string" },
          "/z": { type: "string" },
          in: { type: "string" },
          a__b: { type: "string" },
          "1a": { type: "string", "x-kubernetes-validations": [{ rule: "self == 'q'" }] }
        },
        "x-kubernetes-validations": [{ rule: "self.a__dot__b == self.x__dash__y" }, { rule: "self.__in__ == 'k'" }, {
          rule: "has(self.a__underscores__b)"
        }]
      }
    }
  }, [
    {
      object: { spec: { "a.b": "1", "x-y": "1", in: "k", a__b: "", "1a": "z" } },
      errors: ["Invalid spec.1a: Invalid value: \"z\": failed rule: self == 'q'"]
    },
    {
      object: { spec: { "a.b": "1", "x-y": "2" } },
      errors: [
        "Invalid spec: Invalid value: failed rule: self.a__dot__b == self.x__dash__y",
        "Invalid spec: Invalid value: \"object\": no such key: __in__ evaluating rule: self.__in__ == 'k'",
        "Invalid spec: Invalid value: failed rule: has(self.a__underscores__b)"
      ]
    }
  ])
})

describe("embedded resources", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          e: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": [{ rule: "self.metadata.name == 'n'" }, { rule: "self.kind == 'Pod'" }]
          }
        }
      }
    }
  }, [
    { object: { spec: { e: { apiVersion: "v1", kind: "Pod", metadata: { name: "n" } } } }, errors: [] },
    {
      object: { spec: { e: { apiVersion: "v1", kind: "X", metadata: { name: "m" } } } },
      errors: [
        "Invalid spec.e: Invalid value: failed rule: self.metadata.name == 'n'",
        "Invalid spec.e: Invalid value: failed rule: self.kind == 'Pod'"
      ]
    }
  ])
})

describe("equality of lists", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          s: { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" },
          l: { type: "array", items: { type: "integer" } },
          m: { type: "object", additionalProperties: { type: "integer" } },
          o: { type: "object", properties: { x: { type: "integer" }, n: { type: "integer", nullable: true } } }
        },
        "x-kubernetes-validations": [{ rule: "self.s == oldSelf.s" }, { rule: "self.l == oldSelf.l" }, {
          rule: "self.m == oldSelf.m"
        }, { rule: "self.o == oldSelf.o" }]
      }
    }
  }, [
    {
      object: { spec: { s: [1, 2], l: [1, 2], m: { a: 1, b: 2 }, o: { x: 1 } } },
      old: { spec: { s: [2, 1], l: [2, 1], m: { b: 2, a: 1 }, o: { x: 1, n: null } } },
      errors: [
        "Invalid spec: Invalid value: failed rule: self.l == oldSelf.l",
        "Invalid spec: Invalid value: failed rule: self.o == oldSelf.o"
      ]
    },
    {
      object: { spec: { s: [1, 2], l: [1, 2], m: { a: 1 }, o: { x: 1 } } },
      old: { spec: { s: [2, 1], l: [1, 2], m: { a: 2 }, o: { x: 2 } } },
      errors: [
        "Invalid spec: Invalid value: failed rule: self.m == oldSelf.m",
        "Invalid spec: Invalid value: failed rule: self.o == oldSelf.o"
      ]
    }
  ])
})

describe("sums of lists", () => {
  rulesOf({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          s: { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" },
          ml: {
            type: "array",
            items: { type: "object", properties: { k: { type: "string" }, v: { type: "integer" } } },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"]
          }
        },
        "x-kubernetes-validations": [{ rule: "size(self.s + [1,5]) == 3" }, {
          rule: "(self.ml + [oldSelf.ml[0]]).size() == size(self.ml)"
        }, { rule: "(self.ml + oldSelf.ml)[0].v == 9" }]
      }
    }
  }, [
    {
      object: { spec: { s: [1, 2], ml: [{ k: "a", v: 1 }] } },
      old: { spec: { s: [1], ml: [{ k: "a", v: 9 }] } },
      errors: []
    },
    {
      object: { spec: { s: [1, 5], ml: [{ k: "a", v: 1 }] } },
      old: { spec: { s: [1], ml: [{ k: "b", v: 9 }] } },
      errors: [
        "Invalid spec: Invalid value: failed rule: size(self.s + [1,5]) == 3",
        "Invalid spec: Invalid value: failed rule: (self.ml + [oldSelf.ml[0]]).size() == size(self.ml)",
        "Invalid spec: Invalid value: failed rule: (self.ml + oldSelf.ml)[0].v == 9"
      ]
    }
  ])
})
