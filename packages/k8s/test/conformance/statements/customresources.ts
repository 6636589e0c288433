/** Pruning, defaults, validation and columns of custom resources, without CEL: statements 101 to 108. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Kind, Target } from "../Target.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const mergePatch = "application/merge-patch+json"
const preserving = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

/** Gives a kind another schema and waits until an object looks as it then should. */
const reschema = Effect.fnUntraced(function*(
  kind: Kind,
  openAPIV3Schema: object,
  path: string,
  wanted: (object: { readonly [key: string]: any }) => boolean
) {
  const { request, until } = yield* Target
  yield* request("PATCH", `${definitions}/widgets.${kind.group}`, {
    contentType: mergePatch,
    body: { spec: { versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }] } }
  })
  return yield* until(request("GET", path), ({ object, status }) => status === 200 && wanted(object))
})

export const customResources = [
  statement("101a", "fields that the schema does not know are pruned on write", {
    note: "null of a non-nullable field without a default is pruned, too"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: {
        type: "object",
        properties: {
          x: { type: "integer" },
          free: { ...preserving, properties: { known: { type: "object", properties: { a: { type: "string" } } } } },
          map: { type: "object", additionalProperties: { type: "object", properties: { a: { type: "string" } } } },
          list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
          nullable: { type: "string", nullable: true },
          template: { type: "object", "x-kubernetes-embedded-resource": true, properties: { data: { type: "string" } } }
        }
      }
    })
    const { object, status } = yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", {
        more: 1,
        spec: {
          x: null,
          y: 1,
          free: { any: { thing: [1] }, known: { a: "b", c: "d" } },
          map: { k: { a: "b", c: "d" } },
          list: [{ a: "b", c: "d" }],
          nullable: null,
          template: { apiVersion: "v1", kind: "Thing", metadata: { name: "n", odd: 1 }, data: "d", odd: 1 }
        }
      })
    })
    assert.strictEqual(status, 201)
    assert.notProperty(object, "more")
    assert.deepStrictEqual(object.spec, {
      free: { any: { thing: [1] }, known: { a: "b" } },
      map: { k: { a: "b" } },
      list: [{ a: "b" }],
      nullable: null,
      template: { apiVersion: "v1", kind: "Thing", metadata: { name: "n" }, data: "d" }
    })
    const { object: patched } = yield* request("PATCH", widgets.path(ns, "a"), {
      contentType: mergePatch,
      body: { spec: { x: 2, y: 2 } }
    })
    assert.strictEqual(patched.spec.x, 2)
    assert.notProperty(patched.spec, "y")
  }),

  statement("101b", "fields that the schema no longer knows are pruned on read", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const of = (properties: object) => ({ type: "object", properties: { spec: { type: "object", properties } } })
    const [x, y] = [{ type: "integer" }, { type: "integer" }]
    const widgets = yield* kind({ schema: of({ x, y }) })
    const path = widgets.path(ns, "a")
    const created = yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec: { x: 1, y: 2 } }) })
    assert.deepStrictEqual(created.object.spec, { x: 1, y: 2 })
    const { object: pruned } = yield* reschema(widgets, of({ x }), path, ({ spec }) => spec.y === undefined)
    assert.deepStrictEqual(pruned.spec, { x: 1 })
    assert.strictEqual(pruned.metadata.resourceVersion, created.object.metadata.resourceVersion)
    const { object: again } = yield* reschema(widgets, of({ x, y }), path, ({ spec }) => spec.y !== undefined)
    assert.deepStrictEqual(again.spec, { x: 1, y: 2 }, "nothing was rewritten")
  }),

  statement("102a", "defaults are filled in on write", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: {
        type: "object",
        properties: {
          x: { type: "integer", default: 7 },
          s: { type: "string", nullable: true, default: "s" },
          o: { type: "object", properties: { a: { type: "string", default: "b" } } },
          p: { type: "object", default: {}, properties: { a: { type: "string", default: "b" } } },
          list: { type: "array", items: { type: "object", properties: { a: { type: "integer", default: 1 } } } }
        }
      }
    })
    const { object } = yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", { spec: { x: null, s: null, list: [{}, { a: 2 }] } })
    })
    assert.deepStrictEqual(
      object.spec,
      { x: 7, s: null, p: { a: "b" }, list: [{ a: 1 }, { a: 2 }] },
      "null is defaulted where it is not allowed"
    )
    const { object: patched } = yield* request("PATCH", widgets.path(ns, "a"), {
      contentType: mergePatch,
      body: { spec: { x: null, s: null, o: {} } }
    })
    assert.strictEqual(patched.spec.x, 7)
    assert.strictEqual(patched.spec.s, "s", "a merge patch takes the null away")
    assert.deepStrictEqual(patched.spec.o, { a: "b" })
    assert.strictEqual(
      (yield* request("POST", widgets.path(ns), { body: widgets.object("b", { spec: {} }) })).object.spec.s,
      "s"
    )
  }),

  statement("102b", "defaults that came later show in old objects", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const of = (s: object) => ({
      type: "object",
      properties: { spec: { type: "object", properties: { x: { type: "integer" }, s: { type: "string", ...s } } } }
    })
    const widgets = yield* kind({ schema: of({}) })
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    assert.deepStrictEqual(object.spec, { x: 1 })
    const path = widgets.path(ns, "a")
    const { object: seen } = yield* reschema(widgets, of({ default: "s" }), path, ({ spec }) => spec.s !== undefined)
    assert.deepStrictEqual(seen.spec, { x: 1, s: "s" })
    assert.strictEqual(seen.metadata.resourceVersion, object.metadata.resourceVersion)
    const { object: list } = yield* request("GET", widgets.path(ns))
    assert.deepStrictEqual(list.items[0].spec, { x: 1, s: "s" })
  }),

  statement("103", "the schema is enforced, every fault with reason, message and field", {
    note: "1.20 has other reasons for a wrong type and for what is too long, and no index in paths through lists"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: {
        type: "object",
        required: ["x"],
        properties: {
          x: { type: "integer", minimum: 1, maximum: 9 },
          e: { type: "string", enum: ["a", "b"] },
          p: { type: "string", pattern: "^a+$" },
          s: { type: "string", minLength: 2, maxLength: 3 },
          f: { type: "string", format: "date-time" },
          l: {
            type: "array",
            minItems: 1,
            maxItems: 2,
            items: { type: "object", required: ["k"], properties: { k: { type: "string" } } }
          },
          m: { type: "object", additionalProperties: { type: "string" } },
          n: { type: "string", not: { enum: ["no"] } }
        }
      }
    })
    const refused = Effect.fnUntraced(function*(spec: object, field: string, reason: string, message: RegExp) {
      const { error, status } = yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec }) })
      assert.strictEqual(status, 422, field)
      assert.strictEqual(error.reason, "Invalid")
      assert.deepInclude(error.details, { name: "a", group: widgets.group, kind: "Widget" })
      const cause = error.details?.causes?.find((cause) => cause.field === field)
      assert.strictEqual(cause?.reason, reason, `${field}: ${error.message}`)
      assert.match(cause?.message ?? "", message)
    })
    const invalid = "FieldValueInvalid"
    const [type, long, many] = minor >= 25
      ? ["FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany"] as const
      : [invalid, invalid, invalid] as const
    const [tooLong, tooMany] = minor >= 25
      ? [/^Too long: /, /^Too many: /]
      : [/at most 3 chars long/, /at most 2 items/]
    yield* refused({}, "spec.x", "FieldValueRequired", /^Required value$/)
    yield* refused({ x: "1" }, "spec.x", type, /spec\.x in body must be of type integer: "string"$/)
    yield* refused({ x: 0 }, "spec.x", invalid, /spec\.x in body should be greater than or equal to 1$/)
    yield* refused({ x: 10 }, "spec.x", invalid, /spec\.x in body should be less than or equal to 9$/)
    yield* refused({ x: 1, e: "c" }, "spec.e", "FieldValueNotSupported", /"c": supported values: "a", "b"$/)
    yield* refused({ x: 1, p: "b" }, "spec.p", invalid, /"b": spec\.p in body should match '\^a\+\$'$/)
    yield* refused({ x: 1, s: "a" }, "spec.s", invalid, /should be at least 2 chars long$/)
    yield* refused({ x: 1, s: "abcd" }, "spec.s", long, tooLong)
    yield* refused({ x: 1, f: "now" }, "spec.f", type, /must be of type date-time: "now"$/)
    yield* refused({ x: 1, l: [] }, "spec.l", invalid, /should have at least 1 items$/)
    yield* refused({ x: 1, l: [{ k: "v" }, { k: "v" }, { k: "v" }] }, "spec.l", many, tooMany)
    yield* refused(
      { x: 1, l: [{}] },
      minor >= 25 ? "spec.l[0].k" : "spec.l.k",
      "FieldValueRequired",
      /^Required value$/
    )
    yield* refused({ x: 1, m: { a: 1 } }, "spec.m.a", type, /must be of type string: "integer"$/)
    yield* refused({ x: 1, n: "no" }, "<nil>", invalid, /must not validate the schema \(not\)/)
    const good = { x: 1, e: "a", p: "aa", s: "ab", f: "2020-01-01T00:00:00Z", l: [{ k: "v" }], m: { a: "b" }, n: "yes" }
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec: good }) })
    assert.deepStrictEqual(object.spec, good)
  }),

  statement("104", "faults are told in one sentence, the object's kind first", {
    note: "integers of an enum are quoted; parts in brackets are in no order and not repeated"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: {
        type: "object",
        required: ["x"],
        properties: { x: { type: "integer", minimum: 1 }, e: { type: "integer", enum: [1, 2] }, b: { type: "boolean" } }
      }
    })
    const message = (spec: object) =>
      Effect.map(
        request("POST", widgets.path(ns), { body: widgets.object("a", { spec }) }),
        ({ error }) => error.message ?? ""
      )
    const head = `Widget.${widgets.group} "a" is invalid: `
    assert.strictEqual(yield* message({}), `${head}spec.x: Required value`)
    assert.strictEqual(
      yield* message({ x: 0 }),
      `${head}spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1`
    )
    assert.strictEqual(
      yield* message({ x: 1, e: 3 }),
      `${head}spec.e: Unsupported value: 3: supported values: "1", "2"`
    )
    const several = yield* message({ x: 0, e: 3 })
    const parts = several.slice(`${head}[`.length, -1).split(", spec.").map((part) => part.replace(/^(spec\.)?/, ""))
    assert.isTrue(several.startsWith(`${head}[spec.`) && several.endsWith("]"), several)
    assert.sameMembers(parts, [
      `x: Invalid value: 0: spec.x in body should be greater than or equal to 1`,
      `e: Unsupported value: 3: supported values: "1", "2"`
    ])
  }),

  statement("104a", "an update to another kind or version is told with the faults of its metadata", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const widgets = yield* kind({ status: true })
    const path = widgets.path(yield* namespace)
    yield* request("POST", path, { body: widgets.object("a") })
    const patched = yield* request("PATCH", `${path}/a`, {
      contentType: "application/json-patch+json",
      body: [
        { op: "add", path: "/kind", value: "Nope" },
        { op: "add", path: "/metadata/labels", value: { "a b": "x" } }
      ]
    })
    assert.strictEqual(patched.status, 422)
    assert.strictEqual(patched.error.reason, "Invalid")
    assert.deepStrictEqual(
      patched.error.details?.causes?.map(({ field }) => field),
      // Metadata is judged as of a new object, and as of an update.
      ["metadata.labels", "metadata.labels", "kind"]
    )
    assert.match(patched.error.message ?? "", /^Nope\..* "a" is invalid: \[metadata\.labels: /)
    const { object: stored } = yield* request("GET", `${path}/a`)
    const written = yield* request("PUT", `${path}/a/status`, {
      body: { ...stored, kind: "ConfigMap", status: { phase: "New" } }
    })
    assert.strictEqual(written.status, 200, "a status is taken out of any kind")
    assert.strictEqual(written.object.kind, "Widget")
    assert.deepStrictEqual(written.object["status"], { phase: "New" })
  }),

  statement("105a", "sets and maps refuse duplicates", {
    note: "1.20 prints the keys of a map list as Go does"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      spec: {
        type: "object",
        properties: {
          set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
          map: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            items: { type: "object", required: ["k"], properties: { k: { type: "string" }, v: { type: "string" } } }
          },
          plain: { type: "array", items: { type: "string" } }
        }
      }
    })
    const post = (name: string, spec: object) =>
      request("POST", widgets.path(ns), { body: widgets.object(name, { spec }) })
    const set = yield* post("a", { set: ["a", "b", "a"] })
    assert.strictEqual(set.status, 422)
    assert.deepStrictEqual(set.error.details?.causes, [
      { reason: "FieldValueDuplicate", message: `Duplicate value: "a"`, field: "spec.set[2]" }
    ])
    const map = yield* post("a", { map: [{ k: "a", v: "1" }, { k: "a", v: "2" }] })
    const keys = minor >= 28 ? `{"k":"a"}` : `map[string]interface {}{"k":"a"}`
    assert.strictEqual(map.status, 422)
    assert.deepStrictEqual(map.error.details?.causes, [
      { reason: "FieldValueDuplicate", message: `Duplicate value: ${keys}`, field: "spec.map[1]" }
    ])
    assert.strictEqual((yield* post("a", { plain: ["a", "a"], set: ["b", "a"] })).status, 201)
    const patched = yield* request("PATCH", widgets.path(ns, "a"), {
      contentType: mergePatch,
      body: { spec: { set: ["a", "a"] } }
    })
    assert.strictEqual(patched.status, 422)
  }),

  statement("105b", "int-or-string takes both and nothing else", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({ spec: { type: "object", properties: { x: { "x-kubernetes-int-or-string": true } } } })
    const post = (name: string, x: unknown) =>
      request("POST", widgets.path(ns), { body: widgets.object(name, { spec: { x } }) })
    assert.strictEqual((yield* post("a", 5)).object.spec.x, 5)
    assert.strictEqual((yield* post("b", "50%")).object.spec.x, "50%")
    const { error, status } = yield* post("c", 1.5)
    assert.strictEqual(status, 422)
    assert.include(error.message, `spec.x in body must be of type integer,string: "number"`)
    assert.strictEqual(error.details?.causes?.[0]?.field, "spec.x")
    assert.strictEqual((yield* post("c", [1])).status, 422)
  }),

  statement(
    "107",
    "faults that were there before are tolerated while their part stays as it is",
    { since: 30 },
    function*() {
      const { kind, namespace, request } = yield* Target
      const ns = yield* namespace
      const of = (s: object) => ({
        type: "object",
        properties: { spec: { type: "object", properties: { x: { type: "integer" }, s: { type: "string", ...s } } } }
      })
      const widgets = yield* kind({ schema: of({}) })
      const path = widgets.path(ns, "a")
      yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec: { x: 1, s: "long" } }) })
      yield* reschema(widgets, of({ maxLength: 2, default: "d" }), path, () => true)
      const patch = (body: object) => request("PATCH", path, { contentType: mergePatch, body })
      const tolerated = yield* patch({ spec: { x: 2 } })
      assert.strictEqual(tolerated.status, 200)
      assert.deepStrictEqual(tolerated.object.spec, { x: 2, s: "long" })
      const refused = yield* patch({ spec: { s: "longer" } })
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(refused.error.details?.causes?.[0]?.field, "spec.s")
      const created = yield* request("POST", widgets.path(ns), { body: widgets.object("b", { spec: { s: "long" } }) })
      assert.strictEqual(created.status, 422, "there is nothing before a create")
      assert.strictEqual((yield* patch({ spec: { s: "ok" } })).status, 200)
      assert.strictEqual((yield* patch({ spec: { s: "long" } })).status, 422)
    }
  ),

  statement("108", "additionalPrinterColumns are the columns of the table, after the name", {
    note: "what is missing or of a wrong type is a null cell; lists and objects in a text column are JSON"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    const table = (kind: Kind, name?: string) => request("GET", kind.path(ns, name), { headers: { accept } })
    const spec = { ...preserving, properties: { x: { type: "integer" } } }
    const column = (name: string, type: string, jsonPath: string, fields: object = {}) => ({
      name,
      type,
      jsonPath,
      ...fields
    })
    const widgets = yield* kind({
      spec,
      version: {
        additionalPrinterColumns: [
          column("X", "integer", ".spec.x", { description: "the x", format: "int32", priority: 1 }),
          column("Text", "string", ".spec.s"),
          column("List", "string", ".spec.l"),
          column("Yes", "boolean", ".spec.b"),
          column("Wrong", "integer", ".spec.s"),
          column("Missing", "string", ".spec.nothing"),
          column("Ready", "string", `.spec.conditions[?(@.type=="Ready")].status`),
          column("Age", "date", ".metadata.creationTimestamp")
        ]
      }
    })
    const conditions = [{ type: "Other", status: "False" }, { type: "Ready", status: "True" }]
    yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", { spec: { x: 5, s: "t", l: ["a", 1], b: true, conditions } })
    })
    const { object } = yield* table(widgets)
    assert.deepInclude(object, { kind: "Table", apiVersion: "meta.k8s.io/v1" })
    assert.deepStrictEqual(
      object.columnDefinitions.map(({ name }: { readonly name: string }) => name),
      ["Name", "X", "Text", "List", "Yes", "Wrong", "Missing", "Ready", "Age"]
    )
    assert.deepInclude(object.columnDefinitions[0], { type: "string", format: "name", priority: 0 })
    assert.deepStrictEqual(object.columnDefinitions[1], {
      name: "X",
      type: "integer",
      format: "int32",
      description: "the x",
      priority: 1
    })
    assert.strictEqual(
      object.columnDefinitions[2].description,
      "Custom resource definition column (in JSONPath format): .spec.s"
    )
    const cells = object.rows[0].cells
    assert.deepStrictEqual(cells.slice(0, -1), ["a", 5, "t", `["a",1]`, true, null, null, "True"])
    assert.match(cells.at(-1), /^\d+s$/)
    const plain = yield* kind()
    yield* request("POST", plain.path(ns), { body: plain.object("a") })
    const single = yield* table(plain, "a")
    assert.deepStrictEqual(
      single.object.columnDefinitions.map(({ name }: { readonly name: string }) => name),
      ["Name", "Age"]
    )
    assert.strictEqual(single.object.rows[0].cells[0], "a")
  })
]
