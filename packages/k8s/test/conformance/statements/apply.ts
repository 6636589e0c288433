import { assert } from "@effect/vitest"
import { configMaps, contentType, merge, owned, owners, widgets } from "../Applying.ts"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

export const apply = [
  statement(
    "82b",
    "an apply creates what is missing: 201, owned by the applier; not through a subresource",
    {},
    function*() {
      const { apply, path } = yield* configMaps
      const { request } = yield* Target
      const created = yield* apply("a", { k: "v" }, "m")
      assert.strictEqual(created.status, 201)
      assert.deepStrictEqual(owners(created), [["m", "Apply", { "f:data": { "f:k": {} } }]])
      assert.strictEqual((yield* apply("a", { k: "w" }, "m")).status, 200)
      const pods = path.replace("configmaps", "pods")
      const missing = yield* request("PATCH", `${pods}/none/status`, {
        body: { apiVersion: "v1", kind: "Pod", metadata: { name: "none" }, status: { phase: "Running" } },
        contentType,
        query: { fieldManager: "m" }
      })
      assert.strictEqual(missing.status, 404)
      assert.strictEqual(missing.error.message, `pods "none" not found`)
    }
  ),

  statement("84a", "an apply must name its field manager, in at most 128 printable characters", {}, function*() {
    const { apply } = yield* configMaps
    const { minor } = yield* Target
    const missing = yield* apply("a", { k: "v" }, "")
    assert.strictEqual(missing.status, 422)
    assert.strictEqual(
      missing.error.message,
      `PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`
    )
    assert.strictEqual(missing.error.details?.causes?.[0]?.reason, "FieldValueRequired")
    const long = yield* apply("a", { k: "v" }, "m".repeat(129))
    assert.strictEqual(long.status, 422)
    assert.include(long.error.message, minor < 30 ? "must have at most 128 bytes" : "may not be more than 128 bytes")
    assert.strictEqual((yield* apply("a", { k: "v" }, "m\n")).status, 422)
    assert.strictEqual((yield* apply("a", { k: "v" }, "m".repeat(128))).status, 201)
  }),

  statement(
    "84b",
    "managedFields in an applied body are refused, even if empty; so is another kind or name",
    {},
    function*() {
      const { apply, object, path } = yield* configMaps
      const { minor, request } = yield* Target
      for (const managedFields of [[], [{}]]) {
        const refused = yield* apply("a", { k: "v" }, "m", {}, { managedFields })
        assert.strictEqual(refused.status, 400)
        assert.strictEqual(refused.error.reason, "BadRequest")
        assert.strictEqual(refused.error.message, "metadata.managedFields must be nil")
      }
      const send = (body: object) => request("PATCH", `${path}/a`, { body, contentType, query: { fieldManager: "m" } })
      const other = yield* send({ ...object("a", {}), kind: "Secret" })
      if (minor >= 22) {
        assert.strictEqual(other.status, 400)
        assert.strictEqual(other.error.message, "invalid object type: /v1, Kind=Secret")
      }
      const named = yield* send(object("b", { k: "v" }))
      assert.strictEqual(named.status, 400)
      assert.strictEqual(named.error.message, "the name of the object (b) does not match the name on the URL (a)")
      const generated = yield* send({ ...object("", { k: "v" }), metadata: { generateName: "a-" } })
      assert.strictEqual(generated.status, 400)
      assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
    }
  ),

  statement("85a", "one field of another manager: 409, the message and one cause name both", {}, function*() {
    const { apply, create } = yield* configMaps
    yield* create("a", { k: "v", l: "v" }, "agent")
    const refused = yield* apply("a", { k: "w" }, "m")
    assert.strictEqual(refused.status, 409)
    assert.strictEqual(refused.error.reason, "Conflict")
    assert.strictEqual(
      refused.error.message,
      `Apply failed with 1 conflict: conflict with "agent" using v1: .data.k`
    )
    assert.deepStrictEqual(refused.error.details, {
      causes: [{ reason: "FieldManagerConflict", message: `conflict with "agent" using v1`, field: ".data.k" }]
    })
  }),

  statement("85b", "several fields: a block per manager, managers and fields in order", {}, function*() {
    const { apply, create, get } = yield* configMaps
    yield* create("a", { k: "v", l: "v" }, "agent")
    yield* apply("a", { n: "v", o: "v" }, "b")
    const refused = yield* apply("a", { o: "w", n: "w", l: "w", k: "w" }, "a")
    assert.strictEqual(refused.status, 409)
    assert.strictEqual(
      refused.error.message,
      [
        `Apply failed with 4 conflicts: conflicts with "agent" using v1:`,
        "- .data.k",
        "- .data.l",
        `conflicts with "b":`,
        "- .data.n",
        "- .data.o"
      ].join("\n")
    )
    assert.sameDeepMembers(refused.error.details!.causes!.slice(), [
      ...["k", "l"].map((key) => ({
        reason: "FieldManagerConflict",
        message: `conflict with "agent" using v1`,
        field: `.data.${key}`
      })),
      ...["n", "o"].map((key) => ({
        reason: "FieldManagerConflict",
        message: `conflict with "b"`,
        field: `.data.${key}`
      }))
    ])
    assert.deepStrictEqual((yield* get("a")).object["data"], { k: "v", l: "v", n: "v", o: "v" })
  }),

  statement("86a", "force takes the field from its owner; who owns nothing any more is gone", {}, function*() {
    const { apply } = yield* configMaps
    yield* apply("a", { k: "v" }, "one")
    const forced = yield* apply("a", { k: "w" }, "two", { force: "true" })
    assert.strictEqual(forced.status, 200)
    assert.deepStrictEqual(forced.object["data"], { k: "w" })
    assert.deepStrictEqual(owners(forced), [["two", "Apply", { "f:data": { "f:k": {} } }]])
    assert.strictEqual((yield* apply("a", { k: "v" }, "one", { force: "false" })).status, 409)
  }),

  statement("86b", "force is for applies only", {}, function*() {
    const { create, path } = yield* configMaps
    const { request } = yield* Target
    yield* create("a", { k: "v" }, "agent")
    const refused = yield* request("PATCH", `${path}/a`, {
      body: { data: { k: "w" } },
      contentType: merge,
      query: { force: "true" }
    })
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(
      refused.error.message,
      `PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch`
    )
    assert.strictEqual(refused.error.details?.causes?.[0]?.field, "force")
  }),

  statement("87a", "the same value by two appliers is owned by both; one cannot change it alone", {}, function*() {
    const { apply } = yield* configMaps
    yield* apply("a", { k: "v" }, "one")
    const shared = yield* apply("a", { k: "v" }, "two")
    assert.strictEqual(shared.status, 200)
    assert.sameDeepMembers(owners(shared).slice(), [
      ["one", "Apply", { "f:data": { "f:k": {} } }],
      ["two", "Apply", { "f:data": { "f:k": {} } }]
    ])
    const refused = yield* apply("a", { k: "w" }, "one")
    assert.strictEqual(refused.error.message, `Apply failed with 1 conflict: conflict with "two": .data.k`)
    const left = yield* apply("a", {}, "one")
    assert.deepStrictEqual(left.object["data"], { k: "v" })
    assert.isUndefined(owned(left, "one")?.["f:data" as never]?.["f:k"])
  }),

  statement("88a", "what is applied no more is removed, unless somebody else owns it", {}, function*() {
    const { apply, patch } = yield* configMaps
    yield* apply("a", { k: "v", l: "v", n: "v" }, "one")
    yield* patch("a", { data: { l: "w", o: "w" } }, "agent")
    const left = yield* apply("a", { k: "v" }, "one")
    assert.strictEqual(left.status, 200)
    assert.deepStrictEqual(left.object["data"], { k: "v", l: "w", o: "w" })
    assert.deepStrictEqual(owned(left, "one"), { "f:data": { "f:k": {} } })
    assert.deepStrictEqual(owned(left, "agent", "Update"), { "f:data": { "f:l": {}, "f:o": {} } })
  }),

  statement("88b", "a whole object that is applied no more leaves nothing behind", { since: 22 }, function*() {
    const { apply } = yield* widgets()
    yield* apply("one", { spec: { x: 1, deep: { a: "v", b: { c: "v" } }, parts: { k: "v" } } })
    const left = yield* apply("one", { spec: { x: 1 } })
    assert.strictEqual(left.status, 200)
    assert.deepStrictEqual(left.object["spec"], { x: 1 })
    assert.deepStrictEqual(owned(left, "one"), { "f:spec": { "f:x": {} } })
  }),

  statement("88c", "items of a keyed list come and go with who applies them", {}, function*() {
    const { apply } = yield* widgets()
    yield* apply("one", { spec: { items: [{ name: "a", value: "v" }, { name: "b", value: "v" }], set: ["x", "y"] } })
    yield* apply("two", { spec: { items: [{ name: "b", more: "w" }, { name: "c" }], set: ["y", "z"] } })
    const left = yield* apply("one", { spec: { items: [{ name: "a", value: "v" }], set: ["x"] } })
    assert.sameDeepMembers(left.object["spec"].items, [{ name: "a", value: "v" }, { name: "b", more: "w" }, {
      name: "c"
    }])
    assert.sameMembers(left.object["spec"].set, ["x", "y", "z"])
    assert.deepStrictEqual(owned(left, "two"), {
      "f:spec": {
        "f:items": {
          [`k:{"name":"b"}`]: { ".": {}, "f:more": {}, "f:name": {} },
          [`k:{"name":"c"}`]: { ".": {}, "f:name": {} }
        },
        "f:set": { [`v:"y"`]: {}, [`v:"z"`]: {} }
      }
    })
  }),

  statement(
    "90a",
    "a list without type is atomic for custom kinds: two appliers conflict about the whole",
    {},
    function*() {
      const { apply } = yield* widgets()
      yield* apply("one", { spec: { plain: ["a"], atomic: ["a"], whole: { k: "v" } } })
      const refused = yield* apply("two", { spec: { plain: ["b"], atomic: ["a", "b"], whole: { l: "v" } } })
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(
        refused.error.message,
        `Apply failed with 3 conflicts: conflicts with "one":\n- .spec.atomic\n- .spec.plain\n- .spec.whole`
      )
      const forced = yield* apply("two", { spec: { plain: ["b"], atomic: ["b"], whole: { l: "v" } } }, {
        force: "true"
      })
      assert.deepStrictEqual(forced.object["spec"], { plain: ["b"], atomic: ["b"], whole: { l: "v" } })
      assert.deepStrictEqual(owners(forced).map(([manager]) => manager), ["two"])
    }
  ),

  statement("90b", "maps merge by key", {}, function*() {
    const { apply } = yield* widgets()
    yield* apply("one", { spec: { parts: { k: "v", n: "v" } } })
    const merged = yield* apply("two", { spec: { parts: { l: "v" } } })
    assert.strictEqual(merged.status, 200)
    assert.deepStrictEqual(merged.object["spec"], { parts: { k: "v", l: "v", n: "v" } })
    assert.deepStrictEqual(owned(merged, "two"), { "f:spec": { "f:parts": { "f:l": {} } } })
    const less = yield* apply("one", { spec: { parts: { k: "v" } } })
    assert.deepStrictEqual(less.object["spec"], { parts: { k: "v", l: "v" } })
  }),

  statement("90d", "below unknown fields maps merge by key, lists do not", { since: 22 }, function*() {
    const { apply } = yield* widgets()
    yield* apply("one", { spec: { open: { a: { b: 1 }, list: [1] } } })
    const merged = yield* apply("two", { spec: { open: { a: { c: 2 }, d: "x" } } })
    assert.strictEqual(merged.status, 200)
    assert.deepStrictEqual(merged.object["spec"], { open: { a: { b: 1, c: 2 }, d: "x", list: [1] } })
    assert.deepStrictEqual(owned(merged, "two"), {
      "f:spec": { "f:open": { "f:a": { ".": {}, "f:c": {} }, "f:d": {} } }
    })
    const refused = yield* apply("two", { spec: { open: { list: [1, 2] } } })
    assert.strictEqual(refused.error.message, `Apply failed with 1 conflict: conflict with "one": .spec.open.list`)
  }),

  statement("90c", "what does not fit the schema is a 500 without reason", {}, function*() {
    const { apply, group } = yield* widgets()
    const { minor } = yield* Target
    const failures: ReadonlyArray<readonly [object, string]> = [
      [{ x: "one" }, ".spec.x: expected numeric (int or float), got string"],
      [{ parts: { k: 1 } }, ".spec.parts.k: expected string, got &value.valueUnstructured{Value:1}"],
      [{ set: ["a", "a"] }, `.spec.set: duplicate entries for key [="a"]`],
      [{ items: [{ name: "a" }, { name: "a" }] }, `.spec.items: duplicate entries for key [name="a"]`],
      [{ unknown: 1 }, ".spec.unknown: field not declared in schema"],
      [{ set: "a" }, ".spec.set: expected list, got &{a}"],
      [{ deep: [] }, ".spec.deep: expected map, got &{[]}"]
    ]
    for (const [spec, why] of failures) {
      const failed = yield* apply("m", { spec })
      assert.deepStrictEqual([failed.status, failed.error.reason, failed.error.details], [500, undefined, undefined])
      if (minor < 22) assert.include(failed.error.message, why.split(", got")[0])
      else {
        assert.strictEqual(
          failed.error.message,
          `failed to create typed patch object (/a; ${group}/v1, Kind=Widget): ${why}`
        )
      }
    }
    const keyless = yield* apply("m", { spec: { items: [{ value: "v" }] } })
    assert.strictEqual(keyless.status, 500)
    assert.include(
      keyless.error.message,
      ".spec.items: element 0: associative list with keys has an element that omits"
    )
  }),

  statement("91a", "an equal apply changes nothing and tells nobody", {}, function*() {
    const { apply, get, path } = yield* configMaps
    const { sleep, watch } = yield* Target
    const first = yield* apply("a", { k: "v" }, "m")
    const watching = yield* watch(path, {
      fieldSelector: "metadata.name=a",
      resourceVersion: first.object.metadata.resourceVersion
    })
    yield* sleep(1100)
    const again = yield* apply("a", { k: "v" }, "m")
    assert.strictEqual(again.status, 200)
    assert.deepStrictEqual(again.object.metadata, first.object.metadata)
    assert.deepStrictEqual((yield* get("a")).object.metadata, first.object.metadata)
    yield* apply("a", { k: "w" }, "m")
    const [event] = yield* watching.take(1)
    assert.strictEqual(event!.type, "MODIFIED")
    assert.deepStrictEqual((event!.object as any).data, { k: "w" })
  }),

  statement("91b", "an apply that only adds an owner is a change of the object", {}, function*() {
    const { apply } = yield* configMaps
    const first = yield* apply("a", { k: "v" }, "one")
    const second = yield* apply("a", { k: "v" }, "two")
    assert.strictEqual(second.status, 200)
    assert.notStrictEqual(second.object.metadata.resourceVersion, first.object.metadata.resourceVersion)
    assert.strictEqual(owners(second).length, 2)
  }),

  statement("93a", "an applied uid must be that of the object; there must be one", { since: 22 }, function*() {
    const { apply, get } = yield* configMaps
    const uid = "00000000-0000-4000-8000-000000000000"
    const missing = yield* apply("a", { k: "v" }, "m", {}, { uid })
    assert.strictEqual(missing.status, 409)
    assert.strictEqual(missing.error.reason, "Conflict")
    assert.strictEqual(
      missing.error.message,
      `Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid ${uid}, ` +
        "and no existing object was found"
    )
    const created = yield* apply("a", { k: "v" }, "m")
    const other = yield* apply("a", { k: "v" }, "m", {}, { uid })
    assert.strictEqual(other.status, 422)
    assert.include(other.error.message, "metadata.uid: Invalid value")
    assert.strictEqual((yield* apply("a", { k: "v" }, "m", {}, { uid: created.object.metadata.uid })).status, 200)
    assert.strictEqual((yield* get("a")).object.metadata.uid, created.object.metadata.uid)
  }),

  statement("93b", "an applied resourceVersion must be that of the object", {}, function*() {
    const { apply, get } = yield* configMaps
    const { object: { metadata: { resourceVersion } } } = yield* apply("a", { k: "v" }, "m")
    assert.strictEqual((yield* apply("a", { k: "w" }, "m", {}, { resourceVersion })).status, 200)
    const stale = yield* apply("a", { k: "x" }, "m", {}, { resourceVersion })
    assert.strictEqual(stale.status, 409)
    assert.include(stale.error.message, "the object has been modified")
    assert.deepStrictEqual((yield* get("a")).object["data"], { k: "w" })
  }),

  statement("95g", "a dry run answers what an apply would make, and stores nothing", {}, function*() {
    const { apply, get } = yield* configMaps
    const created = yield* apply("a", { k: "v" }, "m", { dryRun: "All" })
    assert.strictEqual(created.status, 201)
    assert.deepStrictEqual(owned(created, "m"), { "f:data": { "f:k": {} } })
    assert.strictEqual((yield* get("a")).status, 404)
    const first = yield* apply("a", { k: "v" }, "m")
    const changed = yield* apply("a", { l: "v" }, "m", { dryRun: "All" })
    assert.deepStrictEqual(changed.object["data"], { l: "v" })
    assert.deepStrictEqual((yield* get("a")).object, first.object)
    assert.strictEqual((yield* apply("a", { k: "w" }, "n", { dryRun: "All" })).status, 409)
  })
]
