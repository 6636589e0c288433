/** Rules of custom resources in CEL: statement 106. */
import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const mergePatch = "application/merge-patch+json"

const spec = (properties: object, ...rules: ReadonlyArray<object>) => ({
  type: "object",
  properties,
  "x-kubernetes-validations": rules
})

const integer = { type: "integer" }
const text = { type: "string" }

interface Cause {
  readonly field: string
  readonly message: string
  readonly reason: string
}

/** Servers before 1.35 say "object" where they leave out a value. */
const plain = (message: string | undefined): string =>
  (message ?? "").replace("Invalid value: \"object\": ", "Invalid value: ")

const causes = ({ error }: Answer): ReadonlyArray<Cause> =>
  ((error.details?.causes ?? []) as ReadonlyArray<Cause>).map((cause) => ({ ...cause, message: plain(cause.message) }))

export const celRules = [
  statement("106a", "rules refuse objects with their message, reason and field", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: spec(
        { min: integer, max: integer, name: text },
        { rule: "self.min <= self.max" },
        { rule: "self.max < 100", message: "max is too large" },
        { rule: "!has(self.name) || self.name.startsWith('w-')", messageExpression: "'no w- before ' + self.name" },
        { rule: "self.min >= 0", reason: "FieldValueForbidden", fieldPath: ".min", message: "must not be negative" }
      )
    })
    const post = (fields: object) =>
      request("POST", widgets.path(ns), { body: widgets.object("a", { spec: { min: 1, max: 2, ...fields } }) })
    const one = yield* post({ min: 3 })
    assert.strictEqual(one.status, 422)
    assert.strictEqual(one.error.reason, "Invalid")
    assert.strictEqual(
      plain(one.error.message),
      "Widget." + widgets.group + " \"a\" is invalid: spec: Invalid value: failed rule: self.min <= self.max"
    )
    const several = yield* post({ min: -1, max: 200, name: "x" })
    assert.sameDeepMembers([...causes(several)], [
      { reason: "FieldValueInvalid", message: "Invalid value: max is too large", field: "spec" },
      { reason: "FieldValueInvalid", message: "Invalid value: no w- before x", field: "spec" },
      { reason: "FieldValueForbidden", message: "Forbidden: must not be negative", field: "spec.min" }
    ])
    assert.strictEqual((yield* post({ name: "w-x" })).status, 201)
  }),

  statement("106b", "rules are not run where the schema blocks them, and that is told", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({ spec: { ...spec({ a: integer, b: text }, { rule: "self.a > 0" }), required: ["b"] } })
    const post = (fields: object) => request("POST", widgets.path(ns), { body: widgets.object("a", { spec: fields }) })
    const wrong = yield* post({ a: "x", b: "y" })
    assert.strictEqual(wrong.status, 422)
    assert.deepStrictEqual(causes(wrong).map(({ field }) => field), ["spec.a", "<nil>"])
    assert.strictEqual(
      causes(wrong)[1]!.message,
      "Invalid value: null: some validation rules were not checked because the object was invalid; " +
        "correct the existing errors to complete validation"
    )
    const missing = yield* post({ a: 0 })
    assert.strictEqual(causes(missing)[0]!.field, "spec.b")
    assert.deepInclude(causes(missing)[1], { field: "<nil>" })
    assert.deepStrictEqual(causes(yield* post({ a: 0, b: "y" })).map(({ field }) => field), ["spec"])
  }),

  statement("106c", "rules about transitions run on updates alone", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: spec({
        fixed: { ...text, "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "fixed is immutable" }] },
        count: integer
      }, { rule: "self.count >= oldSelf.count", message: "count may not shrink" })
    })
    const created = yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", { spec: { fixed: "x", count: 2 } })
    })
    assert.strictEqual(created.status, 201)
    const change = (fields: object) =>
      request("PATCH", widgets.path(ns, "a"), { contentType: mergePatch, body: { spec: fields } })
    const changed = yield* change({ fixed: "y", count: 1 })
    assert.sameDeepMembers(causes(changed).map(({ field, message }) => `${field} ${message}`), [
      "spec Invalid value: count may not shrink",
      "spec.fixed Invalid value: \"y\": fixed is immutable"
    ])
    assert.strictEqual((yield* change({ count: 3 })).status, 200)
    // What was not there before has no transition.
    assert.strictEqual((yield* change({ fixed: null })).status, 200)
    assert.strictEqual((yield* change({ fixed: "z" })).status, 200)
  }),

  statement("106d", "oldSelf may be optional", { since: 29 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: spec({ count: integer }, {
        rule: "oldSelf.hasValue() || self.count == 0",
        optionalOldSelf: true,
        message: "begin with nothing"
      })
    })
    const post = (count: number) =>
      request("POST", widgets.path(ns), { body: widgets.object("a", { spec: { count } }) })
    const refused = yield* post(1)
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(causes(refused)[0]!.message, "Invalid value: begin with nothing")
    assert.strictEqual((yield* post(0)).status, 201)
    const changed = yield* request("PATCH", widgets.path(ns, "a"), {
      contentType: mergePatch,
      body: { spec: { count: 5 } }
    })
    assert.strictEqual(changed.status, 200)
  }),

  statement("106e", "rules see lists, maps, names and formats as their schemas say", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: spec(
        {
          "a-b": integer,
          namespace: text,
          tags: { type: "array", items: text, "x-kubernetes-list-type": "set" },
          wait: { type: "string", format: "duration" },
          at: { type: "string", format: "date-time" },
          port: { "x-kubernetes-int-or-string": true },
          limits: {
            type: "object",
            additionalProperties: { ...integer, "x-kubernetes-validations": [{ rule: "self > 0" }] }
          }
        },
        { rule: "!has(self.a__dash__b) || self.a__dash__b == 1" },
        { rule: "!has(self.__namespace__) || self.__namespace__ != 'kube-system'" },
        { rule: "!has(self.tags) || self.tags == ['b', 'a']" },
        { rule: "!has(self.wait) || self.wait < duration('1h')" },
        { rule: "!has(self.at) || self.at.getFullYear() > 2000" },
        { rule: "!has(self.port) || (type(self.port) == int ? self.port > 0 : self.port.matches('^[a-z]+$'))" }
      )
    })
    const failed = (fields: object) =>
      request("POST", widgets.path(ns), { body: widgets.object("a", { spec: fields }), query: { dryRun: "All" } }).pipe(
        (answer) => answer
      )
    const fine = yield* failed({
      "a-b": 1,
      namespace: "x",
      tags: ["a", "b"],
      wait: "30m",
      at: "2020-01-01T00:00:00Z",
      port: "http",
      limits: { x: 1 }
    })
    assert.strictEqual(fine.status, 201)
    const wrong = yield* failed({
      "a-b": 2,
      namespace: "kube-system",
      tags: ["a", "c"],
      wait: "2h",
      at: "1999-01-01T00:00:00Z",
      port: 0,
      limits: { x: 0, y: 1 }
    })
    assert.strictEqual(wrong.status, 422)
    assert.lengthOf(causes(wrong), 7)
    assert.include(causes(wrong).map(({ field }) => field), "spec.limits[x]")
    assert.lengthOf(causes(yield* failed({ port: "HTTP" })), 1)
  }),

  statement("106f", "rules of a definition must compile, be bools and not cost too much", { since: 25 }, function*() {
    const { request, unique } = yield* Target
    const group = `${unique("g")}.example.com`
    const post = (schema: object) =>
      request("POST", definitions, {
        body: {
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "CustomResourceDefinition",
          metadata: { name: `widgets.${group}` },
          spec: {
            group,
            scope: "Namespaced",
            names: { plural: "widgets", kind: "Widget" },
            versions: [{
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object", properties: { spec: schema } } }
            }]
          }
        }
      })
    const path = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations"
    const undefinedField = yield* post(spec({ a: integer }, { rule: "self.b > 0" }))
    assert.strictEqual(undefinedField.status, 422)
    assert.strictEqual(causes(undefinedField)[0]!.field, `${path}[0].rule`)
    assert.include(
      causes(undefinedField)[0]!.message,
      "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 0\n | ....^"
    )
    const number = yield* post(spec({ a: integer }, { rule: "self.a" }))
    assert.include(causes(number)[0]!.message, "must evaluate to a bool")
    const items = { type: "array", items: text }
    const costly = yield* post(spec({ l: items }, { rule: "self.l.all(x, self.l.all(y, x == y))" }))
    assert.strictEqual(costly.status, 422)
    assert.match(causes(costly)[0]!.message, /estimated rule cost exceeds budget by factor of more than 100x/)
    const bounded = yield* post(spec({ l: { ...items, maxItems: 10, items: { ...text, maxLength: 10 } } }, {
      rule: "self.l.all(x, self.l.all(y, x == y))"
    }))
    assert.strictEqual(bounded.status, 201)
  }),

  statement("106g", "a rule that fails while it runs refuses the object", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: spec(
        { l: { type: "array", items: integer }, m: { type: "object", additionalProperties: text } },
        { rule: "self.l[1] == 2" },
        { rule: "self.m['k'] == 'v'" }
      )
    })
    const post = (fields: object) => request("POST", widgets.path(ns), { body: widgets.object("a", { spec: fields }) })
    const answer = yield* post({ l: [1], m: {} })
    assert.strictEqual(answer.status, 422)
    assert.sameMembers(causes(answer).map(({ message }) => message), [
      "Invalid value: index out of bounds: 1 evaluating rule: self.l[1] == 2",
      "Invalid value: no such key: k evaluating rule: self.m['k'] == 'v'"
    ])
    assert.strictEqual((yield* post({ l: [1, 2], m: { k: "v" } })).status, 201)
  }),

  statement("106h", "rules do not run where metadata or values are wrong in certain ways, and the server says so", {
    note: "too many or too few properties are no reason to look no further",
    since: 30
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: { ...spec({ a: text, b: text, c: text }, { rule: "false" }), maxProperties: 1, required: ["b"] }
    })
    const unchecked = "Invalid value: null: some validation rules were not checked because the object was invalid; " +
      "correct the existing errors to complete validation"
    const post = (fields: object, metadata: object) =>
      request("POST", widgets.path(ns), { body: { ...widgets.object("a", { spec: fields }), metadata } })
    const told = (answer: Answer) => {
      assert.strictEqual(answer.status, 422)
      return causes(answer).map(({ field, message }) => `${field}: ${message}`)
    }
    assert.deepStrictEqual(told(yield* post({ b: "x" }, {})), [
      "metadata.name: Required value: name or generateName is required",
      `<nil>: ${unchecked}`
    ])
    assert.deepStrictEqual(told(yield* post({ b: "x" }, { name: "a", labels: { l: "!" } })).slice(1), [
      "spec: Invalid value: failed rule: false"
    ])
    assert.sameMembers(told(yield* post({ a: 1, c: "x" }, { name: "a" })), [
      "spec: Too many: 2: must have at most 1 item",
      "spec.a: Invalid value: \"integer\": spec.a in body must be of type string: \"integer\"",
      "spec.b: Required value",
      `<nil>: ${unchecked}`
    ])
  })
]
